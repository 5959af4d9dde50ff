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
