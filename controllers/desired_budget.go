// This file holds the PodDisruptionBudget of a network's edges. It is pure. Package
// rollout decides when there is one.

package controllers

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// budget allows one edge of n to be drained at a time. An edge that is not ready never
// blocks the drain of its own node.
func budget(n network.Network, ns string) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	return policyv1ac.PodDisruptionBudget(wire.BudgetName(n), ns).
		WithLabels(wire.NetworkLabels(wire.NameEdge, n)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMaxUnavailable(intstr.FromInt32(1)).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(wire.EdgesOf(n))))
}
