package device

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/netns"
)

func metered(t *testing.T, edge *netns.Namespace) *Meter {
	t.Helper()
	var m *Meter
	var err error
	edge.Do(t, func() { m, err = OpenMeter("net1") })
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(m.Close)
	return m
}

// knock sends a datagram to a closed port, and returns once it was refused.
func knock(t *testing.T, from *netns.Namespace, to string) {
	t.Helper()
	from.Do(t, func() {
		g := NewWithT(t)
		c, err := net.Dial("udp4", net.JoinHostPort(to, "9"))
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = c.Close() }()
		g.Expect(c.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
		_, err = c.Write([]byte{0})
		g.Expect(err).NotTo(HaveOccurred())
		_, err = c.Read(make([]byte, 1))
		g.Expect(errors.Is(err, syscall.ECONNREFUSED)).To(BeTrue())
	})
}

// TestFrames: only what arrives is counted, and an interface may be recreated.
func TestFrames(t *testing.T) {
	g := NewWithT(t)
	segment, edge, vm := netns.NewSegment(t), netns.New(t), netns.New(t)
	m := metered(t, edge)
	_, err := m.Frames()
	g.Expect(err).To(MatchError(HavePrefix("frames of net1: ")), "there is no such interface")
	segment.Attach(t, edge, "net1", "", "192.168.100.4/24")
	segment.Attach(t, vm, "eth0", "", "192.168.100.10/24")
	before, err := m.Frames()
	g.Expect(err).NotTo(HaveOccurred())
	knock(t, vm, "192.168.100.4")
	after, err := m.Frames()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after).To(BeNumerically(">=", before+2), "an ARP request and a datagram")
	edge.Run(t, "ip", "link", "delete", "net1")
	segment.Attach(t, edge, "net1", "", "192.168.100.4/24")
	_, err = m.Frames()
	g.Expect(err).NotTo(HaveOccurred())
}

// TestNeighbors: a neighbor that answered is confirmed, one that only asked is not.
func TestNeighbors(t *testing.T) {
	g := NewWithT(t)
	segment, edge, vm := netns.NewSegment(t), netns.New(t), netns.New(t)
	segment.Attach(t, edge, "net1", "", "192.168.100.4/24")
	segment.Attach(t, vm, "eth0", "", "192.168.100.10/24")
	m := metered(t, edge)
	edge.SetNeighbour(t, "net1", "192.168.100.11", "02:00:00:00:00:99", false)
	age := func(address string) time.Duration {
		all, err := m.Neighbors()
		g.Expect(err).NotTo(HaveOccurred())
		for _, n := range all {
			if n.Address == netip.MustParseAddr(address) {
				return n.Confirmed
			}
		}
		return -1
	}
	g.Expect(age("192.168.100.10")).To(BeNumerically("<", 0), "it is unknown")
	g.Expect(age("192.168.100.11")).To(BeNumerically(">=", 10*time.Second), "it never answered")
	knock(t, edge, "192.168.100.10")
	g.Expect(age("192.168.100.10")).To(And(BeNumerically(">=", 0), BeNumerically("<", age("192.168.100.11"))), "it answered")
}

// BenchmarkFrames is what one reading costs.
func BenchmarkFrames(b *testing.B) {
	m, err := OpenMeter("lo")
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Frames(); err != nil {
			b.Fatal(err)
		}
	}
}
