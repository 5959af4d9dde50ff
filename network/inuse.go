// This file decides what happens where a machine has an address already that
// would be ours: on a network that was there before us, what runs keeps what it
// has. It never believes a machine about an address that is ours already, since a
// guest may say what it likes.

package network

import (
	"fmt"
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
			ps = append(ps, Problem{Reason: AddressConflict, Field: fieldEdgeAddresses, Blocking: true, Detail: fmt.Sprintf(
				"machine %s has %s on network %s, which would be our own. Set %s to four addresses that nobody has, or give the machine another one.",
				h.VM, h.Address, n.Attachment, fieldEdgeAddresses)})
		}
		return ps
	})
}

// own are the addresses of n that are ours on the segment, running edge or not.
func (n Network) own() []netip.Addr {
	return append([]netip.Addr{n.NextHop, n.ServiceAddress}, n.ownOfEdges()...)
}
