// This file decides what happens if a VM already has an address that an edge would get: the VM keeps it. An address of a
// running edge stays with the edge, since VMs are not trusted, and a Warning names the VM.

package derive

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// refuseInUse returns a copy of o. If a VM has an edge's address on a network, a secondary network is left out, and a
// primary one is refused. If edges already hold the address in last, the plan in force, there is only a Warning.
func (o outcome) refuseInUse(seen []network.VMAddress, last network.Plan) outcome {
	out := o.checked(func(n network.Network) problem.Problems {
		var ps problem.Problems
		for _, h := range claimsOf(n, seen) {
			if holds(last, n.Name, h.Address) {
				continue
			}
			args := problem.Args{"vm": {h.VM}, "role": {n.RoleOf(h.Address)}, "address": {h.Address.String()}}
			ps = append(ps, n.Problem(problem.VMHasEdgeAddress, args, network.KeyEdgeAddresses))
		}
		return ps
	})
	for _, n := range out.plan.Networks {
		for _, h := range claimsOf(n, seen) {
			if holds(last, n.Name, h.Address) {
				args := problem.Args{"vm": {h.VM}, "role": {n.RoleOf(h.Address)}, "address": {h.Address.String()}, "mac": {cmp.Or(h.MAC, "unknown")}}
				out.problems = append(out.problems, n.Problem(problem.AddressUsedByVM, args))
			}
		}
	}
	return out
}

// claimsOf returns the VMs that have an address of n's edges.
func claimsOf(n network.Network, seen []network.VMAddress) []network.VMAddress {
	held := n.HeldAddresses()
	return slices.DeleteFunc(slices.Clone(seen), func(h network.VMAddress) bool { return h.Network != n.Name || !slices.Contains(held, h.Address) })
}

func holds(p network.Plan, name string, a netip.Addr) bool {
	return slices.ContainsFunc(p.Networks, func(n network.Network) bool { return n.Name == name && slices.Contains(n.HeldAddresses(), a) })
}
