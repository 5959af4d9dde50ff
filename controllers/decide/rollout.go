// This file joins the wanted edges with the existing ones for package rollout, and makes objects from its decisions.

package decide

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/controllers/waves"
	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// A Rolled is the decision about the edges of one network.
type Rolled struct {
	// label is the value of the network's label, as in gather.Edge.Network.
	label string
	// acd and edges are the wanted Deployments, whether or not they are applied now. Both are empty if the network is
	// removed.
	acd   *unstructured.Unstructured
	edges []*unstructured.Unstructured
	// Postponed is true if some edge keeps its release until its cluster's turn.
	Postponed bool
	rollout.Decision
}

// roll returns the decision about each network of plan, in the order of plan, and then those about other networks that have edges.
func (w view) roll(plan network.Plan, release desired.Release, now time.Time) []Rolled {
	var out []Rolled
	served, hash, ns := map[string]bool{}, release.Hash(), plan.Cluster.ControlPlaneNamespace
	for _, n := range plan.Networks {
		label := wire.NetworkLabel(n.Name)
		served[label] = true
		r := Rolled{label: label, acd: own.Object(w.ControlPlane, desired.ACDDeployment(n, release, ns, w.away(n, wire.ACDDeploymentName(n))))}
		for _, e := range n.Edges {
			r.edges = append(r.edges, own.Object(w.ControlPlane, desired.EdgeDeployment(n, e, release, ns, w.away(n, wire.EdgeDeploymentName(n, e))).
				WithAnnotations(map[string]string{wire.AnnotationRelease: hash})))
		}
		edges := w.rolloutEdges(r)
		r.Postponed = slices.ContainsFunc(edges, func(e rollout.Edge) bool { return e.Postponed })
		r.Decision = rollout.Next(rollout.Network{Edges: edges, Check: w.rolloutCheck(n, r.acd),
			HeldSince: w.storedTime(n, desired.HeldAnnotation), MaintainedAt: w.storedTime(n, desired.MaintainedAnnotation)}, now)
		out = append(out, r)
	}
	for _, e := range w.Edges {
		if e.Role == gather.RoleEdge && !served[e.Network] {
			served[e.Network] = true
			r := Rolled{label: e.Network}
			r.Decision = rollout.Next(rollout.Network{Edges: w.rolloutEdges(r)}, now)
			out = append(out, r)
		}
	}
	return out
}

// rolloutEdges returns the wanted edges of r's network, in their order, and then the other existing ones.
func (w view) rolloutEdges(r Rolled) []rollout.Edge {
	var out []rollout.Edge
	wanted, moves := map[string]bool{}, false
	for _, u := range r.edges {
		wanted[u.GetName()] = true
		e := rollout.Edge{Name: u.GetName(), Wanted: u.GetAnnotations()[wire.AnnotationTemplate]}
		if live, exists := w.Edge(u.GetName()); exists {
			template := podTemplateOf(u)
			e.Seen = live.Seen
			e.Seen.Drifted, e.Seen.Restored = drifted(live, template), w.restored(live)
			e.Postponed = !w.Turn.Now && live.Release != u.GetAnnotations()[wire.AnnotationRelease] && samePod(live, template) && !e.Seen.Drifted
			e.Seen.PeerLost, e.Seen.PeerImpaired = w.reportsOfPeer(live)
			e.Seen.MaintainedNode = w.maintainedNode(live)
			moves = moves || onFormer(live, template)
		}
		out = append(out, e)
	}
	if moves {
		// An edge on the network of the previous NAD and one on the new network do not hear each other. Neither has a
		// fault.
		for i := range out {
			out[i].Seen.PeerLost, out[i].Seen.PeerImpaired = false, false
		}
	}
	for _, live := range w.EdgesOn(r.label) {
		if !wanted[live.Name] {
			e := rollout.Edge{Name: live.Name, Seen: live.Seen}
			e.Seen.Restored = w.restored(live)
			out = append(out, e)
		}
	}
	return out
}

