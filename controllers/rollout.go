// This file joins the edges that are wanted with those that exist, for package
// rollout, and makes objects of what that decides. It decides nothing itself.

package controllers

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

// unprovenAnnotation of an edge's Deployment holds rollout.Seen.Unproven.
const unprovenAnnotation = wire.Prefix + "unproven"

// A rolled is what is decided about the edges of one network.
type rolled struct {
	// label of the network, as in Edge.Network.
	label string
	// acd and edges are the Deployments that are wanted, whether they are applied now
	// or not. Both are empty where the network is retired.
	acd   *unstructured.Unstructured
	edges []*unstructured.Unstructured
	// postponed says that an edge keeps its release until it is its cluster's turn.
	postponed bool
	rollout.Decision
}

// roll decides about each network of plan, in its order, then about networks that
// have edges and are not in it.
func (w world) roll(plan network.Plan, o Options, now time.Time) []rolled {
	var out []rolled
	served, release := map[string]bool{}, o.Release.Hash()
	for _, n := range plan.Networks {
		label := wire.NetworkLabel(n.Name)
		served[label] = true
		r := rolled{label: label, acd: object(w, acdDeployment(w, n, o, plan.Cluster.ControlPlaneNamespace))}
		for _, e := range n.Edges {
			r.edges = append(r.edges, object(w, edgeDeployment(w, n, e, o, plan.Cluster.ControlPlaneNamespace).
				WithAnnotations(map[string]string{wire.AnnotationRelease: release})))
		}
		edges := w.rolloutEdges(r)
		r.postponed = slices.ContainsFunc(edges, func(e rollout.Edge) bool { return e.Postponed })
		r.Decision = rollout.Next(rollout.Network{Edges: edges, Check: w.rolloutCheck(n, r.acd), HeldSince: w.heldSince(n)}, now)
		out = append(out, r)
	}
	for _, e := range w.edges {
		if e.Role == roleEdge && !served[e.Network] {
			served[e.Network] = true
			r := rolled{label: e.Network}
			r.Decision = rollout.Next(rollout.Network{Edges: w.rolloutEdges(r)}, now)
			out = append(out, r)
		}
	}
	return out
}

// rolloutEdges are the edges of r's network that are wanted, in their order, then
// those that only exist.
func (w world) rolloutEdges(r rolled) []rollout.Edge {
	var out []rollout.Edge
	wanted, moves := map[string]bool{}, false
	for _, u := range r.edges {
		wanted[u.GetName()] = true
		e := rollout.Edge{Name: u.GetName(), Wanted: u.GetAnnotations()[wire.AnnotationTemplate]}
		if live, exists := w.edge(u.GetName()); exists {
			template := podTemplateOf(u)
			e.Seen = live.Seen
			e.Seen.Drifted = drifted(live, template)
			e.Postponed = !w.turn.Now && live.Release != u.GetAnnotations()[wire.AnnotationRelease] && samePod(live, template) && !e.Seen.Drifted
			e.Seen.PeerLost, e.Seen.PeerImpaired = w.reportsOfPeer(live)
			moves = moves || onFormer(live, template)
		}
		out = append(out, e)
	}
	if moves {
		// An edge on the network of a former NAD and one on the new network do not hear each other, and no
		// fault is the cause.
		for i := range out {
			out[i].Seen.PeerLost, out[i].Seen.PeerImpaired = false, false
		}
	}
	for _, live := range w.edgesOn(r.label) {
		if !wanted[live.Name] {
			out = append(out, rollout.Edge{Name: live.Name, Seen: live.Seen})
		}
	}
	return out
}

// reportsOfPeer is what the edge reports of its peer.
func (w world) reportsOfPeer(e Edge) (lost, impaired bool) {
	for _, x := range w.reports {
		if x.network == e.Network && x.Edge == e.Number && !x.Yields {
			lost, impaired = x.MissesPeer(), x.Peer == network.PeerImpaired
		}
	}
	return lost, impaired
}

