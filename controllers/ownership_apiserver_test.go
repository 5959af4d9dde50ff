package controllers

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// An ownObject is one object of a cluster that is served.
type ownObject struct {
	kind schema.GroupVersionKind
	name string
}

// ownObjects are the objects of h that are desired.
func (h hosted) ownObjects() []ownObject {
	n := h.network("vlan100")
	return []ownObject{
		{own.ConfigMapKind, wire.PlanConfigMap}, {own.ServiceAccountKind, wire.ServiceAccount},
		{own.RoleKind, wire.ServiceAccount}, {own.RoleBindingKind, wire.ServiceAccount},
		{own.RoleBindingKind, own.ControlPlaneRole}, {own.NetworkPolicyKind, desired.EdgePolicy}, {own.BudgetKind, wire.BudgetName(n)},
		{own.DefinitionKind, wire.EdgeNADName(n)}, {own.DeploymentKind, wire.EdgeDeploymentName(n, network.Edge{Number: 2})},
	}
}

// get is an object of h. Nil: there is none.
func (h hosted) get(t *testing.T, o ownObject) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(o.kind)
	err := h.admin.Get(t.Context(), client.ObjectKey{Namespace: h.ns, Name: o.name}, u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return u
}

// testHealing: what another client deletes or changes of any object of oooi is restored: within 5 s, which
// the long run holds.
func testHealing(t *testing.T, s *apiServer, _ *Reconciler) {
	h := s.served(t, "heals")
	within := patience.Limit
	if programs.Long() {
		within = 5 * time.Second
	}
	for _, o := range h.ownObjects() {
		before := h.get(t, o)
		same := func(u *unstructured.Unstructured) bool {
			return u != nil && reflect.DeepEqual(u.Object["spec"], before.Object["spec"]) && reflect.DeepEqual(u.Object["data"], before.Object["data"]) &&
				reflect.DeepEqual(u.Object["subjects"], before.Object["subjects"]) && reflect.DeepEqual(u.Object["rules"], before.Object["rules"]) &&
				reflect.DeepEqual(u.GetLabels(), before.GetLabels()) &&
				reflect.DeepEqual(u.GetOwnerReferences(), before.GetOwnerReferences())
		}
		patch := func(text string) func(*WithT) {
			return func(g *WithT) {
				u := h.get(t, o)
				g.Expect(s.admin.Patch(t.Context(), u, client.RawPatch(types.MergePatchType, []byte(text)))).To(Succeed())
				g.Expect(same(u)).To(BeFalse())
			}
		}
		for what, do := range map[string]func(*WithT){
			"deleted":                 func(g *WithT) { g.Expect(s.admin.Delete(t.Context(), before)).To(Succeed()) },
			"without labels":          patch(`{"metadata":{"labels":null}}`),
			"without an owner":        patch(`{"metadata":{"ownerReferences":null}}`),
			"with other fields":       patch(edits(o.kind)),
			"with further fields":     patch(additions(t, before)),
			"finalized by others":     func(g *WithT) { g.Expect(h.finalize(t, o, "example.com/other")).To(Succeed()) },
			"not finalized by others": func(g *WithT) { g.Expect(h.finalize(t, o)).To(Succeed()) },
		} {
			t.Run(o.kind.Kind+" "+o.name+" "+what, func(t *testing.T) {
				g := NewWithT(t)
				do(g)
				g.Eventually(func() bool { return same(h.get(t, o)) }).WithTimeout(within).Should(BeTrue())
			})
		}
	}
	t.Run("RoleBinding of another role", func(t *testing.T) { testBindingOfAnotherRole(t, h) })
	h.edgeServes(t)
	h.wellServed(t)
}

