// Package decide decides what to do with one hosted cluster, from its observed state. It is pure: it reads and writes
// nothing, and the time is an argument.
package decide

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// An Action says what to do with a cluster.
type Action int

const (
	// Ignore: nothing is written (the cluster is being deleted).
	Ignore Action = iota
	// Leave: existing objects stay as they are, and the condition says why. Destinations that edges may no longer dial
	// for VMs are removed from the plan in force nevertheless. Edges that a backup tool restored are removed, too, and
	// PodDisruptionBudgets still follow the edges.
	Leave
	// Keep: the plan in force and all objects stay as they are, although the cluster is paused or no longer opts in.
	// The condition describes what is served.
	Keep
	// Serve: the desired objects are applied, and all other objects of oooi are removed.
	Serve
	// Remove: all objects of oooi and the condition are removed.
	Remove
)

// String returns the action as a word.
func (a Action) String() string { return [...]string{"ignore", "leave", "keep", "serve", "remove"}[a] }

// A Decision is everything that follows from a world.
type Decision struct {
	Action   Action
	Plan     network.Plan
	Problems problem.Problems
	// Desired are the objects to apply, in this order. With action Leave, they restrict or protect the running edges. With
	// action Keep, they are the plan in force with the deadline of its removal. With actions Ignore and Remove there
	// are none.
	Desired []*unstructured.Unstructured
	// Removed are the objects that action Leave removes: edges that a backup tool restored, and PodDisruptionBudgets.
	Removed []metav1.PartialObjectMetadata
	// Rollouts say what to do with the edges of each network. With action Leave, only their budgets are applied.
	Rollouts []Rolled
	// Leading says what to do with load balancers after Desired is applied.
	Leading Leading
	// Disruptions are announced after the write that causes them.
	Disruptions []Disruption
	Again       time.Duration
	// Err is set if the plan violates its own rules, which is a bug in the operator.
	Err error
}

// A view is a world with methods for decisions.
type view struct{ gather.World }

// About decides what to do with a hosted cluster.
func About(of gather.World, release desired.Release, now time.Time) Decision {
	w, hc := view{of}, of.HostedCluster
	switch {
	case !hc.DeletionTimestamp.IsZero():
		// All objects of oooi are deleted with their owner and the namespace.
		return Decision{Action: Ignore}
	case hcp.Paused(hc, now):
		return w.paused(release, now)
	case !hcp.OptedIn(hc):
		return w.notOptedIn(release, now)
	}
	last := w.inForce(now)
	request, facts := hcp.Translate(w.Objects, last)
	facts.Problems = slices.Concat(w.rivalry(), w.Unread, facts.Problems, hcp.NotStarted(w.Objects, now))
	derived := derive.Derive(request, facts, last, w.Others)
	if !w.HasControlPlane() && !derived.Problems.Has(problem.WaitingForControlPlane) {
		cause := problem.ControlPlaneMissing
		if len(w.Last.Networks) > 0 {
			cause = problem.ControlPlaneGone
		}
		derived = derived.With(problem.New(cause, problem.Subject{Kind: "HostedControlPlane", Name: hc.Name},
			problem.Args{"namespace": {hcp.ControlPlaneNamespace(hc)}}))
	}
	d := Decision{Action: Leave, Plan: derived.Draft(), Problems: derived.Problems, Again: ResyncReady}
	plan, ok := derived.Plan()
	if !ok || !servable(d.Problems) {
		// Edges keep serving the plan in force.
		d.Rollouts = w.rollInForce(release, now)
		d.Problems = slices.Concat(d.Problems, w.problemsInForce(d.Rollouts))
		if w.HasControlPlane() {
			budgets, ended := w.budgets(d.Rollouts)
			d.Desired = append(w.withoutRemoval(w.restricted(facts.Reserved, w.Permissions)), budgets...)
			d.Leading = w.leads(w.Last).kept()
			restored := w.restoredEdges()
			d.Removed = append(restored, ended...)
			d.Disruptions = restoredRemoved(restored)
			d.Again = w.resync(d, now)
		}
		return d
	}
	if d.Err = plan.Validate(); d.Err != nil {
		d.Problems = append(slices.Clone(d.Problems), problem.New(problem.PlanInvalid, problem.Subject{}, problem.Args{"error": {requests.Sentence(d.Err)}}))
		return d
	}
	d.Action = Serve
	// Reports of edges are problems at most. They never change the plan.
	d.Rollouts = w.roll(plan, release, now)
	d.Leading = w.leads(plan)
	d.Problems = slices.Concat(d.Problems, w.reportedInUse(plan, now), w.reportedByEdges(plan, d.Rollouts), w.updatePending(d.Rollouts), d.Leading.Problems)
	d.Desired = objectsOf(w, plan, d.Rollouts)
	d.Disruptions = disruptions(w, d)
	d.Again = w.resync(d, now)
	return d
}

