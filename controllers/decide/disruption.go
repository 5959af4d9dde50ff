// This file decides which disruptions are announced: connections that a write resets. It delays nothing.

package decide

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
)

// A Disruption describes the connections that are reset when the object Kind Name is written or removed.
type Disruption struct {
	Kind schema.GroupVersionKind
	Name string
	Text string
}

// disruptions returns what is reset by the change of the plan, and by the edges that are recreated or removed. A
// network without edges has no disruptions.
func disruptions(w view, d Decision) []Disruption {
	var out []Disruption
	byPlan := func(texts ...string) {
		for _, text := range texts {
			out = append(out, Disruption{own.ConfigMapKind, wire.PlanConfigMap, text})
		}
	}
	for _, was := range w.Last.Networks {
		if len(w.EdgesOn(wire.NetworkLabel(was.Name))) == 0 {
			continue
		}
		i := slices.IndexFunc(d.Plan.Networks, func(n network.Network) bool { return n.Name == was.Name })
		if i < 0 {
			byPlan(explain.NetworkRemoved(was.Attachment))
			continue
		}
		byPlan(explain.NetworkChanged(was, d.Plan.Networks[i])...)
	}
	for _, r := range d.Rollouts {
		for _, x := range r.Disruptions {
			text := explain.EdgeRemoved(x.Edge)
			if x.Action == rollout.Recreate {
				text = explain.EdgeRecreated(x.Edge, x.Peer)
			}
			out = append(out, Disruption{own.DeploymentKind, x.Edge, text})
		}
	}
	return append(out, restoredRemoved(w.restoredEdges())...)
}

// restoredRemoved returns the disruptions from the removal of edges that a backup tool restored.
func restoredRemoved(edges []metav1.PartialObjectMetadata) []Disruption {
	var out []Disruption
	for _, e := range edges {
		out = append(out, Disruption{own.DeploymentKind, e.Name, explain.RestoredEdgeRemoved(e.Name)})
	}
	return out
}