// testBindingOfAnotherRole: the API server changes the role of no binding, so the operator replaces it.
func testBindingOfAnotherRole(t *testing.T, h hosted) {
	g := NewWithT(t)
	for _, name := range []string{wire.ServiceAccount, own.ControlPlaneRole} {
		o := ownObject{own.RoleBindingKind, name}
		before := h.get(t, o)
		other := before.DeepCopy()
		other.SetResourceVersion("")
		other.SetFinalizers(nil)
		g.Expect(h.finalize(t, o)).To(Succeed())
		g.Expect(unstructured.SetNestedField(other.Object, "view", "roleRef", "name")).To(Succeed())
		g.Eventually(func() error { // The operator may be faster.
			g.Expect(client.IgnoreNotFound(h.admin.Delete(t.Context(), before))).To(Succeed())
			return h.admin.Create(t.Context(), other.DeepCopy())
		}).Should(Succeed())
		g.Eventually(func() any {
			if u := h.get(t, o); u != nil {
				return u.Object["roleRef"]
			}
			return nil
		}).Should(Equal(before.Object["roleRef"]), name)
	}
}

// edits is a patch of a field that oooi sets. A plan that is not readable would stay as it is.
func edits(kind schema.GroupVersionKind) string {
	switch kind {
	case own.ConfigMapKind:
		return `{"data":{"` + wire.PlanKey + `":"{\"networks\":[]}"}}`
	case own.RoleKind:
		return `{"rules":null}`
	case own.RoleBindingKind:
		return `{"subjects":null}`
	case own.NetworkPolicyKind:
		return `{"spec":{"egress":null}}`
	case own.BudgetKind:
		return `{"spec":{"maxUnavailable":2}}`
	case own.DefinitionKind:
		return `{"spec":{"config":"{}"}}`
	case own.DeploymentKind:
		return `{"spec":{"replicas":0}}`
	}
	return `{"metadata":{"labels":{"app.kubernetes.io/name":"other"}}}`
}

// additions is a patch that adds to o what gives it another meaning.
func additions(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	o = o.DeepCopy()
	add := func(element any, path ...string) {
		list, _, err := unstructured.NestedSlice(o.Object, path...)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(unstructured.SetNestedSlice(o.Object, append(list, element), path...)).To(Succeed())
	}
	label := func(path ...string) {
		NewWithT(t).Expect(unstructured.SetNestedField(o.Object, "label", append(path, "matchLabels", "further")...)).To(Succeed())
	}
	switch o.GroupVersionKind() {
	case own.NetworkPolicyKind:
		add(map[string]any{}, "spec", "egress")
		label("spec", "podSelector")
	case own.RoleKind:
		add(map[string]any{"apiGroups": []any{"apps"}, "resources": []any{"deployments"}, "verbs": []any{"create"}}, "rules")
	case own.RoleBindingKind:
		add(map[string]any{"kind": "ServiceAccount", "name": "default", "namespace": "default"}, "subjects")
	case own.BudgetKind:
		label("spec", "selector")
	default:
		return edits(o.GroupVersionKind())
	}
	o.Object = map[string]any{"spec": o.Object["spec"], "subjects": o.Object["subjects"], "rules": o.Object["rules"]}
	text, err := json.Marshal(o.Object)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// finalize replaces the finalizers of o.
func (h hosted) finalize(t *testing.T, o ownObject, finalizers ...string) error {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": finalizers}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return h.admin.Patch(t.Context(), h.get(t, o), client.RawPatch(types.MergePatchType, text))
}

// testForeignObject: an object of another client with a name of oooi is never written, and is named.
func testForeignObject(t *testing.T, s *apiServer, _ *Reconciler) {
	for i, foreign := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: wire.ServiceAccount}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: wire.PlanConfigMap}, Data: map[string]string{wire.PlanKey: "theirs"}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: wire.ServiceAccount, Labels: own.Labels()}},
	} {
		g := NewWithT(t)
		h := s.newHosted(t, fmt.Sprintf("theirs%d", i), nil)
		foreign.SetNamespace(h.ns)
		g.Expect(s.admin.Create(t.Context(), foreign)).To(Succeed())
		h.publish(t)
		g.Eventually(h.says(t)).Should(And(HavePrefix(string(problem.NotApplied)),
			ContainSubstring(h.ns+"/"+foreign.GetName()), ContainSubstring("oooi did not create it")))
		g.Expect(h.names(t)()).To(BeEmpty())
		now, _ := foreign.DeepCopyObject().(client.Object)
		g.Expect(s.admin.Get(t.Context(), client.ObjectKeyFromObject(foreign), now)).To(Succeed())
		g.Expect(now.GetResourceVersion()).To(Equal(foreign.GetResourceVersion()))
		g.Expect(s.admin.Delete(t.Context(), foreign)).To(Succeed())
		g.Eventually(h.reason(t)).Should(Equal(string(problem.AddressCheckPending)))
	}
}

