// This file decides what is done with one hosted cluster, from its observed state. It is pure:
// it reads and writes nothing, and the time is an argument.

package controllers

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

// An action is what is done with a cluster.
type action int

const (
	// ignore: nothing is written (the cluster is paused or being deleted).
	ignore action = iota
	// leave: existing objects stay as they are. The condition has the reason. Only what edges
	// may dial for VMs is restricted as always.
	leave
	// serve: the desired objects are applied, all others of ours removed.
	serve
	// remove: all our objects and the condition are removed.
	remove
)

func (a action) String() string { return [...]string{"ignore", "leave", "serve", "remove"}[a] }

// A decision is everything that follows from a world.
type decision struct {
	action   action
	plan     network.Plan
	problems network.Problems
	// others are the hosted clusters on the same networks.
	others []network.OtherCluster
	// desired is applied in this order. With the action leave, it has what restricts the edges
	// that run. Empty with any other action but serve.
	desired []*unstructured.Unstructured
	// rollouts say what happens to the edges of each network.
	rollouts []rolled
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
		return decision{action: ignore, again: whilePaused}
	case !hcp.OptedIn(hc):
		return decision{action: remove}
	}
	request, facts := hcp.Translate(w.Objects)
	facts.Problems = slices.Concat(w.unread, facts.Problems)
	derived := network.Derive(request, facts, w.inForce(now), w.others)
	further := tooLarge(derived.Draft())
	if !w.hasControlPlane() && !derived.Problems.Has(network.WaitingForControlPlane) {
		missing := network.NewProblem(network.ControlPlaneMissing, network.Subject{Kind: "HostedControlPlane", Name: hc.Name},
			network.Args{"namespace": hcp.ControlPlaneNamespace(hc)})
		further = append(network.Problems{missing}, further...)
	}
	derived = derived.With(further...)
	d := decision{action: leave, plan: derived.Draft(), problems: derived.Problems, others: w.others, again: resyncReady}
	plan, ok := derived.Plan()
	if !ok || !servable(d.problems) {
		if w.hasControlPlane() {
			// Edges keep serving the plan in force.
			d.problems = slices.Concat(d.problems, w.reportedByEdges(w.last, w.roll(w.last, o, now)))
			d.desired = w.restricted(facts.Reserved, o.Permissions)
		}
		return d
	}
	if d.err = plan.Validate(); d.err != nil {
		return d
	}
	d.action = serve
	// What edges report is a problem at most. It never changes the plan.
	d.rollouts = w.roll(plan, o, now)
	d.problems = slices.Concat(d.problems, w.reportedInUse(plan, now), w.reportedByEdges(plan, d.rollouts))
	d.desired = desired(w, plan, d.rollouts)
	d.disruptions = disruptions(w, d)
	d.again = w.resync(d, now)
	return d
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

// maxPlan in bytes keeps room below what a ConfigMap may have (1 MiB).
const maxPlan = 900 << 10

// tooLarge is a problem where p does not fit into a ConfigMap.
func tooLarge(p network.Plan) network.Problems {
	size := len(p.JSON())
	if size <= maxPlan {
		return nil
	}
	return network.Problems{network.NewProblem(network.PlanTooLarge, network.Subject{Kind: "ConfigMap", Name: wire.PlanConfigMap},
		network.Args{"size": strconv.Itoa(size >> 10), "most": strconv.Itoa(maxPlan >> 10)}, "dns-records", "reservations", "publish")}
}

// refusedBy is d where the API server did not take it.
func (d decision) refusedBy(err error) decision {
	d.action = leave
	refused := network.NewProblem(network.WriteRefused, network.Subject{}, network.Args{"error": err.Error()})
	d.problems = append(slices.Clone(d.problems), refused)
	return d
}

// servable reports whether anything is applied: nothing where a problem blocks, and
// nothing while there is no control plane to reach.
func servable(ps network.Problems) bool {
	return !ps.Blocking() && !ps.Has(network.WaitingForControlPlane)
}
