// This file decides which addresses of a network are asked for before its first
// edge starts, and who asks. What follows from the answer is in report.go.

package network

import (
	"net/netip"
	"slices"
)

// Asker is the address that is held by who asks for the others: the last of the
// edges' own, whether that edge runs or not. Nobody can be asked for an address
// that the asking host has.
func (n Network) Asker() netip.Addr {
	all := n.ownOfEdges()
	if len(all) == 0 {
		return netip.Addr{}
	}
	return all[len(all)-1]
}

// Asked are the addresses that n's edges are to hold, so that nobody else may: the
// next hop, the service address and the edges' own, but for Asker. What HyperShift
// published is never on n's segment, and may be somebody else's until edges answer
// for it: a load balancer's.
func (n Network) Asked() []netip.Addr {
	return slices.DeleteFunc(n.own(), func(a netip.Addr) bool { return a == n.Asker() })
}

// ownOfEdges are the own addresses of the edges that run, then those kept for one
// that does not.
func (n Network) ownOfEdges() []netip.Addr {
	var out []netip.Addr
	for _, e := range n.Edges {
		out = append(out, e.Address)
	}
	return append(out, n.ReservedAddresses...)
}