// testOneNamespaceOfTwo: of two hosted clusters with one control plane namespace, one is served. The other
// one, opted in or not, does not touch it.
func testOneNamespaceOfTwo(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "x-twin")
	other := hosted{s, types.NamespacedName{Namespace: "clusters-x", Name: "twin"}, h.ns}
	g.Expect(s.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other.key.Namespace}})).To(Succeed())
	hc := h.hostedCluster(t)
	twin := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: other.key.Namespace, Name: other.key.Name}, Spec: hc.Spec}
	g.Expect(s.admin.Create(t.Context(), twin)).To(Succeed())
	other.status(t, func(st *hyperv1.HostedClusterStatus) {
		st.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: "203.0.113.11", Port: 6443}
	})
	objects := h.snapshot(t)
	unchanged := func() map[string]string { again(t, r, other); return h.snapshot(t) }
	g.Consistently(unchanged).WithTimeout(2 * time.Second).Should(Equal(objects))
	g.Expect(other.reason(t)()).To(BeEmpty(), "it never opted in")
	other.annotate(t, "network", "auto")
	g.Eventually(other.says(t)).Should(And(HavePrefix(string(problem.NotApplied)), ContainSubstring(h.key.String())))
	other.annotate(t, "network", "none")
	g.Eventually(other.reason(t)).Should(BeEmpty())
	g.Consistently(unchanged).WithTimeout(2 * time.Second).Should(Equal(objects))
	g.Expect(h.condition(t).Status).To(Equal(metav1.ConditionTrue))
}

// testControlPlaneReplaced: objects of oooi belong to the HostedControlPlane that exists. Edges of another one were
// restored from a backup, so the addresses are checked first.
func testControlPlaneReplaced(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "replaced")
	cp := &hyperv1.HostedControlPlane{}
	g.Expect(s.admin.Get(t.Context(), client.ObjectKey{Namespace: h.ns, Name: h.key.Name}, cp)).To(Succeed())
	next := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: cp.Namespace, Name: cp.Name}, Spec: cp.Spec}
	g.Expect(s.admin.Delete(t.Context(), cp)).To(Succeed())
	g.Expect(s.admin.Create(t.Context(), next)).To(Succeed())
	g.Eventually(h.names(t)).Should(Equal([]string{wire.ACDDeploymentName(h.network("vlan100"))}))
	h.edgeServes(t)
	for _, o := range h.ownObjects() {
		g.Eventually(func() []metav1.OwnerReference {
			if u := h.get(t, o); u != nil {
				return u.GetOwnerReferences()
			}
			return nil
		}).
			Should(ConsistOf(HaveField("UID", next.UID)), o.name)
	}
	h.wellServed(t)
}

// testOptOutWithoutRights: another client removed the RoleBindings of oooi before all is removed.
func testOptOutWithoutRights(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "unbound")
	pausedUntil := func(value string) {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"pausedUntil":`+value+`}}`))
		g.Expect(s.admin.Patch(t.Context(), h.hostedCluster(t), patch)).To(Succeed())
	}
	pausedUntil(`"true"`)
	g.Eventually(h.reason(t)).ShouldNot(Equal(string(explain.ReadyWithWarnings)))
	for _, name := range []string{own.ControlPlaneRole, wire.ServiceAccount} {
		g.Expect(s.admin.Delete(t.Context(), h.get(t, ownObject{own.RoleBindingKind, name}))).To(Succeed())
	}
	h.annotate(t, "network", "none")
	pausedUntil("null")
	g.Eventually(func() map[string]string { return h.snapshot(t) }).Should(BeEmpty())
	g.Eventually(h.reason(t)).Should(BeEmpty())
}
