package controllers

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network/problem"
)

// deletions are the requests of the operator so far that delete an object at this path.
func (s *apiServer) deletions(path string) int {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	n := 0
	for _, x := range s.requests.all {
		if x == "DELETE "+path {
			n++
		}
	}
	return n
}

// testRemovalHeld: an object that a finalizer keeps is named, and deleted once. All else is removed.
func testRemovalHeld(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "stuck")
	plan := ownObject{own.ConfigMapKind, wire.PlanConfigMap}
	g.Expect(h.finalize(t, plan, "example.com/other")).To(Succeed())
	h.annotate(t, "network", "none")
	g.Eventually(h.says(t)).Should(And(HavePrefix(string(problem.Removing)),
		ContainSubstring("ConfigMap oooi-plan"), ContainSubstring("example.com/other"), ContainSubstring("no edge exists")))
	g.Expect(h.condition(t).Status).To(Equal(metav1.ConditionFalse))
	g.Expect(h.names(t)()).To(BeEmpty())
	for range 3 {
		again(t, r, h)
	}
	g.Expect(s.deletions(fmt.Sprintf("/api/v1/namespaces/%s/configmaps/%s", h.ns, plan.name))).To(Equal(1))
	g.Eventually(h.told(t, string(problem.Removing))).Should(HaveLen(1))
	g.Expect(h.finalize(t, plan)).To(Succeed())
	g.Eventually(h.reason(t)).Should(BeEmpty())
	g.Expect(h.snapshot(t)).To(BeEmpty())
}

// testRemovalOfAnEdgeHeld: what an edge depends on is there while the edge is.
func testRemovalOfAnEdgeHeld(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "stays")
	edge := ownObject{own.DeploymentKind, h.edge()}
	g.Expect(h.finalize(t, edge, "example.com/other")).To(Succeed())
	h.annotate(t, "network", "none")
	g.Eventually(h.says(t)).Should(And(HavePrefix(string(problem.Removing)),
		ContainSubstring("Deployment "+edge.name), ContainSubstring("At least one edge still exists")))
	g.Expect(h.names(t)()).To(ConsistOf(edge.name))
	g.Expect(h.snapshot(t)).To(And(HaveKey("NetworkPolicy "+desired.EdgePolicy), HaveKey("ConfigMap "+wire.PlanConfigMap), HaveKey("RoleBinding "+wire.ServiceAccount)))
	g.Expect(h.finalize(t, edge)).To(Succeed())
	g.Eventually(h.reason(t)).Should(BeEmpty())
	g.Expect(h.snapshot(t)).To(BeEmpty())
}
