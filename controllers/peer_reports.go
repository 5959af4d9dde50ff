// This file decides which problems follow from what edges report. It is pure, and
// nothing of the plan follows from it.

package controllers

import (
	"slices"
	"time"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// reportedProblems are what edges, and the address conflict detection, report of the
// networks that d serves.
func (w world) reportedProblems(d decision, now time.Time) network.Problems {
	var ps network.Problems
	for i, n := range d.plan.Networks {
		ps = append(ps, n.InUseByOthers(w.inUse(n, now))...)
		for _, e := range n.Edges {
			for _, r := range w.reports {
				if r.network == wire.NetworkLabel(n.Name) && r.Edge == e.Number && r.Degraded.Cause != "" {
					ps = append(ps, n.FailoverDegraded(e.Number, w.subject(n, e), r.Degraded))
				}
			}
		}
		if i := slices.IndexFunc(n.Edges, func(e network.Edge) bool {
			return wire.EdgeDeploymentName(n, e) == d.rollouts[i].Partitioned
		}); i >= 0 {
			ps = append(ps, n.EdgesPartitioned(n.Edges[i].Number, w.subject(n, n.Edges[i])))
		}
	}
	return ps
}

// subject is what problems call edge e of n.
func (w world) subject(n network.Network, e network.Edge) network.Subject {
	return edgeSubject(w.controlPlane.Namespace, wire.EdgeDeploymentName(n, e))
}
