// This file holds what the operator logs about one hosted cluster: what it applied,
// rolled, held, removed, and why. Messages are constant; values are keys, and
// "cluster" is always among them. Only changes are logged.

package controllers

import (
	"cmp"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network/explain"
)

// clusterLog is log with the cluster that a request is about.
func clusterLog(log logr.Logger) func(*reconcile.Request) logr.Logger {
	return func(req *reconcile.Request) logr.Logger {
		if req == nil {
			return log
		}
		return log.WithValues("cluster", req.String())
	}
}

// logApplied logs one object that a write changed, and that existed or did not.
func logApplied(log logr.Logger, d decision, u *unstructured.Unstructured, existed bool) {
	step, isEdge := d.stepOf(u.GetName())
	switch {
	case u.GroupVersionKind() == deploymentKind && isEdge:
		logStep(log, d, step)
	case u.GroupVersionKind() == deploymentKind && existed:
		log.Info("address conflict detection updated", "network", u.GetLabels()[wire.LabelNetwork], "deployment", u.GetName())
	case u.GroupVersionKind() == deploymentKind:
		log.Info("address conflict detection started", "network", u.GetLabels()[wire.LabelNetwork], "deployment", u.GetName())
	case u.GroupVersionKind() == configMapKind:
		var networks []string
		for _, n := range d.plan.Networks {
			networks = append(networks, n.Attachment.String())
		}
		log.Info("plan applied", "networks", networks)
	default:
		log.Info("object applied", "kind", u.GetKind(), "name", u.GetName())
	}
}

// logStep logs what happened to one edge. version and health are how it was found,
// and so why.
func logStep(log logr.Logger, d decision, s rollout.Step) {
	keys := []any{"network", d.labelOf(s.Name), "edge", s.Name, "version", s.Version, "health", s.Health}
	if peer := cmp.Or(s.Peer, d.takesOver(s.Name)); peer != "" {
		keys = append(keys, "peer", peer)
	}
	switch s.Action {
	case rollout.Create:
		log.Info("edge created", keys...)
	case rollout.Recreate:
		log.Info("edge recreated", keys...)
	case rollout.Apply:
		log.Info("edge updated", keys...)
	case rollout.Hold:
		log.Info("edge on hold", keys...)
	case rollout.Keep:
		log.Info("edge kept until another edge is ready", keys...)
	case rollout.Remove:
		log.Info("edge removed", keys...)
	}
}

// logRemoved logs one object that was removed.
func logRemoved(log logr.Logger, d decision, o metav1.PartialObjectMetadata) {
	step, isEdge := d.stepOf(o.Name)
	switch {
	case o.GroupVersionKind() == deploymentKind && isEdge && step.Action == rollout.Remove:
		logStep(log, d, step)
	case o.GroupVersionKind() == deploymentKind && o.Labels[wire.LabelName] == wire.NameACD:
		log.Info("address conflict detection ended", "network", o.Labels[wire.LabelNetwork], "deployment", o.Name)
	default:
		log.Info("object removed", "kind", o.Kind, "name", o.Name)
	}
}

// logCondition logs a condition that was written, with all problems, and the edges
// that wait.
func logCondition(log logr.Logger, d decision, v verdict, exists bool) {
	if !exists {
		log.Info("condition removed")
		return
	}
	log.Info("condition changed", "ready", v.Ready, "reason", v.Reason, "applied", d.action == serve)
	for _, p := range v.problems {
		log.Info("problem", "reason", p.Reason, "cause", p.Cause, "severity", p.Level(), "subject", p.Subject.String(),
			"detail", explain.Problem(p).String())
	}
	for _, s := range d.steps() {
		if s.Action == rollout.Keep || s.Action == rollout.Hold && s.Peer != "" {
			logStep(log, d, s)
		}
	}
}

// labelOf is the network of the edge with this name, by its label.
func (d decision) labelOf(edge string) string {
	for _, r := range d.rollouts {
		for _, s := range r.Steps {
			if s.Name == edge {
				return r.label
			}
		}
	}
	return ""
}

// takesOver is the peer that takes over the traffic of the edge with this name.
// Empty: none.
func (d decision) takesOver(edge string) string {
	for _, r := range d.rollouts {
		for _, x := range r.Disruptions {
			if x.Edge == edge {
				return x.Peer
			}
		}
	}
	return ""
}
