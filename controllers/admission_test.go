package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// testPodSecurity: the API server's own admission takes the pods of the edge and
// of the operator in namespaces that enforce the level restricted, and would not
// take others.
func testPodSecurity(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "restricted")
	for ns, name := range map[string]string{h.ns: h.edge(), "oooi-system": "oooi"} {
		g.Expect(s.admin.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}},
			client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)))).To(Succeed())
		d := &appsv1.Deployment{}
		g.Expect(s.admin.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: name}, d)).To(Succeed(), name)
		pod := &corev1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
		pod.Namespace, pod.Name = ns, "try"
		// HyperShift's class is not there; the test is about security.
		pod.Spec.PriorityClassName = ""
		g.Expect(s.admin.Create(t.Context(), pod.DeepCopy(), client.DryRunAll)).To(Succeed())
		pod.Spec.Containers[0].SecurityContext.Capabilities = nil
		g.Expect(apierrors.IsForbidden(s.admin.Create(t.Context(), pod, client.DryRunAll))).To(BeTrue(), "the admission is there")
	}
}
