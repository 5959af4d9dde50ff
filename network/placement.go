// This file decides the nodes on which the edges of a network may run, as labels and
// tolerations. Package controllers/desired makes pod fields of them.

package network

import (
	"maps"
	"slices"
)

// A PlacementRequest holds the placement settings in the objects of a hosted cluster.
// Nodes are those of the management cluster.
type PlacementRequest struct {
	// NodeSelector is the labels that the user set for edges. Nil: not set; then the
	// selectors of NodePools apply.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// NodePools holds the node selector of each KubeVirt NodePool by the name of the
	// NodePool. An empty selector allows every node.
	NodePools map[string]map[string]string `json:"nodePools,omitempty"`
	// Tolerations of the control plane's own pods.
	Tolerations []Toleration `json:"tolerations,omitempty"`
	// PriorityClass of the control plane's most important pods. Empty: the
	// management cluster does not have it.
	PriorityClass string `json:"priorityClass,omitempty"`
}

// A Placement is the nodes that the edges of one network may run on.
type Placement struct {
	// NodeSelectors are alternatives: a node must have all labels of one of them.
	// Empty: every node.
	NodeSelectors []map[string]string `json:"nodeSelectors,omitempty"`
	// WithoutLabels are keys of labels that a node must not have.
	WithoutLabels []string `json:"withoutLabels,omitempty"`
	// Tolerations of the edges' pods.
	Tolerations []Toleration `json:"tolerations,omitempty"`
	// PriorityClass of the edges' pods. Empty: the management cluster's default.
	PriorityClass string `json:"priorityClass,omitempty"`
}

// A Toleration allows a pod on nodes with a taint. Its fields are those of a
// Kubernetes toleration, and empty fields have the same meaning there.
type Toleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator,omitempty"`
	Value    string `json:"value,omitempty"`
	Effect   string `json:"effect,omitempty"`
	// Seconds that a pod stays on a node that gets the taint. Nil: forever.
	Seconds *int64 `json:"seconds,omitempty"`
}

// controlPlaneRoles are the labels of control plane nodes, and the keys of their taints.
func controlPlaneRoles() []string {
	return []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
}

// placeEdges is p with a Placement by r on each network, as far as permitted. The author of a
// HostedCluster can set tolerations and name a node by any label, such as its host name. So
// edges that tolerate the taints of control plane nodes stay away from them by their labels.
func (p Plan) placeEdges(r PlacementRequest, permitted Permissions) Plan {
	var without []string
	if slices.ContainsFunc(r.Tolerations, Toleration.ofControlPlane) && !slices.ContainsFunc(controlPlaneRoles(), permitted.NodeLabel) {
		without = controlPlaneRoles()
	}
	return p.withEach(func(n *Network) {
		n.Placement = Placement{
			NodeSelectors: r.nodeSelectors(n.NodePools), WithoutLabels: without, Tolerations: r.Tolerations, PriorityClass: r.PriorityClass}
	})
}

// ofControlPlane reports whether pods with t may run on nodes with a taint of the control plane.
func (t Toleration) ofControlPlane() bool {
	return t.Key == "" || slices.Contains(controlPlaneRoles(), t.Key)
}

// nodeSelectors are the user's, or else the distinct selectors of pools, ordered by
// NodePool name. Only nodes on which VMs may run need the network. A NodePool without a
// selector allows every node.
func (r PlacementRequest) nodeSelectors(pools []string) []map[string]string {
	if r.NodeSelector != nil {
		return []map[string]string{r.NodeSelector}
	}
	var out []map[string]string
	for _, name := range slices.Sorted(slices.Values(pools)) {
		labels, known := r.NodePools[name]
		if known && len(labels) == 0 {
			return nil
		}
		if known && !slices.ContainsFunc(out, func(x map[string]string) bool { return maps.Equal(x, labels) }) {
			out = append(out, labels)
		}
	}
	return out
}
