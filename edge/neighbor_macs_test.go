package edge_test

import (
	"context"
	"net"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/test/netns"
)

// TestMACsOfNeighbors: a host that the kernel knows is known a moment later, with each of its addresses.
func TestMACsOfNeighbors(t *testing.T) {
	g := NewWithT(t)
	vlan := netns.NewSegment(t)
	e, vm := netns.New(t), netns.New(t)
	vlan.Attach(t, e, "net1", "", "192.0.2.1/24")
	vlan.Attach(t, vm, "eth0", "", "192.0.2.9/24", "192.0.2.10/24")
	var macs *edge.NeighborMACs
	var err error
	e.Do(t, func() { macs, err = edge.NewNeighborMACs("net1") })
	g.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { macs.Run(ctx); close(ended) }()
	defer func() { stop(); <-ended }()
	of := func(a string) func() string { return func() string { return macs.MACOf(netip.MustParseAddr(a)) } }
	g.Expect(of("192.0.2.9")()).To(BeEmpty())
	for _, a := range []string{"192.0.2.9", "192.0.2.10"} {
		e.Do(t, func() {
			var c net.Conn
			if c, err = net.Dial("udp", a+":9"); err == nil {
				_, _ = c.Write([]byte("x"))
				_ = c.Close()
			}
		})
		g.Expect(err).NotTo(HaveOccurred())
		g.Eventually(of(a), "10s").Should(Equal(vm.MAC(t, "eth0")))
	}
	g.Expect(of("192.0.2.77")()).To(BeEmpty())
}
