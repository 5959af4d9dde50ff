package controllers

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestNodesMakeNoEdgeAnew: which node has a published address is heeded when a pod is
// made anew, and is no reason to make one anew.
func TestNodesMakeNoEdgeAnew(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "lb-ip")
	at := plan.Networks[0].PublishedAddresses[0]
	owner := func(name string, a netip.Addr) []corev1.Node {
		n := corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: a.String()}}}}
		n.Name = name
		return []corev1.Node{n}
	}
	w.Nodes = owner("a", at)
	now := func() appsv1.Deployment {
		n := plan.Networks[0]
		return made(t, object(w, edgeDeployment(w, n, n.Edges[0], testOptions, plan.Cluster.ControlPlaneNamespace)))
	}
	before := running(now())
	g.Expect(avoided(before)).To(Equal([]string{"a"}))
	for what, nodes := range map[string][]corev1.Node{
		"it has gone": nil, "another has its address": owner("b", at), "it has another address": owner("a", netip.MustParseAddr("172.16.0.9")),
	} {
		w.Nodes = nodes
		w.edges = []appsv1.Deployment{before}
		as := now()
		g.Expect(as.Annotations).To(Equal(before.Annotations), what)
		g.Expect(as.Spec.Template).To(Equal(before.Spec.Template), what)
		w.set(before.Name, older)
		g.Expect(avoided(now())).To(Equal(publishedNodes(w, plan.Networks[0])), what)
	}
}