func (w view) reportsOfPeer(e gather.Edge) (lost, impaired bool) {
	for _, x := range w.EdgeReports {
		if x.Network == e.Network && x.Edge == e.Number && !x.Yields {
			lost, impaired = x.MissesPeer(), x.Peer == reported.PeerImpaired
		}
	}
	return lost, impaired
}

// maintainedNode returns the node that e reported last, while it is cordoned or updated. It returns "" if the node is
// not in maintenance, unknown or deleted. It also returns "" if the peer may run on that node: the drain of a node must
// not wait for itself.
func (w view) maintainedNode(e gather.Edge) string {
	node, peer := "", ""
	for _, x := range w.EdgeReports {
		switch {
		case x.Network != e.Network || x.Yields || x.Edge == 0:
		case x.Edge == e.Number:
			node = x.Node
		default:
			peer = x.Node
		}
	}
	maintained := slices.ContainsFunc(w.Nodes, func(n corev1.Node) bool { return n.Name == node && n.Spec.Unschedulable })
	if !maintained || peer == "" || peer == node {
		return ""
	}
	return node
}

func (w view) rolloutCheck(n network.Network, acd *unstructured.Unstructured) rollout.Check {
	c := rollout.Check{Wanted: acd.GetAnnotations()[wire.AnnotationTemplate], Lost: w.lost(n)}
	live, exists := w.Edge(acd.GetName())
	if exists {
		c.Seen = live.Seen
	}
	// Once a check runs, an edge that is still ending may report again.
	c.Owned = !exists && !c.Lost && w.ownedUntilNow(n)
	return c
}

// storedTime returns the time in an annotation of n's PodDisruptionBudget, or the zero time.
func (w view) storedTime(n network.Network, annotation string) time.Time {
	for _, o := range w.storedBudgets(n) {
		since, err := time.Parse(time.RFC3339, o.Annotations[annotation])
		if err == nil {
			return since
		}
	}
	return time.Time{}
}

// storedBudgets returns n's PodDisruptionBudget, if it exists.
func (w view) storedBudgets(n network.Network) []metav1.PartialObjectMetadata {
	return network.Without(w.Owned, func(o metav1.PartialObjectMetadata) bool {
		return o.GroupVersionKind() != own.BudgetKind || o.Name != wire.BudgetName(n)
	})
}

// objects returns the objects of one network that must exist now, in the order in which they are applied. Edges on hold
// stay.
func (r Rolled) objects(w view, n network.Network, ns string) []*unstructured.Unstructured {
	if r.Check {
		return []*unstructured.Unstructured{r.acd}
	}
	out := r.budget(w, n, ns)
	for i, u := range r.edges {
		if r.Steps[i].Unproven {
			annotations := u.GetAnnotations() // A copy.
			annotations[gather.UnprovenAnnotation] = "true"
			u.SetAnnotations(annotations)
		}
		out = append(out, u)
	}
	return out
}

// budget returns the PodDisruptionBudget of one network, if it must exist now.
func (r Rolled) budget(w view, n network.Network, ns string) []*unstructured.Unstructured {
	if !r.Budget {
		return nil
	}
	return []*unstructured.Unstructured{own.Object(w.ControlPlane, desired.Budget(n, ns, r.Decision))}
}

// budgets returns the PodDisruptionBudgets of the plan in force, and those to remove. all begins with the rollouts of the
// plan's networks. Both results are empty if the operator has no rights in the namespace yet.
func (w view) budgets(all []Rolled) (wanted []*unstructured.Unstructured, ended []metav1.PartialObjectMetadata) {
	if w.Binding == nil {
		return nil, nil
	}
	for i, n := range w.Last.Networks {
		wanted = append(wanted, all[i].budget(w, n, w.Last.Cluster.ControlPlaneNamespace)...)
		if !all[i].Budget {
			ended = append(ended, w.storedBudgets(n)...)
		}
	}
	return wanted, ended
}

// Steps returns the steps of all networks.
func (d Decision) Steps() []rollout.Step {
	var out []rollout.Step
	for _, r := range d.Rollouts {
		out = append(out, r.Steps...)
	}
	return out
}

