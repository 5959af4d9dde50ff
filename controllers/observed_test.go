package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/network/problem"
)

// testAnnotatedEdges: annotations of Deployments change nothing of edges, even if the operator writes them.
func testAnnotatedEdges(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "annotated")
	said, told := h.says(t)(), len(h.told(t, string(problem.EdgeNotReady))())
	for _, annotation := range []string{"example.com/seen", own.DesiredAnnotation} {
		for _, d := range h.deployments(t, "vlan100") {
			before := d.DeepCopy()
			d.Annotations[annotation] = "x"
			g.Expect(s.admin.Patch(t.Context(), &d, client.MergeFrom(before))).To(Succeed())
			g.Expect(d.Generation).To(BeNumerically(">", d.Status.ObservedGeneration))
			g.Eventually(func() int64 {
				again(t, r, h)
				cached := &appsv1.Deployment{}
				g.Expect(r.Client.Get(t.Context(), client.ObjectKeyFromObject(&d), cached)).To(Succeed())
				return cached.Generation
			}).Should(BeNumerically(">=", d.Generation))
			again(t, r, h)
			g.Expect(h.says(t)()).To(Equal(said))
		}
	}
	for _, d := range h.deployments(t, "vlan100") {
		g.Expect(d.Annotations[own.DesiredAnnotation]).NotTo(Equal("x"), "the operator wrote it, too")
	}
	g.Expect(h.told(t, string(problem.EdgeNotReady))()).To(HaveLen(told))

	one := h.deployments(t, "vlan100")[0]
	g.Expect(s.admin.Patch(t.Context(), &one, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"minReadySeconds":7}}`)))).To(Succeed())
	g.Eventually(h.says(t)).Should(ContainSubstring(one.Name+" is not ready"), "another spec is")
	h.edgeServes(t)
	h.wellServed(t)
}
