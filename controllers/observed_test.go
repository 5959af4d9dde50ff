package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/network"
)

// TestObserved: a status is about a spec, not about annotations.
func TestObserved(t *testing.T) {
	of := func(uid types.UID, generation, observed int64, replicas int32) appsv1.Deployment {
		d := appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &replicas}}
		d.UID, d.Generation, d.Status.ObservedGeneration = uid, generation, observed
		return d
	}
	for name, test := range map[string]struct {
		before []appsv1.Deployment
		now    appsv1.Deployment
		is     bool
	}{
		"observed":                         {nil, of("a", 3, 3, 1), true},
		"not observed, nothing known":      {nil, of("a", 3, 2, 1), false},
		"annotated":                        {[]appsv1.Deployment{of("a", 2, 2, 1)}, of("a", 3, 2, 1), true},
		"annotated twice":                  {[]appsv1.Deployment{of("a", 2, 2, 1), of("a", 3, 2, 1)}, of("a", 4, 2, 1), true},
		"another spec":                     {[]appsv1.Deployment{of("a", 2, 2, 1)}, of("a", 3, 2, 0), false},
		"another spec, then annotated":     {[]appsv1.Deployment{of("a", 2, 2, 1), of("a", 3, 2, 0)}, of("a", 4, 2, 0), false},
		"the former spec, another status":  {[]appsv1.Deployment{of("a", 2, 2, 1)}, of("a", 4, 3, 1), false},
		"another Deployment of that name":  {[]appsv1.Deployment{of("a", 2, 2, 1)}, of("b", 3, 2, 1), false},
		"annotated after a spec was there": {[]appsv1.Deployment{of("a", 2, 2, 1), of("a", 3, 3, 0)}, of("a", 4, 3, 0), true},
	} {
		t.Run(name, func(t *testing.T) {
			o := &observedSpecs{}
			for _, d := range test.before {
				o.settled(d)
			}
			d := o.settled(test.now)
			NewWithT(t).Expect(d.Status.ObservedGeneration >= d.Generation).To(Equal(test.is))
		})
	}
}

// testAnnotatedEdges: annotations of Deployments are no news of edges, also if the operator writes them.
func testAnnotatedEdges(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "annotated")
	said, told := h.says(t)(), len(h.told(t, string(network.EdgeNotReady))())
	for _, annotation := range []string{"example.com/seen", desiredAnnotation} {
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
			}).WithTimeout(patience).Should(BeNumerically(">=", d.Generation))
			again(t, r, h)
			g.Expect(h.says(t)()).To(Equal(said))
		}
	}
	for _, d := range h.deployments(t, "vlan100") {
		g.Expect(d.Annotations[desiredAnnotation]).NotTo(Equal("x"), "the operator wrote it, too")
	}
	g.Expect(h.told(t, string(network.EdgeNotReady))()).To(HaveLen(told))

	one := h.deployments(t, "vlan100")[0]
	g.Expect(s.admin.Patch(t.Context(), &one, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"minReadySeconds":7}}`)))).To(Succeed())
	g.Eventually(h.says(t)).WithTimeout(patience).Should(ContainSubstring(one.Name+" is not ready"), "another spec is")
	h.edgeServes(t)
	h.wellServed(t)
}