// StepOf returns the step for the edge of this name.
func (d Decision) StepOf(name string) (rollout.Step, bool) {
	all := d.Steps()
	i := slices.IndexFunc(all, func(s rollout.Step) bool { return s.Name == name })
	if i < 0 {
		return rollout.Step{}, false
	}
	return all[i], true
}

// Does reports whether the step for this edge has action a.
func (d Decision) Does(name string, a rollout.Action) bool {
	s, ok := d.StepOf(name)
	return ok && s.Action == a
}

// resync returns how soon to decide again without a change: an edge may be due, the report of a check may begin to
// count, or a Service may have endpoints that no watch covers.
func (w view) resync(d Decision, now time.Time) time.Duration {
	again := ResyncReady
	for _, r := range d.Rollouts {
		if r.Again > 0 {
			again = min(again, r.Again)
		}
	}
	for _, n := range d.Plan.Networks {
		acd, exists := w.Edge(wire.ACDDeploymentName(n))
		if left := acd.Seen.Created.Add(edgesEnd).Sub(now); exists && left > 0 {
			again = min(again, left)
		}
		if slices.ContainsFunc(n.Backends, w.hasManualEndpoints) {
			again = min(again, resyncManualEndpoints)
		}
	}
	return again
}

// hasManualEndpoints reports whether Kubernetes does not write the endpoints of b's Service.
func (w view) hasManualEndpoints(b network.Backend) bool {
	return b.Kind == network.BackendPods && slices.ContainsFunc(w.Services, func(s corev1.Service) bool {
		return s.Name == b.Service && services.HasManualEndpoints(s)
	})
}

// samePod reports whether live has the addresses, the servers and the network of wanted. Otherwise an edge of another
// release cannot wait for its turn.
func samePod(live gather.Edge, wanted corev1.PodTemplateSpec) bool {
	is := live.Live.Spec.Template
	same := func(key string) bool { return is.Annotations[key] == wanted.Annotations[key] }
	return same(wire.AnnotationNetworks) && same(wire.AnnotationClientRoutes) && !onFormer(live, wanted) &&
		slices.Equal(containerNames(is), containerNames(wanted))
}

func containerNames(t corev1.PodTemplateSpec) []string {
	var out []string
	for _, c := range t.Spec.Containers {
		out = append(out, c.Name)
	}
	return out
}

// onFormer reports whether live is on a network whose NAD was edited since. A missing hash, or a hash of another
// version, does not show an edit.
func onFormer(live gather.Edge, wanted corev1.PodTemplateSpec) bool {
	return !derive.SameConfig(live.Live.Spec.Template.Annotations[wire.AnnotationNetworkConfig], wanted.Annotations[wire.AnnotationNetworkConfig])
}

// updatePending returns the problem that edges keep an older release for now, once its reason is known.
func (w view) updatePending(all []Rolled) problem.Problems {
	if w.Turn.Wave == 0 || !slices.ContainsFunc(all, func(r Rolled) bool { return r.Postponed }) {
		return nil
	}
	if w.Turn.Stopped {
		return problem.Problems{problem.New(problem.UpdateStopped, problem.Subject{}, nil)}
	}
	return problem.Problems{problem.New(problem.UpdateWaits, problem.Subject{}, problem.Args{
		"wave": {strconv.Itoa(w.Turn.Wave)}, "waves": {strconv.Itoa(waves.Last)}})}
}

// LabelOf returns the label of an edge's network.
func (d Decision) LabelOf(edge string) string {
	for _, r := range d.Rollouts {
		for _, s := range r.Steps {
			if s.Name == edge {
				return r.label
			}
		}
	}
	return ""
}

// TakesOver returns the peer that takes over the traffic of an edge, or "" if there is none.
func (d Decision) TakesOver(edge string) string {
	for _, r := range d.Rollouts {
		for _, x := range r.Disruptions {
			if x.Edge == edge {
				return x.Peer
			}
		}
	}
	return ""
}
