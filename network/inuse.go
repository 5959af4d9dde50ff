// This file decides what happens where a machine has an address already that
// would be ours: on a network that was there before us, what runs keeps what it
// has. It never believes a machine about an address that is ours already, since a
// guest may say what it likes.

package network

import (
	"net/netip"
	"slices"
)

// withoutInUse is p without the networks whose edges would hold what a machine has, but
// for what they hold already by last, the plan in force. A network that machines
// boot by stays in it, and its problem blocks.
func (p Plan) withoutInUse(seen []VMAddress, last Plan) (Plan, Problems) {
	return p.checked(func(n Network) Problems {
		var held []netip.Addr
		for _, x := range last.Networks {
			if x.Name == n.Name {
				held = x.own()
			}
		}
		var ps Problems
		for _, h := range seen {
			if h.Network != n.Name || !slices.Contains(n.own(), h.Address) || slices.Contains(held, h.Address) {
				continue
			}
			args := Args{"vm": h.VM, "role": n.roleOf(h.Address), "address": h.Address.String()}
			ps = append(ps, n.problem(VMHasEdgeAddress, args, keyEdgeAddresses))
		}
		return ps
	})
}

// own are the addresses of n that are ours on the segment, running edge or not.
func (n Network) own() []netip.Addr {
	return append([]netip.Addr{n.NextHopVIP, n.ServiceVIP}, n.ownOfEdges()...)
}
