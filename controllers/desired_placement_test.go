package controllers

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	labeloperator "k8s.io/apimachinery/pkg/selection"

	"github.com/cldmnky/oooi/controllers/decide"
)

// TestWhereTheUserSays: instead of where machines run.
func TestWhereTheUserSays(t *testing.T) {
	g := NewWithT(t)
	w, _ := served(t, "lb-ip")
	w.NodePools[0].Spec.Platform.Kubevirt.NodeSelector = map[string]string{"rack": "a"}
	w.HostedCluster.Annotations = annotated(w, "edge-node-selector", "vlan100=yes,node-role.kubernetes.io/infra=")
	terms := edge(t, w, decide.About(w, testOptions.Release, testNow).Plan).Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	g.Expect(terms).To(Equal([]corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: "node-role.kubernetes.io/infra", Operator: corev1.NodeSelectorOpIn, Values: []string{""}},
		{Key: "vlan100", Operator: corev1.NodeSelectorOpIn, Values: []string{"yes"}}}}}))
}

// TestNotOnControlPlaneNodes: an author sets tolerations, and names a control plane node by its
// host name or not at all. The scheduler finds that the node does not match, unless the
// administrator permits these nodes.
func TestNotOnControlPlaneNodes(t *testing.T) {
	master := labels.Set{corev1.LabelHostname: "master-0", "node-role.kubernetes.io/master": "", "node-role.kubernetes.io/control-plane": ""}
	worker := labels.Set{corev1.LabelHostname: "worker-0"}
	all := corev1.Toleration{Operator: corev1.TolerationOpExists}
	for name, c := range map[string]struct {
		selector         string
		toleration       corev1.Toleration
		permitted        []string
		onMaster, onWork bool
	}{
		"its host name":            {selector: "kubernetes.io/hostname=master-0", toleration: all},
		"no selector":              {toleration: corev1.Toleration{Key: "node-role.kubernetes.io/master", Operator: corev1.TolerationOpExists}, onWork: true},
		"permitted":                {selector: "kubernetes.io/hostname=master-0", toleration: all, permitted: []string{"*"}, onMaster: true},
		"control planes of guests": {toleration: corev1.Toleration{Key: "hypershift.openshift.io/control-plane", Operator: corev1.TolerationOpExists}, onMaster: true, onWork: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, _ := served(t, "lb-ip")
			w.HostedCluster.Spec.Tolerations, w.Permissions.NodeLabels = []corev1.Toleration{c.toleration}, c.permitted
			if c.selector != "" {
				w.HostedCluster.Annotations = annotated(w, "edge-node-selector", c.selector)
			}
			required := edge(t, w, decide.About(w, testOptions.Release, testNow).Plan).Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
			g.Expect(schedulable(t, required, master)).To(Equal(c.onMaster))
			g.Expect(schedulable(t, required, worker)).To(Equal(c.onWork))
		})
	}
}

// schedulable reports whether the scheduler finds that a node matches required.
func schedulable(t *testing.T, required *corev1.NodeSelector, node labels.Set) bool {
	t.Helper()
	operators := map[corev1.NodeSelectorOperator]labeloperator.Operator{corev1.NodeSelectorOpIn: labeloperator.In, corev1.NodeSelectorOpDoesNotExist: labeloperator.DoesNotExist}
	return required == nil || slices.ContainsFunc(required.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		all := labels.NewSelector()
		for _, e := range term.MatchExpressions {
			r, err := labels.NewRequirement(e.Key, operators[e.Operator], e.Values)
			if err != nil {
				t.Fatal(err)
			}
			all = all.Add(*r)
		}
		return all.Matches(node)
	})
}
