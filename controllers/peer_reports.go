// This file reads what edges report, and decides which problems follow. It is pure, and
// nothing of the plan follows from it.

package controllers

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// reports are those that the edges of p, and its address conflict detection, wrote, each
// to the Lease of its own. A report in another Lease is a former version's, and is
// ignored, as is one that cannot be read.
func reports(owned []metav1.PartialObjectMetadata, p network.Plan) []reported {
	type writer struct {
		network string
		edge    int
	}
	writers := map[string]writer{}
	for _, n := range p.Networks {
		writers[wire.ACDReport(n).Name] = writer{wire.NetworkLabel(n.Name), 0}
		for _, e := range n.Edges {
			writers[wire.EdgeReport(n, e).Name] = writer{wire.NetworkLabel(n.Name), e.Number}
		}
	}
	var out []reported
	for _, o := range owned {
		by, known := writers[o.Name]
		if !known || o.GroupVersionKind() != leaseKind || o.Labels[wire.LabelName] != wire.NameReport {
			continue
		}
		if r, err := network.ReadReport([]byte(o.Annotations[wire.AnnotationReport])); err == nil && r.Edge == by.edge {
			out = append(out, reported{network: by.network, Report: r})
		}
	}
	return out
}

// reportedInUse are addresses of p that the address conflict detection found in use.
func (w world) reportedInUse(p network.Plan, now time.Time) network.Problems {
	var ps network.Problems
	for _, n := range p.Networks {
		ps = append(ps, n.InUseByOthers(w.inUse(n, now))...)
	}
	return ps
}

// reportedByEdges are problems of the edges that serve p. all are the rollouts of its
// networks, in its order.
func (w world) reportedByEdges(p network.Plan, all []rolled) network.Problems {
	var ps network.Problems
	for i, n := range p.Networks {
		for _, e := range n.Edges {
			for _, r := range w.reports {
				if r.network == wire.NetworkLabel(n.Name) && r.Edge == e.Number && r.Degraded.Cause != "" {
					ps = append(ps, n.FailoverDegraded(e.Number, w.subject(n, e), r.Degraded))
				}
			}
		}
		if i := slices.IndexFunc(n.Edges, func(e network.Edge) bool {
			return wire.EdgeDeploymentName(n, e) == all[i].Partitioned
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
