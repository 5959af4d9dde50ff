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

// SharedAddresses are the addresses in n's CIDR that each of its edges holds: the next-hop VIP, the service VIP, and
// published ones. A published address outside of the CIDR is on no link.
func (n Network) SharedAddresses() []netip.Addr {
	out := []netip.Addr{n.NextHopVIP, n.ServiceVIP}
	for _, a := range n.PublishedAddresses {
		if n.CIDR.Contains(a) && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// SharedByOthers returns those of ts that name a shared address and a MAC that is none of the edges', sorted, each once.
// Answers of a host with proxy ARP are left out: ts has those for Controls.
func (n Network) SharedByOthers(ts []UsedAddress, edgeMACs []string) []UsedAddress {
	shared, all := n.SharedAddresses(), n.answersForAll(ts)
	return slices.DeleteFunc(sortedInUse(ts), func(t UsedAddress) bool {
		return !slices.Contains(shared, t.Address) || slices.Contains(edgeMACs, t.MAC) || slices.Contains(all, t.MAC)
	})
}
