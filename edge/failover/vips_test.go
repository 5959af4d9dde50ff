// This file tests what clients notice that have the service VIP on their link, and edges
// whose VIPs are not on net1.

package failover_test

import (
	"context"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/netns"
)

// TestClientOnTheLink: a failover also moves a host that has the service VIP on its link, without a route through the next-hop VIP.
func TestClientOnTheLink(t *testing.T) {
	t.Parallel()
	s := newSite(t, false)
	host := newVM(t, s.segment, "192.168.100.12")
	host.SetNeighbour(t, "eth0", service, s.edges[1].ns.MAC(t, "net1"), false)
	for _, m := range []*vm{s.v, s.w} {
		// Otherwise edge 2 asks for them in the name of the service VIP when it answers them,
		// which moves the host by accident.
		s.edges[2].ns.SetNeighbour(t, "net1", m.address, m.MAC(t, "eth0"), true)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	t.Cleanup(func() { cancel(); done.Wait() })
	host.live(ctx, t, &done)
	s.g.Eventually(func() int { return host.inARow(time.Time{}) }, "1m").Should(BeNumerically(">", 24))
	s.g.Expect(host.edge(time.Time{})).To(Equal(1))
	since := time.Now()
	s.segment.Pull(t, s.edges[1].ns, "net1")
	s.g.Eventually(func() int { return host.edge(since) }, "1m", "50ms").Should(Equal(2))
	s.passes("on the link, link pulled", since, 2)
	s.g.Eventually(func() int { return len(host.cutSince(since)) }, "1m", "50ms").Should(Equal(1))
	gap, failed := host.gap(since)
	t.Logf("a client on the link: longest gap %d ms, %d new connections failed", gap.Milliseconds(), failed)
}

// TestNewMacvlanEdge: a drained edge is recreated. Its VMs move once, and no other VMs do, although the macvlan plugin announces every
// address of the new edge's interface.
func TestNewMacvlanEdge(t *testing.T) {
	t.Parallel()
	s := newSite(t, false)
	since := time.Now()
	s.edges[1].kill(syscall.SIGTERM)
	handedOver := s.drains(since)
	s.segment.Pull(t, s.edges[1].ns, "net1")
	s.passes("drains", since, 2)
	handedOver = handedOver && s.announcementsBy(1) == 0
	e := s.edges[1]
	e.ns = netns.New(t)
	e.ns.Dummy(t, wire.VIPDevice, nextHop+"/32", service+"/32")
	s.segment.AttachMacvlan(t, e.ns, "net1", e.own+"/24")
	s.g.Eventually(func() string { return s.edges[2].ns.Neighbour(t, "net1", s.edges[1].own) }, "1m").Should(Equal(s.edges[1].ns.MAC(t, "net1")))
	// A macvlan interface receives no frames of others, so the edge must ask VMs whether it is
	// deaf. It knows them from their leases. The test uses entries of its kernel instead.
	s.cidr = netip.MustParsePrefix("192.168.100.0/24")
	for _, m := range []*vm{s.v, s.w} {
		s.edges[1].ns.SetNeighbour(t, "net1", m.address, m.MAC(t, "eth0"), true)
	}
	known := s.edges[1].log.Count("peer=serving")
	s.run(1)
	s.g.Eventually(func() int { return s.edges[1].log.Count("peer=serving") }, "1m").Should(BeNumerically(">", known))
	s.settles("new macvlan edge", since)
	if handedOver {
		s.g.Expect(s.v.dark(since)).To(BeEmpty())
	}
	s.keepsW(since)
	// Edge 2 is lost: the new edge announces VIPs that are not on net1.
	lost := time.Now()
	s.segment.Pull(t, s.edges[2].ns, "net1")
	s.passes("the other edge is lost", lost, 1)
}
