// This file makes pod fields from a network's placement. An edge avoids its peer, and nodes with an address of the
// edge.

package desired

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// nodeLossSeconds is how long an edge stays on a node that is not ready or unreachable.
const nodeLossSeconds = 30

func tolerations(p network.Placement) []*corev1ac.TolerationApplyConfiguration {
	var out []*corev1ac.TolerationApplyConfiguration
	for _, t := range p.Tolerations {
		out = append(out, toleration(t))
	}
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		out = append(out, corev1ac.Toleration().WithKey(key).WithOperator(corev1.TolerationOpExists).
			WithEffect(corev1.TaintEffectNoExecute).WithTolerationSeconds(nodeLossSeconds))
	}
	return out
}

func toleration(t network.Toleration) *corev1ac.TolerationApplyConfiguration {
	ac := corev1ac.Toleration()
	if t.Key != "" {
		ac.WithKey(t.Key)
	}
	if t.Operator != "" {
		ac.WithOperator(corev1.TolerationOperator(t.Operator))
	}
	if t.Value != "" {
		ac.WithValue(t.Value)
	}
	if t.Effect != "" {
		ac.WithEffect(corev1.TaintEffect(t.Effect))
	}
	if t.Seconds != nil {
		ac.WithTolerationSeconds(*t.Seconds)
	}
	return ac
}

// affinity returns an affinity that requires and forbids labels as p does. It prefers nodes that run VMs, and nodes
// that are not in away. A node in away has an address that the edge holds, so the edge receives no packets from it.
func affinity(p network.Placement, away []string) *corev1ac.AffinityApplyConfiguration {
	preferred := func(t *corev1ac.NodeSelectorTermApplyConfiguration) *corev1ac.PreferredSchedulingTermApplyConfiguration {
		return corev1ac.PreferredSchedulingTerm().WithWeight(100).WithPreference(t)
	}
	runsVMs := term(map[string]string{"kubevirt.io/schedulable": "true"})
	node := corev1ac.NodeAffinity().WithPreferredDuringSchedulingIgnoredDuringExecution(preferred(runsVMs))
	if len(away) > 0 {
		others := corev1ac.NodeSelectorTerm()
		for _, name := range away { // Kubernetes allows only one value for a field.
			others.WithMatchFields(corev1ac.NodeSelectorRequirement().
				WithKey(metav1.ObjectNameField).WithOperator(corev1.NodeSelectorOpNotIn).WithValues(name))
		}
		node.WithPreferredDuringSchedulingIgnoredDuringExecution(preferred(others))
	}
	var terms []*corev1ac.NodeSelectorTermApplyConfiguration
	for _, labels := range p.NodeSelectors {
		terms = append(terms, term(labels))
	}
	if len(p.WithoutLabels) > 0 && len(terms) == 0 {
		terms = append(terms, corev1ac.NodeSelectorTerm())
	}
	for _, t := range terms {
		for _, key := range p.WithoutLabels {
			t.WithMatchExpressions(corev1ac.NodeSelectorRequirement().WithKey(key).WithOperator(corev1.NodeSelectorOpDoesNotExist))
		}
	}
	if len(terms) > 0 {
		node.WithRequiredDuringSchedulingIgnoredDuringExecution(corev1ac.NodeSelector().WithNodeSelectorTerms(terms...))
	}
	return corev1ac.Affinity().WithNodeAffinity(node)
}

// spread returns a constraint that puts the edges of n on different nodes if two are eligible, else on the same one.
// The scheduler counts the nodes: a count in the template would recreate edges when a node is added. Nodes that are
// cordoned, not ready or tainted count as well. So an edge that is drained from one of two nodes waits for that node.
func spread(n network.Network) *corev1ac.TopologySpreadConstraintApplyConfiguration {
	return corev1ac.TopologySpreadConstraint().
		WithMaxSkew(1).
		WithTopologyKey(corev1.LabelHostname).
		WithWhenUnsatisfiable(corev1.DoNotSchedule).
		WithNodeAffinityPolicy(corev1.NodeInclusionPolicyHonor).
		WithNodeTaintsPolicy(corev1.NodeInclusionPolicyIgnore).
		WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(wire.EdgesOf(n)))
}

// Avoided returns the nodes that d's pod prefers to avoid.
func Avoided(d appsv1.Deployment) []string {
	affinity := d.Spec.Template.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil {
		return nil
	}
	var out []string
	for _, t := range affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		for _, f := range t.Preference.MatchFields {
			out = append(out, f.Values...)
		}
	}
	return out
}

func term(labels map[string]string) *corev1ac.NodeSelectorTermApplyConfiguration {
	t := corev1ac.NodeSelectorTerm()
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		t.WithMatchExpressions(corev1ac.NodeSelectorRequirement().WithKey(key).WithOperator(corev1.NodeSelectorOpIn).WithValues(labels[key]))
	}
	return t
}
