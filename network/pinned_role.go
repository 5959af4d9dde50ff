// This file decides that a network stays what it is for the VMs on it. A network that VMs boot
// from does not become a secondary one, which has neither DNS nor a proxy. A network in use is
// not removed because annotation network no longer selects it.

package network

import (
	"slices"
	"strings"
)

// The key and the field that decide which networks are requested, and which one VMs boot from.
const (
	keyNetwork              = "network"
	fieldAdditionalNetworks = "spec.platform.kubevirt.additionalNetworks"
)

// keepsRole reports whether VMs boot from n, which runs, while s requests it as a secondary
// network. Then s has no effect, and n is retained. A secondary network can become primary.
func (in input) keepsRole(n Network, s NetworkRequest) bool {
	return n.Primary && !s.Primary && slices.Contains(in.BootedFrom, n.Name)
}

// pinnedRole returns the problem that n stays primary though s is secondary.
func (n Network) pinnedRole(s NetworkRequest) Problem {
	return n.problem(PinnedRole, Args{"nodePools": strings.Join(slices.Sorted(slices.Values(s.NodePools)), ", ")}, fieldAdditionalNetworks)
}

// notSelected returns a problem for each network of last that VMs use, though annotation network
// does not select it. NodePools that boot from one have an Error of their own.
func (in input) notSelected(last Plan) Problems {
	var ps Problems
	for _, n := range last.Networks {
		if slices.Contains(in.Unselected, n.Name) && !slices.Contains(in.Refused, n.Name) {
			ps = append(ps, n.problem(NotSelectedInUse, nil, keyNetwork))
		}
	}
	return ps
}
