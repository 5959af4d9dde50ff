// This file decides the PodDisruptionBudget over the two edges of a network. It is
// pure. One edge alone has none: it would stop every drain of its node.

package controllers

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// budget lets one edge of n be drained at a time. One that does not serve is no
// reason to keep a node.
func budget(n network.Network, ns string) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	return policyv1ac.PodDisruptionBudget(wire.BudgetName(n), ns).
		WithLabels(wire.NetworkLabels(wire.NameEdge, n)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMaxUnavailable(intstr.FromInt32(1)).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(wire.EdgesOf(n))))
}

// drainable is desired without the budgets over edges of which one is late: it would
// hold the other one's node for as long as that is so, maybe for ever.
func drainable(desired []*unstructured.Unstructured, late map[string]bool) []*unstructured.Unstructured {
	lacks := map[string]bool{}
	for _, u := range desired {
		if isDesiredEdge(u) && late[u.GetName()] {
			lacks[u.GetLabels()[wire.LabelNetwork]] = true
		}
	}
	return slices.DeleteFunc(desired, func(u *unstructured.Unstructured) bool {
		return u.GroupVersionKind() == budgetKind && lacks[u.GetLabels()[wire.LabelNetwork]]
	})
}
