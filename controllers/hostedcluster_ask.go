// This file decides when a network's addresses are asked for, and what follows
// from the answer. It is pure, and asks nobody itself: a pod does (desired_ask.go).
//
// Where nothing of ours runs on a network yet, a router or another cluster may have
// our addresses. So a pod that holds one address asks for the others, and edges are
// made once it is ready. Where edges are, nobody can ask: they hold the addresses.
// And where they were a moment ago and somebody deleted them, nobody need ask.

package controllers

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// edgesEnd is how long edges of ours that were removed may still seem to answer:
// until they have ended, and the kernel of who asks, which believes an answer for
// up to a minute, has looked again.
const edgesEnd = (graceSeconds + 60) * time.Second

// asking says whether edges of n wait for an answer.
func (w world) asking(n network.Network, o Options) bool {
	if len(w.edgesOn(wire.NetworkLabel(n.Name))) > 0 || w.hasServed(n) {
		return false
	}
	ask, there := w.deployment(wire.ACDDeploymentName(n))
	want := askDeployment(w, n, o, w.controlPlane.Namespace).Annotations[wire.AnnotationTemplate]
	return !there || ask.Annotations[wire.AnnotationTemplate] != want || !available(ask)
}

// hasServed says whether edges had n's addresses until now: one has reported, which
// is forgotten where addresses are asked for. Who asked then would find them, which
// may go on answering for some seconds, and wait for a minute.
func (w world) hasServed(n network.Network) bool {
	return slices.ContainsFunc(w.last.Networks, func(was network.Network) bool {
		return was.Name == n.Name && was.Asker() == n.Asker() && slices.Equal(was.Asked(), n.Asked())
	}) && slices.ContainsFunc(w.reports, func(r reported) bool { return r.network == wire.NetworkLabel(n.Name) && r.Edge > 0 })
}

// edgesOn are the Deployments of edges that there are on a network, by its label.
func (w world) edgesOn(label string) []appsv1.Deployment {
	return slices.DeleteFunc(slices.Clone(w.edges), func(d appsv1.Deployment) bool {
		return !isEdge(d) || d.Labels[wire.LabelNetwork] != label
	})
}

func (w world) deployment(name string) (appsv1.Deployment, bool) {
	i := slices.IndexFunc(w.edges, func(d appsv1.Deployment) bool { return d.Name == name })
	if i < 0 {
		return appsv1.Deployment{}, false
	}
	return w.edges[i], true
}

func isEdge(d appsv1.Deployment) bool { return d.Labels[wire.LabelName] == wire.NameEdge }
func isAsk(d appsv1.Deployment) bool  { return d.Labels[wire.LabelName] == wire.NameACD }

// available says whether d's pod is the one that is wished now, and is ready.
func available(d appsv1.Deployment) bool {
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas > 0 && s.Replicas == s.UpdatedReplicas && s.AvailableReplicas > 0
}

// taken are the addresses that the one who asks on n found, now or for a former
// wish. Edges of ours that are still ending count for nothing.
func (w world) taken(n network.Network, now time.Time) []network.TakenAddress {
	ask, there := w.deployment(wire.ACDDeploymentName(n))
	if !there || len(w.edgesOn(wire.NetworkLabel(n.Name))) > 0 || now.Before(ask.CreationTimestamp.Add(edgesEnd)) {
		return nil
	}
	var out []network.TakenAddress
	for _, r := range w.reports {
		if r.network == wire.NetworkLabel(n.Name) && r.Edge == 0 {
			out = append(out, r.Taken...)
		}
	}
	return out
}

// inForce is the last plan, without the networks of which somebody else has an
// address: nobody was ever served there by ours, so the user may move them.
func (w world) inForce(now time.Time) network.Plan {
	p := w.last
	p.Networks = slices.DeleteFunc(slices.Clone(p.Networks), func(n network.Network) bool {
		return len(n.InTheWay(w.taken(n, now))) > 0
	})
	return p
}
