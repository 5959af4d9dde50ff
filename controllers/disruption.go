// This file decides which disruptions are announced: connections that a change
// resets, with the write that resets them. It is pure, and holds nothing back.

package controllers

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

// reasonDisruption is the reason of the Event before connections are reset.
const reasonDisruption = "Disruption"

// A disruption is what ends once one object is written or removed.
type disruption struct {
	kind schema.GroupVersionKind
	name string
	text string
}

// announceDisruptions emits an Event about those of d's disruptions whose objects were
// written or removed. Each is announced once: what was applied is not applied again,
// and what the API server refuses, however often, is not announced.
func (r *Reconciler) announceDisruptions(w world, d decision, done func(disruption) bool) {
	var texts []string
	for _, c := range d.disruptions {
		if done(c) {
			texts = append(texts, c.text)
		}
	}
	if len(texts) > 0 {
		r.Events.Eventf(w.HostedCluster, nil, corev1.EventTypeNormal, reasonDisruption, actionServe, "%s", explain.Disruptions(texts))
	}
}

// disruptions of d: by the plan that is in force now and the plan of d, and by the
// edges that rollouts recreate or remove. Where no edge of ours exists yet nothing
// ends.
func disruptions(w world, d decision) []disruption {
	var out []disruption
	byPlan := func(texts ...string) {
		for _, text := range texts {
			out = append(out, disruption{configMapKind, wire.PlanConfigMap, text})
		}
	}
	for _, was := range w.last.Networks {
		if len(w.edgesOn(wire.NetworkLabel(was.Name))) == 0 {
			continue
		}
		i := slices.IndexFunc(d.plan.Networks, func(n network.Network) bool { return n.Name == was.Name })
		if i < 0 {
			byPlan(explain.NetworkRemoved(was.Attachment))
			continue
		}
		byPlan(explain.NetworkChanged(was, d.plan.Networks[i])...)
	}
	for _, r := range d.rollouts {
		for _, x := range r.Disruptions {
			text := explain.EdgeRemoved(x.Edge)
			if x.Action == rollout.Recreate {
				text = explain.EdgeRecreated(x.Edge, x.Peer)
			}
			out = append(out, disruption{deploymentKind, x.Edge, text})
		}
	}
	return out
}
