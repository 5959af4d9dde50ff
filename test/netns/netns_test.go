package netns_test

import (
	"io"
	"net"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/netns"
	_ "github.com/cldmnky/oooi/test/patience"
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
	g.Eventually(known).Should(Equal("02:00:00:00:00:01"))
	two.SetNeighbour(t, "net1", "192.0.2.1", "02:00:00:00:00:09", true)
	g.Expect(known()).To(Equal("02:00:00:00:00:09"))
	two.ForgetNeighbour(t, "net1", "192.0.2.1")
	g.Eventually(known).Should(Equal("02:00:00:00:00:01"))
}

// TestAnnounce: hosts that send to an address at another MAC take the new one.
func TestAnnounce(t *testing.T) {
	g := NewWithT(t)
	s, one, two := netns.NewSegment(t), netns.New(t), netns.New(t)
	s.Attach(t, two, "net1", "", "192.0.2.2/24")
	two.SetNeighbour(t, "net1", "192.0.2.1", "02:00:00:00:00:09", false)
	s.Attach(t, one, "net1", "", "192.0.2.1/24")
	known := func() string { return two.Neighbour(t, "net1", "192.0.2.1") }
	g.Expect(known()).To(Equal("02:00:00:00:00:09"))
	one.Announce(t, "net1")
	g.Eventually(known, "1m").Should(Equal(one.MAC(t, "net1")))
}

func TestDrop(t *testing.T) {
	netns.Require(t, "nft")
	g := NewWithT(t)
	s, one, two := netns.NewSegment(t), netns.New(t), netns.New(t)
	s.Attach(t, one, "net1", "", "192.0.2.1/24")
	s.Attach(t, two, "net1", "", "192.0.2.2/24")
	var receiver net.PacketConn
	var sender net.Conn
	var err error
	one.Do(t, func() { receiver, err = net.ListenPacket("udp4", "192.0.2.1:9") })
	g.Expect(err).NotTo(HaveOccurred())
	defer receiver.Close()
	two.Do(t, func() { sender, err = net.Dial("udp4", "192.0.2.1:9") })
	g.Expect(err).NotTo(HaveOccurred())
	defer sender.Close()
	number := byte(0)
	arrives := func() error {
		number++
		if _, err := sender.Write([]byte{number}); err != nil {
			return err
		}
		// It is dropped, or another one is sent. Earlier ones may be late.
		if err := receiver.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			return err
		}
		for b := []byte{number - 1}; b[0] != number; {
			if _, _, err := receiver.ReadFrom(b); err != nil {
				return err
			}
		}
		return nil
	}
	g.Eventually(arrives).Should(Succeed())
	for name, drop := range map[string]func() (end func()){
		"to, all":       func() func() { return s.DropTo(t, one, "net1", "") },
		"to, the port":  func() func() { return s.DropTo(t, one, "net1", "udp dport 9") },
		"from, the UDP": func() func() { return s.DropFrom(t, two, "net1", "meta l4proto udp") },
	} {
		end := drop()
		g.Consistently(arrives, "200ms").ShouldNot(Succeed(), name)
		end()
		g.Eventually(arrives).Should(Succeed(), name)
	}
	s.DropFrom(t, two, "net1", "udp dport 10")
	g.Expect(one.Neighbour(t, "net1", "192.0.2.2")).To(Equal(two.MAC(t, "net1")))
	g.Eventually(arrives).Should(Succeed(), "another port")
}
