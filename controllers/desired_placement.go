// This file decides on which nodes an edge may run: where the machines of its
// network may, and where the control plane's own pods are let. It is pure.

package controllers

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/cldmnky/oooi/network"
)

// nodeLossSeconds is how long an edge stays on a node that nobody hears of.
const nodeLossSeconds = 30

// tolerations are those of HyperShift's control plane pods, and a shorter
// patience with a lost node.
func tolerations(w world) []*corev1ac.TolerationApplyConfiguration {
	out := []*corev1ac.TolerationApplyConfiguration{
		tolerate("hypershift.openshift.io/control-plane", "true"),
		tolerate("hypershift.openshift.io/cluster", w.controlPlane.Namespace),
	}
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		out = append(out, corev1ac.Toleration().WithKey(key).WithOperator(corev1.TolerationOpExists).
			WithEffect(corev1.TaintEffectNoExecute).WithTolerationSeconds(nodeLossSeconds))
	}
	for _, t := range w.HostedCluster.Spec.Tolerations {
		out = append(out, toleration(t))
	}
	return out
}

func tolerate(key, value string) *corev1ac.TolerationApplyConfiguration {
	return corev1ac.Toleration().WithKey(key).WithOperator(corev1.TolerationOpEqual).WithValue(value).WithEffect(corev1.TaintEffectNoSchedule)
}

func toleration(t corev1.Toleration) *corev1ac.TolerationApplyConfiguration {
	ac := corev1ac.Toleration()
	if t.Key != "" {
		ac.WithKey(t.Key)
	}
	if t.Operator != "" {
		ac.WithOperator(t.Operator)
	}
	if t.Value != "" {
		ac.WithValue(t.Value)
	}
	if t.Effect != "" {
		ac.WithEffect(t.Effect)
	}
	if t.TolerationSeconds != nil {
		ac.WithTolerationSeconds(*t.TolerationSeconds)
	}
	return ac
}

// affinity keeps an edge to nodes that some NodePool of n selects for its
// machines, as only they need have the VLAN, and prefers nodes that run
// virtual machines at all.
func affinity(w world, n network.Network) *corev1ac.AffinityApplyConfiguration {
	node := corev1ac.NodeAffinity().WithPreferredDuringSchedulingIgnoredDuringExecution(
		corev1ac.PreferredSchedulingTerm().WithWeight(100).WithPreference(term(map[string]string{"kubevirt.io/schedulable": "true"})))
	if terms := nodeTerms(w, n); len(terms) > 0 {
		node.WithRequiredDuringSchedulingIgnoredDuringExecution(corev1ac.NodeSelector().WithNodeSelectorTerms(terms...))
	}
	return corev1ac.Affinity().WithNodeAffinity(node)
}

// nodeTerms is one term for each selector that NodePools have, however many have
// it: one more NodePool of the same nodes starts no edge anew. Where one selects
// nothing, neither do we.
func nodeTerms(w world, n network.Network) []*corev1ac.NodeSelectorTermApplyConfiguration {
	selectors := map[string]map[string]string{}
	for _, np := range w.NodePools {
		if slices.Contains(n.NodePools, np.Name) && np.Spec.Platform.Kubevirt != nil {
			selectors[np.Name] = np.Spec.Platform.Kubevirt.NodeSelector
		}
	}
	var terms []*corev1ac.NodeSelectorTermApplyConfiguration
	var seen []map[string]string
	for _, name := range slices.Sorted(maps.Keys(selectors)) {
		if len(selectors[name]) == 0 {
			return nil
		}
		if !slices.ContainsFunc(seen, func(x map[string]string) bool { return maps.Equal(x, selectors[name]) }) {
			seen = append(seen, selectors[name])
			terms = append(terms, term(selectors[name]))
		}
	}
	return terms
}

func term(labels map[string]string) *corev1ac.NodeSelectorTermApplyConfiguration {
	t := corev1ac.NodeSelectorTerm()
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		t.WithMatchExpressions(corev1ac.NodeSelectorRequirement().WithKey(key).WithOperator(corev1.NodeSelectorOpIn).WithValues(labels[key]))
	}
	return t
}
