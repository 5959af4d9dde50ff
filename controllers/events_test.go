package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network/problem"
)

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
