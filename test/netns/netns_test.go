package netns_test

import (
	"io"
	"net"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/netns"
)

func TestSegmentCarriesBetweenNamespaces(t *testing.T) {
	g := NewWithT(t)
	s, one, two, apart := netns.NewSegment(t), netns.New(t), netns.New(t), netns.New(t)
	s.Attach(t, one, "net1", "02:00:00:00:00:01", "192.0.2.1/24")
	s.Attach(t, two, "net1", "", "192.0.2.2/24")

	var l net.Listener
	var err error
	one.Do(t, func() { l, err = net.Listen("tcp", "192.0.2.1:80") })
	g.Expect(err).NotTo(HaveOccurred())
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, _ = io.WriteString(c, "hello")
			_ = c.Close()
		}
	}()
	var c net.Conn
	two.Do(t, func() { c, err = net.Dial("tcp", "192.0.2.1:80") })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(io.ReadAll(c)).To(BeEquivalentTo("hello"))
	apart.Do(t, func() { _, err = net.Dial("tcp", "192.0.2.1:80") })
	g.Expect(err).To(HaveOccurred())
	g.Expect(one.Run(t, "cat", "/sys/class/net/net1/address")).To(Equal("02:00:00:00:00:01\n"))
	g.Expect(one.Addresses(t, "net1")).To(HaveLen(1))
}

func TestCablesAndNeighbours(t *testing.T) {
	g := NewWithT(t)
	s, one, two := netns.NewSegment(t), netns.New(t), netns.New(t)
	s.Attach(t, one, "net1", "02:00:00:00:00:01", "192.0.2.1/24")
	s.Attach(t, two, "net1", "", "192.0.2.2/24")
	g.Expect(one.MAC(t, "net1")).To(Equal("02:00:00:00:00:01"))
	reach := func() {
		two.Do(t, func() {
			if c, err := net.Dial("udp4", "192.0.2.1:9"); err == nil {
				_, _ = c.Write([]byte{0})
				_ = c.Close()
			}
		})
	}
	known := func() string { reach(); return two.Neighbour(t, "net1", "192.0.2.1") }
	s.Pull(t, one, "net1")
	g.Consistently(known, "300ms").Should(BeEmpty())
	s.Plug(t, one, "net1")
	g.Eventually(known, "10s").Should(Equal("02:00:00:00:00:01"))
	two.SetNeighbour(t, "net1", "192.0.2.1", "02:00:00:00:00:09", true)
	g.Expect(known()).To(Equal("02:00:00:00:00:09"))
	two.ForgetNeighbour(t, "net1", "192.0.2.1")
	g.Eventually(known, "10s").Should(Equal("02:00:00:00:00:01"))
}
