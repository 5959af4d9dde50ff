// This file decides which addresses of a network are probed before its first edge
// starts, and from which address. What follows from the answers is in report.go.

package network

import (
	"net/netip"
	"slices"
)

// ProbeAddress is the source address of the probes: the last edge address, whether or
// not that edge runs. A host cannot probe its own address. Zero if n has no edges.
func (n Network) ProbeAddress() netip.Addr {
	all := n.edgeAddresses()
	if len(all) == 0 {
		return netip.Addr{}
	}
	return all[len(all)-1]
}

// ProbedAddresses are the next-hop VIP, the service VIP and the edge addresses, except
// ProbeAddress. Published addresses are not probed: they are outside n's CIDR, and
// another host, such as a load balancer, may have them until edges answer.
func (n Network) ProbedAddresses() []netip.Addr {
	return slices.DeleteFunc(n.heldAddresses(), func(a netip.Addr) bool { return a == n.ProbeAddress() })
}

// edgeAddresses are the addresses of the running edges, then the reserved ones.
func (n Network) edgeAddresses() []netip.Addr {
	var out []netip.Addr
	for _, e := range n.Edges {
		out = append(out, e.Address)
	}
	return append(out, n.ReservedAddresses...)
}
