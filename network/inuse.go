// This file decides what happens if a VM already has an address that an edge would
// get: the VM keeps it. A VM that reports an address which an edge already holds is
// ignored, since guests are not trusted.

package network

import (
	"net/netip"
	"slices"
)

// withoutInUse is p without the networks of which a VM has an edge's address. Addresses
// that edges already hold in last, the plan in force, are not compared. A primary
// network stays in the plan with an Error.
func (p Plan) withoutInUse(seen []VMAddress, last Plan) (Plan, Problems) {
	return p.checked(func(n Network) Problems {
		var held []netip.Addr
		for _, x := range last.Networks {
			if x.Name == n.Name {
				held = x.heldAddresses()
			}
		}
		var ps Problems
		for _, h := range seen {
			if h.Network != n.Name || !slices.Contains(n.heldAddresses(), h.Address) || slices.Contains(held, h.Address) {
				continue
			}
			args := Args{"vm": h.VM, "role": n.roleOf(h.Address), "address": h.Address.String()}
			ps = append(ps, n.problem(VMHasEdgeAddress, args, keyEdgeAddresses))
		}
		return ps
	})
}

// heldAddresses are the addresses that n's edges hold in its CIDR, the reserved ones
// included.
func (n Network) heldAddresses() []netip.Addr {
	return append([]netip.Addr{n.NextHopVIP, n.ServiceVIP}, n.edgeAddresses()...)
}
