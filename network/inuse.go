// This file decides what happens if a VM already has an address that an edge would
// get: the VM keeps it. If an edge already holds the address, the edge keeps it, since guests
// are not trusted, and a Warning names the VM.

package network

import (
	"cmp"
	"net/netip"
	"slices"
)

// refuseInUse is o without the secondary networks of which a VM has an edge's address. Such
// a primary network is refused. Addresses that edges already hold in last, the plan in
// force, stay with the edges.
func (o outcome) refuseInUse(seen []VMAddress, last Plan) outcome {
	out := o.checked(func(n Network) Problems {
		var ps Problems
		for _, h := range n.claimsOf(seen) {
			if last.holds(n.Name, h.Address) {
				continue
			}
			args := Args{"vm": h.VM, "role": n.roleOf(h.Address), "address": h.Address.String()}
			ps = append(ps, n.problem(VMHasEdgeAddress, args, keyEdgeAddresses))
		}
		return ps
	})
	for _, n := range out.plan.Networks {
		for _, h := range n.claimsOf(seen) {
			if last.holds(n.Name, h.Address) {
				args := Args{"vm": h.VM, "role": n.roleOf(h.Address), "address": h.Address.String(), "mac": cmp.Or(h.MAC, "unknown")}
				out.problems = append(out.problems, n.problem(AddressUsedByVM, args))
			}
		}
	}
	return out
}

// claimsOf are those of seen that are an address of n's edges.
func (n Network) claimsOf(seen []VMAddress) []VMAddress {
	held := n.heldAddresses()
	return slices.DeleteFunc(slices.Clone(seen), func(h VMAddress) bool { return h.Network != n.Name || !slices.Contains(held, h.Address) })
}

// holds reports whether a is an address of the edges of p's network with this name.
func (p Plan) holds(name string, a netip.Addr) bool {
	return slices.ContainsFunc(p.Networks, func(n Network) bool { return n.Name == name && slices.Contains(n.heldAddresses(), a) })
}

// heldAddresses are the addresses that n's edges hold in its CIDR, the reserved ones
// included.
func (n Network) heldAddresses() []netip.Addr {
	return append([]netip.Addr{n.NextHopVIP, n.ServiceVIP}, n.edgeAddresses()...)
}
