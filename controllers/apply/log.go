// This file logs what the operator applied, recreated, held or removed for one hosted cluster, and why. Messages are
// constant. Values are keys, always with "cluster". Only changes are logged.

package apply

import (
	"cmp"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
)

// logApplied logs an object that a write changed, or created if existed is false.
func logApplied(log logr.Logger, d decide.Decision, u *unstructured.Unstructured, existed bool) {
	step, isEdge := d.StepOf(u.GetName())
	switch {
	case u.GroupVersionKind() == own.DeploymentKind && isEdge:
		LogStep(log, d, step)
	case u.GroupVersionKind() == own.DeploymentKind && existed:
		log.Info("address conflict detection updated", "network", u.GetLabels()[wire.LabelNetwork], "deployment", u.GetName())
	case u.GroupVersionKind() == own.DeploymentKind:
		log.Info("address conflict detection started", "network", u.GetLabels()[wire.LabelNetwork], "deployment", u.GetName())
	case u.GroupVersionKind() == own.ConfigMapKind:
		var networks []string
		for _, n := range d.Plan.Networks {
			networks = append(networks, n.Attachment.String())
		}
		log.Info("plan applied", "networks", networks)
	default:
		log.Info("object applied", "kind", u.GetKind(), "name", u.GetName())
	}
}

// LogStep logs what happened to one edge, with its version and health before the step.
func LogStep(log logr.Logger, d decide.Decision, s rollout.Step) {
	keys := []any{"network", d.LabelOf(s.Name), "edge", s.Name, "version", s.Version, "health", s.Health}
	if peer := cmp.Or(s.Peer, d.TakesOver(s.Name)); peer != "" {
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

func logRemoved(log logr.Logger, d decide.Decision, o metav1.PartialObjectMetadata) {
	step, isEdge := d.StepOf(o.Name)
	switch {
	case o.GroupVersionKind() == own.DeploymentKind && isEdge && step.Action == rollout.Remove:
		LogStep(log, d, step)
	case o.GroupVersionKind() == own.DeploymentKind && o.Labels[wire.LabelName] == wire.NameACD:
		log.Info("address conflict detection ended", "network", o.Labels[wire.LabelNetwork], "deployment", o.Name)
	default:
		log.Info("object removed", "kind", o.Kind, "name", o.Name)
	}
}