// paused decides that nothing changes. A cluster without served networks gets no condition, unless it opts in.
func (w view) paused(release desired.Release, now time.Time) Decision {
	if !hcp.OptedIn(w.HostedCluster) && len(w.Last.Networks) == 0 {
		return Decision{Action: Ignore, Again: whilePaused}
	}
	d := w.kept(release, now)
	d.Problems = slices.Concat(d.Problems, hcp.PauseProblems(w.HostedCluster, len(w.Last.Networks) > 0, now))
	d.Again = whilePaused
	return d
}

// kept returns the decision that keeps the plan in force, with all problems of its edges.
func (w view) kept(release desired.Release, now time.Time) Decision {
	return Decision{Action: Keep, Plan: w.Last, Problems: slices.Concat(w.Unread, w.problemsInForce(w.rollInForce(release, now)))}
}

// rollInForce returns the decisions about the edges of the plan in force, or nil without a control plane.
func (w view) rollInForce(release desired.Release, now time.Time) []Rolled {
	if !w.HasControlPlane() {
		return nil
	}
	return w.roll(w.Last, release, now)
}

// problemsInForce returns the problems of the edges of the plan in force, with their rollouts. Without a control plane,
// it returns only those of missing edges.
func (w view) problemsInForce(rollouts []Rolled) problem.Problems {
	if !w.HasControlPlane() {
		return w.missingEdges()
	}
	return slices.Concat(w.reportedByEdges(w.Last, rollouts), w.missingEdges())
}

// restricted returns the plan in force and its NetworkPolicy with fewer destinations, if the administrator now permits
// less or more destinations are reserved. It returns nil if nothing changes.
func (w view) restricted(reserved []network.ReservedDestination, permitted network.Permissions) []*unstructured.Unstructured {
	plan := derive.Restricted(w.Last, reserved, permitted)
	if w.Binding == nil || len(plan.Networks) == 0 || string(plan.JSON()) == string(w.Last.JSON()) {
		return nil
	}
	return slices.DeleteFunc([]*unstructured.Unstructured{planObject(w, plan), policyObject(w, plan)}, func(u *unstructured.Unstructured) bool { return u == nil })
}

func servable(ps problem.Problems) bool {
	return !ps.Blocking() && !ps.Has(problem.WaitingForControlPlane)
}

// rivalry returns a problem if another hosted cluster keeps w's control plane namespace.
func (w view) rivalry() problem.Problems {
	if w.Rival == (types.NamespacedName{}) {
		return nil
	}
	return problem.Problems{hcp.ControlPlaneShared(w.HostedCluster, w.Rival.String())}
}

// ReportLeases returns the names of Leases with reports. The value is true if a Deployment in d.Desired writes the Lease.
func (d Decision) ReportLeases() map[string]bool {
	wanted := func(deployment string) bool {
		return slices.ContainsFunc(d.Desired, func(u *unstructured.Unstructured) bool {
			return u.GroupVersionKind() == own.DeploymentKind && u.GetName() == deployment
		})
	}
	out := map[string]bool{}
	for _, n := range d.Plan.Networks {
		out[wire.ACDReportLease(n).Name] = wanted(wire.ACDDeploymentName(n))
		for _, e := range n.Edges {
			out[wire.EdgeReportLease(n, e).Name] = wanted(wire.EdgeDeploymentName(n, e))
		}
	}
	return out
}

// Memory reports whether d.Plan is in force.
func (d Decision) Memory() bool {
	return d.Action == Serve || d.Action == Keep && len(d.Plan.Networks) > 0
}

// How long until a cluster is reconciled again although no watch reported a change.
const (
	// ResyncReady is how soon to look for leases of networks that are not served. No watch reports them.
	ResyncReady = 5 * time.Minute
	// resyncManualEndpoints is how soon to read endpoints again that are written by hand and that no watch covers.
	resyncManualEndpoints = 30 * time.Second
	// whilePaused is how late the end of a pause may be noticed.
	whilePaused = time.Minute
)
