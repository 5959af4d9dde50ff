package device_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/test/netns"
)

// TestAsker: the host that has an address is found by its answer. An address without a host has none. What
// the kernel remembers from some time ago is no proof. No question moves VMs to this edge.
func TestAsker(t *testing.T) {
	netns.Require(t)
	g := NewWithT(t)
	const edgeAddress, nextHop, mac = "192.168.100.4", "192.168.100.2", "02:00:00:00:f0:01"
	segment, e, host := netns.NewSegment(t), netns.New(t), netns.New(t)
	segment.Attach(t, e, "net1", "", nextHop+"/24", edgeAddress+"/24")
	segment.Attach(t, host, "eth0", mac, "192.168.100.20/24")
	var asker *device.Asker
	var err error
	e.Do(t, func() {
		asker, err = device.NewAsker("net1", func() netip.Addr { return netip.MustParseAddr(edgeAddress) })
	})
	g.Expect(err).NotTo(HaveOccurred())
	whoHas := func(a string, within time.Duration) (mac string, proven bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		e.Do(t, func() { mac, proven, err = asker.WhoHas(ctx, netip.MustParseAddr(a)) })
		g.Expect(err).NotTo(HaveOccurred())
		return mac, proven
	}
	found, proven := whoHas("192.168.100.20", time.Minute)
	g.Expect(found).To(Equal(mac))
	g.Expect(proven).To(BeTrue())
	g.Expect(host.Neighbour(t, "eth0", nextHop)).To(BeEmpty(), "the question came from the edge address")
	g.Expect(host.Neighbour(t, "eth0", edgeAddress)).To(Equal(e.MAC(t, "net1")))

	found, _ = whoHas("192.168.100.21", 50*time.Millisecond)
	g.Expect(found).To(BeEmpty())

	e.SetNeighbour(t, "net1", "192.168.100.22", "02:00:00:00:f0:02", false)
	g.Eventually(func() bool { _, proven := whoHas("192.168.100.22", time.Second); return proven }, "1m").Should(BeFalse())
	g.Eventually(func() string { found, _ := whoHas("192.168.100.22", 50*time.Millisecond); return found }, "1m", "500ms").Should(BeEmpty(), "the kernel asked again")
}
