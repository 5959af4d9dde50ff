package derive_test

import (
	"net/netip"
	"testing"

	"github.com/cldmnky/oooi/network"
)

func TestReach(t *testing.T) {
	isolated := network.Reach{
		CIDR: netip.MustParsePrefix("192.168.100.0/24"), Held: []netip.Addr{netip.MustParseAddr("192.168.100.2"), netip.MustParseAddr("192.168.100.3"), netip.MustParseAddr("203.0.113.10")},
		Links: []netip.Prefix{netip.MustParsePrefix("10.50.0.0/24")}, InHostedCluster: []netip.Prefix{netip.MustParsePrefix("172.31.0.0/16")},
	}
	routed := isolated
	routed.Gateway = netip.MustParseAddr("192.168.100.1")
	for _, c := range []struct {
		address          string
		vm, routed, edge network.Way
	}{
		{"192.168.100.1", network.OnNetwork, network.OnNetwork, network.OnNetwork},
		{"192.168.100.3", network.AtEdges, network.AtEdges, network.Unreachable},
		{"192.168.100.0", network.Unreachable, network.Unreachable, network.Unreachable},
		{"192.168.100.255", network.Unreachable, network.Unreachable, network.Unreachable},
		{"203.0.113.10", network.AtEdges, network.AtEdges, network.Unreachable},
		{"10.50.0.7", network.OnNetwork, network.OnNetwork, network.ThroughPods},
		{"10.50.0.255", network.Unreachable, network.Unreachable, network.ThroughPods},
		{"172.31.0.10", network.InCluster, network.InCluster, network.ThroughPods},
		{"8.8.8.8", network.Unreachable, network.ThroughGateway, network.ThroughPods},
		{"168.63.129.16", network.Unreachable, network.ThroughGateway, network.ThroughPods},
		{"127.0.0.1", network.Unreachable, network.Unreachable, network.Unreachable},
		{"0.0.0.0", network.Unreachable, network.Unreachable, network.Unreachable},
		{"169.254.1.1", network.Unreachable, network.Unreachable, network.Unreachable},
		{"224.0.1.1", network.Unreachable, network.Unreachable, network.Unreachable},
		{"fd00::1", network.Unreachable, network.Unreachable, network.Unreachable},
	} {
		a := netip.MustParseAddr(c.address)
		if vm, byGateway, edge := isolated.FromVM(a), routed.FromVM(a), routed.FromEdge(a); vm != c.vm || byGateway != c.routed || edge != c.edge {
			t.Errorf("%s: from a VM %q, with a gateway %q, from an edge %q; want %q, %q, %q", a, vm, byGateway, edge, c.vm, c.routed, c.edge)
		}
	}
	if way := (network.Reach{}).FromVM(netip.MustParseAddr("192.168.100.1")); way != network.Unreachable {
		t.Errorf("without a CIDR: %q", way)
	}
}
