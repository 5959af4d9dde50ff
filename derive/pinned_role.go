// This file decides that a network in use keeps its role. A network that VMs boot from does not become a secondary one,
// which has neither DNS nor a proxy. A network in use is not removed even if annotation network no longer selects it.

package derive

import (
	"slices"

	"github.com/cldmnky/oooi/derive/served"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// keepsRole reports whether VMs boot from n, although s requests it as a secondary network. Then n is retained, without
// s. A secondary network may become primary.
func keepsRole(in served.Input, n network.Network, s network.NetworkRequest) bool {
	return n.Primary && !s.Primary && slices.Contains(in.BootedFrom, n.Name)
}

// notSelected returns a problem for each network of last, the plan in force, that VMs use although annotation network
// does not select it. NodePools that boot from it have an Error of their own.
func notSelected(in served.Input, last network.Plan) problem.Problems {
	var ps problem.Problems
	for _, n := range last.Networks {
		if slices.Contains(in.Unselected, n.Name) && !slices.Contains(in.Refused, n.Name) {
			ps = append(ps, n.Problem(problem.NotSelectedInUse, nil, network.KeyNetwork))
		}
	}
	return ps
}
