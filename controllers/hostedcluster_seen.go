// This file decides what is said of what edges told, and how soon it is looked
// again. It is pure, and nothing of the plan follows from it.

package controllers

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

const (
	// whileApart is how soon it is looked again whether edges see each other: that
	// stands in a Lease, which nobody watches.
	whileApart = 30 * time.Second
	// whileByHand is how soon it is looked again who is behind Services whose
	// endpoints somebody writes by hand, which nobody watches.
	whileByHand = 30 * time.Second
	// whileAsking is how soon an answer is looked for: it stands in a Lease, too.
	// whileAskingOn is how soon after askedLong: that the addresses are free is news
	// of a Deployment, and only who has them is not.
	whileAsking   = 5 * time.Second
	whileAskingOn = time.Minute
	askedLong     = 2 * time.Minute
	// settled is how long edges must have served to be believed that they don't
	// hear each other: one that begins is seen, and told of, a little later.
	settled = time.Minute
)

// seenByEdges is what edges on p's networks tell of what is wrong there.
func (w world) seenByEdges(p network.Plan, now time.Time) network.Problems {
	var ps network.Problems
	for _, n := range p.Networks {
		ps = append(ps, n.TakenBy(w.taken(n, now))...)
		for _, e := range n.Edges {
			for _, r := range w.reports {
				if r.network == wire.NetworkLabel(n.Name) && r.Edge == e.Number && r.SlowTakeover != "" {
					ps = append(ps, n.Slow(e.Number, r.SlowTakeover))
				}
			}
		}
		if edge, since := w.apart(n); edge > 0 && now.Sub(since) >= settled {
			ps = append(ps, n.EdgesPartitioned(edge))
		}
	}
	return ps
}

// apart is the first edge of n that does not hear its sibling, and since when both
// serve. 0: there is none.
func (w world) apart(n network.Network) (edge int, since time.Time) {
	if len(n.Edges) < 2 {
		return 0, since
	}
	for _, e := range n.Edges {
		live, there := w.deployment(wire.EdgeDeploymentName(n, e))
		if !there || !available(live) {
			return 0, since
		}
		if at := availableSince(live); at.After(since) {
			since = at
		}
		for _, r := range w.reports {
			if edge == 0 && r.network == wire.NetworkLabel(n.Name) && r.Edge == e.Number && r.Sibling == network.SiblingLost {
				edge = e.Number
			}
		}
	}
	return edge, since
}

// availableSince is when d's pod became ready, as far as is said.
func availableSince(d appsv1.Deployment) time.Time {
	return conditionOf(d, appsv1.DeploymentAvailable).LastTransitionTime.Time
}

// lookAgain is how soon p is looked at again though nothing is heard.
func (w world) lookAgain(p network.Plan, o Options, now time.Time) time.Duration {
	again := whileServed
	for _, n := range p.Networks {
		if edge, _ := w.apart(n); edge > 0 {
			again = min(again, whileApart)
		}
		if w.asking(n, o) {
			again = min(again, w.whileAsking(n, now))
		}
		if slices.ContainsFunc(n.Backends, w.isByHand) {
			again = min(again, whileByHand)
		}
	}
	return again
}

// whileAsking is how soon an answer is looked for on n.
func (w world) whileAsking(n network.Network, now time.Time) time.Duration {
	ask, there := w.deployment(wire.ACDDeploymentName(n))
	since := ask.CreationTimestamp.Time
	for _, c := range ask.Status.Conditions {
		if c.LastUpdateTime.After(since) {
			since = c.LastUpdateTime.Time
		}
	}
	if there && now.Sub(since) >= askedLong {
		return whileAskingOn
	}
	return whileAsking
}

// isByHand says whether somebody else than Kubernetes writes who is behind b.
func (w world) isByHand(b network.Backend) bool {
	return b.Kind == network.BackendPods && slices.ContainsFunc(w.Services, func(s corev1.Service) bool { return s.Name == b.Service && hcp.ByHand(s) })
}