func (w world) rolloutCheck(n network.Network, acd *unstructured.Unstructured) rollout.Check {
	c := rollout.Check{Wanted: acd.GetAnnotations()[wire.AnnotationTemplate], Owned: w.ownedUntilNow(n)}
	if live, exists := w.edge(acd.GetName()); exists {
		c.Seen = live.Seen
	}
	return c
}

// heldSince is what is stored with the budget of n. Zero: nothing is.
func (w world) heldSince(n network.Network) time.Time {
	for _, o := range w.owned {
		if o.GroupVersionKind() == budgetKind && o.Name == wire.BudgetName(n) {
			since, err := time.Parse(time.RFC3339, o.Annotations[desired.HeldAnnotation])
			if err == nil {
				return since
			}
		}
	}
	return time.Time{}
}

// objects are those of one network that exist while r is in force, in the order in
// which they are applied. Edges on hold are among them, as they are to stay.
func (r rolled) objects(w world, n network.Network, ns string) []*unstructured.Unstructured {
	if r.Check {
		return []*unstructured.Unstructured{r.acd}
	}
	var out []*unstructured.Unstructured
	if r.Budget {
		out = append(out, object(w, desired.Budget(n, ns, r.Decision)))
	}
	for i, u := range r.edges {
		if r.Steps[i].Unproven {
			annotations := maps.Clone(u.GetAnnotations())
			annotations[unprovenAnnotation] = "true"
			u.SetAnnotations(annotations)
		}
		out = append(out, u)
	}
	return out
}

// steps of all networks.
func (d decision) steps() []rollout.Step {
	var out []rollout.Step
	for _, r := range d.rollouts {
		out = append(out, r.Steps...)
	}
	return out
}

// stepOf is what happens to the edge of this name.
func (d decision) stepOf(name string) (rollout.Step, bool) {
	all := d.steps()
	i := slices.IndexFunc(all, func(s rollout.Step) bool { return s.Name == name })
	if i < 0 {
		return rollout.Step{}, false
	}
	return all[i], true
}

// does reports whether a is what happens to the edge of this name.
func (d decision) does(name string, a rollout.Action) bool {
	s, ok := d.stepOf(name)
	return ok && s.Action == a
}

// edgesOn are the edges that exist on a network, by its label.
func (w world) edgesOn(label string) []Edge {
	return slices.DeleteFunc(slices.Clone(w.edges), func(e Edge) bool { return e.Role != roleEdge || e.Network != label })
}

// edge is the Deployment of ours with this name, of whatever role.
func (w world) edge(name string) (Edge, bool) {
	i := slices.IndexFunc(w.edges, func(e Edge) bool { return e.Name == name })
	if i < 0 {
		return Edge{}, false
	}
	return w.edges[i], true
}

// resync is how soon to look again though nothing is heard: an edge may be due, the report
// of a check may count from then on, or a Service may have endpoints that no watch covers.
func (w world) resync(d decision, now time.Time) time.Duration {
	again := resyncReady
	for _, r := range d.rollouts {
		if r.Again > 0 {
			again = min(again, r.Again)
		}
	}
	for _, n := range d.plan.Networks {
		acd, exists := w.edge(wire.ACDDeploymentName(n))
		if left := acd.Seen.Created.Add(edgesEnd).Sub(now); exists && left > 0 {
			again = min(again, left)
		}
		if slices.ContainsFunc(n.Backends, w.hasManualEndpoints) {
			again = min(again, resyncManualEndpoints)
		}
	}
	return again
}

// hasManualEndpoints reports whether someone else than Kubernetes writes the endpoints
// of b's Service.
func (w world) hasManualEndpoints(b network.Backend) bool {
	return b.Kind == network.BackendPods && slices.ContainsFunc(w.Services, func(s corev1.Service) bool {
		return s.Name == b.Service && hcp.HasManualEndpoints(s)
	})
}
