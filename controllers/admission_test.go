package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
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

// TestEdgesKeepToTheirLeases: the rights of an edge are over every Lease where it
// runs; the policy, made with the operator's own rights, leaves it its own.
func TestEdgesKeepToTheirLeases(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	const ns = "clusters-blue"
	g.Expect(s.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
	g.Expect(s.admin.Apply(t.Context(), roleBinding(wire.ServiceAccount, ns, wire.ServiceAccount, ns), client.FieldOwner("test"))).To(Succeed())
	edge := s.as(t, ns, wire.ServiceAccount, s.admin.Scheme())
	lease := func(name string, labels map[string]string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels}}
	}
	leader := lease("kube-controller-manager", nil)
	g.Expect(edge.Create(t.Context(), leader.DeepCopy(), client.DryRunAll)).To(Succeed(), "RBAC allows it")
	scheme := runtime.NewScheme()
	g.Expect(AddToScheme(scheme)).To(Succeed())
	operator := s.as(t, "oooi-system", "oooi", scheme)
	keeper := &admission{client: operator, live: operator}
	g.Expect(keeper.keep(t.Context())).To(Succeed())
	g.Eventually(func() error { return edge.Create(t.Context(), leader.DeepCopy(), client.DryRunAll) }).WithTimeout(patience).
		Should(MatchError(ContainSubstring("begins with oooi.")), "the policy is in force")

	for _, name := range []string{"oooi.clusters.vlan100.192.168.100.10", "oooi-report.oooi-edge-clusters-vlan100-1"} {
		l := lease(name, ownedLabels())
		g.Expect(edge.Create(t.Context(), l)).To(Succeed(), name)
		l.Annotations = map[string]string{"x": "y"}
		g.Expect(edge.Update(t.Context(), l)).To(Succeed(), name)
		g.Expect(edge.Delete(t.Context(), l)).To(Succeed(), name)
	}
	g.Expect(s.admin.Create(t.Context(), leader)).To(Succeed(), "nobody else is concerned")
	foreign := lease("oooi.foreign", map[string]string{wire.LabelPartOf: wire.Owner})
	g.Expect(s.admin.Create(t.Context(), foreign)).To(Succeed())
	claimed := foreign.DeepCopy()
	claimed.Labels = ownedLabels()
	own := lease("oooi.own", ownedLabels())
	g.Expect(edge.Create(t.Context(), own)).To(Succeed())
	own.Labels = nil
	for what, err := range map[string]error{
		"takes the controller manager's":    edge.Update(t.Context(), leader),
		"removes it":                        edge.Delete(t.Context(), leader),
		"labels another as its own":         edge.Create(t.Context(), lease("kube-scheduler", ownedLabels())),
		"names one nearly like its own":     edge.Create(t.Context(), lease("oooi-reports.x", ownedLabels())),
		"makes one without labels":          edge.Create(t.Context(), lease("oooi.x", nil)),
		"makes one with another's label":    edge.Create(t.Context(), lease("oooi.x", map[string]string{wire.LabelPartOf: wire.Owner, wire.LabelManagedBy: "helm"})),
		"takes the labels off its own":      edge.Update(t.Context(), own),
		"makes a foreign one its own":       edge.Update(t.Context(), claimed),
		"removes a foreign one of its name": edge.Delete(t.Context(), foreign),
	} {
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "an edge %s: %v", what, err)
	}

	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: leasePolicy}}
	g.Expect(s.admin.Get(t.Context(), client.ObjectKeyFromObject(policy), policy)).To(Succeed())
	g.Expect(policy.OwnerReferences).To(HaveLen(1), "it goes with the role")
	version := policy.ResourceVersion
	g.Expect(keeper.keep(t.Context())).To(Succeed())
	g.Expect(s.admin.Get(t.Context(), client.ObjectKeyFromObject(policy), policy)).To(Succeed())
	g.Expect(policy.ResourceVersion).To(Equal(version), "what is as it should be is not written")
	policy.Name, policy.ResourceVersion = "another", ""
	g.Expect(apierrors.IsForbidden(operator.Create(t.Context(), policy))).To(BeTrue(), "the operator makes no other")
}

// as is a client with the rights of one ServiceAccount, that knows some kinds.
func (s *apiServer) as(t *testing.T, ns, name string, scheme *runtime.Scheme) client.Client {
	t.Helper()
	conf := rest.CopyConfig(s.operator)
	conf.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + ns + ":" + name, Groups: []string{"system:authenticated", "system:serviceaccounts"}}
	c, err := client.New(conf, client.Options{Scheme: scheme})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}
