// This file holds the PodDisruptionBudget of a network's edges, and the data that is stored with it. Package rollout
// decides about the budget and the data.

package desired

import (
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// HeldAnnotation of a PodDisruptionBudget holds rollout.Decision.HeldSince (RFC 3339), so that it survives a restart of
// the operator. Only the operator writes it. It is kept for 20 minutes, so that a report that comes and goes does not
// prolong a hold.
const HeldAnnotation = wire.Prefix + "held-since"

// MaintainedAnnotation of a PodDisruptionBudget holds rollout.Decision.MaintainedAt (RFC 3339), for the same reason.
const MaintainedAnnotation = wire.Prefix + "maintained-at"

// Budget returns the PodDisruptionBudget that allows one edge of n to be drained at a time, or none while d holds the
// edges. An edge that is not ready never prevents a drain of its own node.
func Budget(n network.Network, ns string, d rollout.Decision) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	unavailable := int32(1)
	if d.Held {
		unavailable = 0
	}
	b := policyv1ac.PodDisruptionBudget(wire.BudgetName(n), ns).
		WithLabels(wire.NetworkLabels(wire.NameEdge, n)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMaxUnavailable(intstr.FromInt32(unavailable)).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(wire.EdgesOf(n))))
	for key, at := range map[string]time.Time{HeldAnnotation: d.HeldSince, MaintainedAnnotation: d.MaintainedAt} {
		if !at.IsZero() {
			b.WithAnnotations(map[string]string{key: at.UTC().Format(time.RFC3339)})
		}
	}
	return b
}
