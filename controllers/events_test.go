package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network/problem"
)

// TestConditionOfAStaleCache: the condition that was written last counts until the cache has it, or a
// newer one.
func TestConditionOfAStaleCache(t *testing.T) {
	written := metav1.Condition{Type: own.ConditionType, Status: metav1.ConditionFalse, Reason: "EdgeNotReady"}
	for name, c := range map[string]struct {
		version string
		known   *gather.LastReport
		want    string
	}{
		"nothing is known":         {"11", nil, "Cached"},
		"the cache is older":       {"9", &gather.LastReport{Condition: &written, Version: "12"}, "EdgeNotReady"},
		"the cache is as new":      {"12", &gather.LastReport{Condition: &written, Version: "12"}, "Cached"},
		"someone else wrote later": {"13", &gather.LastReport{Condition: &written, Version: "12"}, "Cached"},
		"it was removed":           {"11", &gather.LastReport{Version: "12"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{ResourceVersion: c.version}}
			hc.Status.Conditions = []metav1.Condition{{Type: "Available"}, {Type: own.ConditionType, Reason: "Cached"}}
			c.known.Overlay(hc)
			got := ""
			if found := own.ConditionOf(hc); found != nil {
				got = found.Reason
			}
			g.Expect(got).To(Equal(c.want))
			g.Expect(hc.Status.Conditions[0].Type).To(Equal("Available"))
		})
	}
}

// testEvents: one for each verdict, on the object that was annotated, however late the operator's
// cache has the verdict.
func testEvents(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.newHosted(t, "events", nil)
	g.Eventually(h.reason(t)).Should(BeEquivalentTo(problem.WaitingForControlPlane))
	h.publish(t)
	g.Eventually(h.reason(t)).Should(BeEquivalentTo(problem.AddressCheckPending))
	h.edgeServes(t)
	h.wellServed(t)
	h.annotate(t, "network", "none")
	count := func() map[string]int32 {
		list := &eventsv1.EventList{}
		g.Expect(s.admin.List(t.Context(), list, client.InNamespace(h.key.Namespace))).To(Succeed())
		out := map[string]int32{}
		for _, e := range list.Items {
			// The operator may see the HostedCluster before its NodePool.
			early := e.Reason == string(problem.WaitingForNetwork)
			if e.Regarding.Name == h.key.Name && e.Regarding.Kind == "HostedCluster" && !early {
				out[e.Reason]++
				if e.Series != nil {
					out[e.Reason] += e.Series.Count - 1
				}
			}
		}
		return out
	}
	g.Eventually(count).Should(HaveKey("OptedOut"))
	again(t, r, h)
	g.Expect(count()).To(And(HaveEach(int32(1)), HaveKey(string(problem.WaitingForControlPlane)), HaveKey(string(problem.AddressCheckPending)),
		HaveKey(string(problem.EdgeNotReady)), HaveKey(string(explain.ReadyWithWarnings))))
}
