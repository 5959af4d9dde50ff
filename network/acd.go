// This file decides which addresses of a network are probed before its first edge
// starts, and from which address. What follows from the answers is in report.go.

package network

import (
	"net/netip"
	"slices"
)

// ProbeAddress is the address from which the others are probed: the last edge
// address, whether that edge runs or not. A host can't probe its own address. Zero
// where n has no edges.
func (n Network) ProbeAddress() netip.Addr {
	all := n.ownOfEdges()
	if len(all) == 0 {
		return netip.Addr{}
	}
	return all[len(all)-1]
}

// ProbedAddresses are the addresses that n's edges will hold on the network: the
// next-hop VIP, the service VIP and the edge addresses, but for ProbeAddress. What
// HyperShift published is outside of n's CIDR, and another host, such as a load
// balancer, may have it until edges answer for it.
func (n Network) ProbedAddresses() []netip.Addr {
	return slices.DeleteFunc(n.own(), func(a netip.Addr) bool { return a == n.ProbeAddress() })
}

// ownOfEdges are the addresses of the edges that run, then those reserved for one
// that does not.
func (n Network) ownOfEdges() []netip.Addr {
	var out []netip.Addr
	for _, e := range n.Edges {
		out = append(out, e.Address)
	}
	return append(out, n.ReservedAddresses...)
}
