package controllers

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/test/golden"
)

// testStoriesAreAccepted: what each story ends with is what a real API server
// takes from the operator's account, and what Pod Security restricted lets run.
func testStoriesAreAccepted(t *testing.T, s *apiServer, _ *Reconciler) {
	for _, story := range golden.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			g := NewWithT(t)
			w := worldOf(t, story)
			d, all := writtenFor(t, &w)
			if d.Action != decide.Serve {
				return
			}
			operator, ns := s.writerIn(t, w), hcp.ControlPlaneNamespace(w.HostedCluster)
			for _, u := range all {
				options := []client.ApplyOption{client.FieldOwner(wire.Owner), client.DryRunAll}
				if u.GroupVersionKind() == own.RoleKind {
					options = options[:1] // Its binding is refused without it.
				}
				g.Expect(operator.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u.DeepCopy()), options...)).
					To(Succeed(), "%s %s", u.GetKind(), u.GetName())
			}
			for _, n := range d.Plan.Networks {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "try"}}
				for _, e := range n.Edges {
					pod.Spec = podOf(t, w, desired.EdgeDeployment(n, e, testOptions.Release, ns, anywhere))
					g.Expect(s.admin.Create(t.Context(), pod.DeepCopy(), client.DryRunAll)).To(Succeed(), "the pod of %s", wire.EdgeDeploymentName(n, e))
				}
				pod.Spec = podOf(t, w, desired.ACDDeployment(n, testOptions.Release, ns, anywhere))
				g.Expect(s.admin.Create(t.Context(), pod.DeepCopy(), client.DryRunAll)).To(Succeed(), "the pod of %s", wire.ACDDeploymentName(n))
			}
		})
	}
}

// writtenFor are all objects that the operator writes for w: while addresses are checked, and once no
// other host has them, as w and d are then. A cluster that is not served has none.
func writtenFor(t *testing.T, w *gather.World) (d decide.Decision, all []*unstructured.Unstructured) {
	t.Helper()
	if d = decide.About(*w, testOptions.Release, testNow); d.Action != decide.Serve {
		return d, nil
	}
	all = append(all, d.Desired...)
	w.Edges = edgesOf(checked(t, *w, d.Plan)...)
	d = decide.About(*w, testOptions.Release, testNow)
	return d, slices.Concat(all, d.Desired, []*unstructured.Unstructured{own.Binding(w.ControlPlane, testOptions.ServiceAccount)})
}

// podOf is the pod of d, without HyperShift's PriorityClass, which is not there.
func podOf(t *testing.T, w gather.World, d any) corev1.PodSpec {
	t.Helper()
	pod := made(t, own.Object(w.ControlPlane, d)).Spec.Template.Spec
	pod.PriorityClassName = ""
	return pod
}
