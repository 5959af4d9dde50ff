// This file decides on which nodes the edges of a network may run, as labels and tolerations. Package
// controllers/desired makes fields of pods from them.

package derive

import (
	"fmt"
	"slices"

	"github.com/cldmnky/oooi/network"
)

// placeEdges sets the Placement of each network. The author of a HostedCluster can set tolerations, and select a node
// by any label, such as its host name. So without the administrator's permission, edges that tolerate the taints of
// control plane nodes avoid the labels of these nodes.
func placeEdges(p network.Plan, r network.PlacementRequest, permitted network.Permissions) network.Plan {
	var without []string
	if slices.ContainsFunc(r.Tolerations, network.Toleration.OfControlPlane) && !slices.ContainsFunc(network.ControlPlaneRoles(), permitted.NodeLabel) {
		without = network.ControlPlaneRoles()
	}
	return p.WithEach(func(n *network.Network) {
		n.Placement = network.Placement{
			NodeSelectors: nodeSelectors(r, n.NodePools), WithoutLabels: without, Tolerations: r.Tolerations, PriorityClass: r.PriorityClass}
	})
}

// maxSelectors is the maximum number of different node selectors of NodePools that edges of a network follow.
const maxSelectors = 16

// nodeSelectors returns the user's selector, else those of pools, ordered by NodePool name, so that edges run only
// where VMs may: at most maxSelectors. A NodePool without a selector allows every node.
func nodeSelectors(r network.PlacementRequest, pools []string) []map[string]string {
	if r.NodeSelector != nil {
		return []map[string]string{r.NodeSelector}
	}
	var out []map[string]string
	seen := map[string]bool{}
	for _, name := range slices.Sorted(slices.Values(pools)) {
		labels, known := r.NodePools[name]
		if known && len(labels) == 0 {
			return nil
		}
		if len(out) == maxSelectors || !known {
			continue
		}
		if text := fmt.Sprintf("%q", labels); !seen[text] { // The text of a map is sorted by key.
			seen[text], out = true, append(out, labels)
		}
	}
	return out
}
