// This file decides what is done with one hosted cluster, from its observed state. It is pure:
// it reads and writes nothing, and the time is an argument.

package controllers

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

// An action is what is done with a cluster.
type action int

const (
	// ignore: nothing is written (the cluster is being deleted).
	ignore action = iota
	// leave: existing objects stay as they are. The condition has the reason. Only what edges
	// may dial for VMs is restricted as always.
	leave
	// keep: the plan in force and all objects stay as they are, although the cluster is paused or no
	// longer opts in. The condition is about what is served.
	keep
	// serve: the desired objects are applied, all others of ours removed.
	serve
	// remove: all our objects and the condition are removed.
	remove
)

func (a action) String() string { return [...]string{"ignore", "leave", "keep", "serve", "remove"}[a] }

// A decision is everything that follows from a world.
type decision struct {
	action   action
	plan     network.Plan
	problems network.Problems
	// others are the hosted clusters on the same networks.
	others []network.OtherCluster
	// desired is applied in this order. With the action leave, it has what restricts the edges
	// that run, and with keep the plan in force with the deadline of its removal. Empty with any other
	// action but serve.
	desired []*unstructured.Unstructured
	// rollouts say what happens to the edges of each network.
	rollouts []rolled
	// leading is what is done about load balancers, after desired is applied.
	leading leading
	// disruptions are announced with the write that makes them.
	disruptions []disruption
	again       time.Duration
	// err is a bug in the operator: the plan breaks its own rules.
	err error
}

// A reported is the report of one edge, or of the address conflict detection.
type reported struct {
	// network is the value of the network's label (wire.NetworkLabel).
	network string
	network.Report
}

func decide(w world, o Options, now time.Time) decision {
	hc := w.HostedCluster
	switch {
	case !hc.DeletionTimestamp.IsZero():
		// All our objects are deleted with their owner and the namespace.
		return decision{action: ignore}
	case hcp.Paused(hc, now):
		return w.paused(o, now)
	case !hcp.OptedIn(hc):
		return w.notOptedIn(o, now)
	}
	last := w.inForce(now)
	request, facts := hcp.Translate(w.Objects, last)
	facts.Problems = slices.Concat(w.rivalry(), w.unread, facts.Problems)
	derived := network.Derive(request, facts, last, w.others)
	if !w.hasControlPlane() && !derived.Problems.Has(network.WaitingForControlPlane) {
		cause := network.ControlPlaneMissing
		if len(w.last.Networks) > 0 {
			cause = network.ControlPlaneGone
		}
		derived = derived.With(network.NewProblem(cause, network.Subject{Kind: "HostedControlPlane", Name: hc.Name},
			network.Args{"namespace": hcp.ControlPlaneNamespace(hc)}))
	}
	d := decision{action: leave, plan: derived.Draft(), problems: derived.Problems, others: w.others, again: resyncReady}
	plan, ok := derived.Plan()
	if !ok || !servable(d.problems) {
		// Edges keep serving the plan in force.
		d.problems = slices.Concat(d.problems, w.problemsInForce(o, now))
		if w.hasControlPlane() {
			d.desired = w.withoutRemoval(w.restricted(facts.Reserved, o.Permissions))
			d.leading = w.leads(w.last).kept()
		}
		return d
	}
	if d.err = plan.Validate(); d.err != nil {
		d.problems = append(slices.Clone(d.problems), network.NewProblem(network.PlanInvalid, network.Subject{}, network.Args{"error": sentence(d.err)}))
		return d
	}
	d.action = serve
	// What edges report is a problem at most. It never changes the plan.
	d.rollouts = w.roll(plan, o, now)
	d.leading = w.leads(plan)
	d.problems = slices.Concat(d.problems, w.reportedInUse(plan, now), w.reportedByEdges(plan, d.rollouts), w.updatePending(d.rollouts), d.leading.problems)
	d.desired = objectsOf(w, plan, d.rollouts)
	d.disruptions = disruptions(w, d)
	d.again = w.resync(d, now)
	return d
}

// paused is what is done with a cluster that is paused: nothing. A cluster of which nothing is served
// has no condition, unless it opts in.
func (w world) paused(o Options, now time.Time) decision {
	if !hcp.OptedIn(w.HostedCluster) && len(w.last.Networks) == 0 {
		return decision{action: ignore, again: whilePaused}
	}
	d := w.kept(o, now)
	cause := network.ClusterPaused
	if len(w.last.Networks) == 0 {
		cause = network.PausedUnserved
	}
	d.problems = append(d.problems, network.NewProblem(cause, network.Subject{}, nil, hcp.PausedBy(w.HostedCluster, now)))
	d.again = whilePaused
	return d
}

// kept is the plan in force with all problems of the edges that serve it.
func (w world) kept(o Options, now time.Time) decision {
	return decision{action: keep, plan: w.last, problems: slices.Concat(w.unread, w.problemsInForce(o, now))}
}

// problemsInForce are those of the edges of the plan in force. Without a control plane nothing is known
// of what they would be now.
func (w world) problemsInForce(o Options, now time.Time) network.Problems {
	if !w.hasControlPlane() {
		return w.missingEdges()
	}
	return slices.Concat(w.reportedByEdges(w.last, w.roll(w.last, o, now)), w.missingEdges())
}

// restricted are the plan in force and its NetworkPolicy, if the administrator permits less by now
// or more destinations are reserved. None: nothing changes.
func (w world) restricted(reserved []network.ReservedDestination, permitted network.Permissions) []*unstructured.Unstructured {
	plan := w.last.Restricted(reserved, permitted)
	if w.binding == nil || len(plan.Networks) == 0 || string(plan.JSON()) == string(w.last.JSON()) {
		return nil
	}
	return slices.DeleteFunc([]*unstructured.Unstructured{planObject(w, plan), policyObject(w, plan)}, func(u *unstructured.Unstructured) bool { return u == nil })
}

// servable reports whether anything is applied: nothing where a problem blocks, and
// nothing while there is no control plane to reach.
func servable(ps network.Problems) bool {
	return !ps.Blocking() && !ps.Has(network.WaitingForControlPlane)
}
