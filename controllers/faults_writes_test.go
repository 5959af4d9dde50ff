package controllers

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network/problem"
)

// faultsOfWrites are those of the operator's writes, and of its rights to write.
func faultsOfWrites() []fault {
	return []fault{
		{
			name: "A ResourceQuota refuses the Deployment of an edge", sees: "Error NotApplied", words: "exceeded quota: none",
			keeps: "everything through the other edge", inject: quotaOfNone,
		},
		{
			name: "A policy refuses a change of Deployments", sees: "Error NotApplied", words: "no changes on Fridays",
			keeps: "everything, with the previous settings", inject: policyRefuses("apps", "deployments"),
		},
		{
			name: "A policy refuses the plan", sees: "Error NotApplied", words: "ConfigMap",
			keeps: "everything, with the previous plan", inject: policyRefuses("", "configmaps"),
		},
		{
			name: "A webhook with failurePolicy Fail is down", sees: "Error NotApplied", words: "failed calling webhook",
			keeps: "everything, with the previous plan", inject: webhookIsDown,
		},
		{
			name: "Paused, and all edges were deleted", sees: "Error EdgeNotReady", words: "no edge",
			keeps: "nothing on that network", dark: true, inject: pausedWithoutEdges,
		},
		{
			name: "Paused", sees: "Info Paused", words: "not applied", keeps: "everything", inject: annotation("paused", "true"),
		},
		{
			name: "The namespace is terminating, and an edge is deleted", sees: "Error NotApplied", words: "being terminated",
			keeps: "everything through the other edge, until the namespace is gone", inject: namespaceTerminating,
		},
		{
			name: "The operator's RoleBinding is deleted", keeps: "everything: the operator binds its role again", inject: bindingDeleted,
		},
		{
			name: "The edges' RoleBinding is deleted", keeps: "everything: the operator binds it again; edges serve from memory", inject: edgeBindingDeleted,
		},
		{
			name: "The edges' Role is deleted", keeps: "everything: the operator writes it again; edges serve from memory", inject: edgeRoleDeleted,
		},
		{
			name: "The plan's ConfigMap is deleted", keeps: "everything: edges keep their copy, and the operator writes it again", inject: planDeleted,
		},
		{
			name: "The plan's ConfigMap is unreadable", sees: "Error NotApplied", words: "ConfigMap oooi-plan in namespace",
			keeps: "everything: edges keep the last plan that they could read", inject: planUnreadable,
		},
		{
			name: "The HostedControlPlane is replaced", sees: "Waiting WaitingForControlPlane", words: "was deleted",
			keeps: "everything until Kubernetes collects the objects of the old one", inject: controlPlaneReplaced,
		},
		{
			name: "An object of another client has a name of oooi", sees: "Error NotApplied", words: "oooi did not create it",
			keeps: "everything: edges that run are not changed", inject: foreignAccount,
		},
		{
			name: "Another HostedCluster has the same control plane namespace", keeps: "everything; the other cluster is not served, and its condition says why",
			inject: twinCluster,
		},
		{
			name: "Certificates of the control plane are rotated", keeps: "everything: edges end no TLS", inject: certificatesRotated,
		},
		{
			name: "The annotation network is gone while VMs run", sees: "Warning RemovalScheduled", words: "network to its previous value",
			keeps: "everything for ten minutes", inject: annotationLost,
		},
		{
			name: "The annotation network and the plan's ConfigMap are gone while VMs run", sees: "Error NotApplied", words: "missing on the HostedCluster",
			keeps: "everything, without a deadline", inject: annotationAndPlanLost,
		},
	}
}

// create creates o, and returns what deletes it.
func (h hosted) create(t *testing.T, o client.Object) func() {
	t.Helper()
	NewWithT(t).Expect(h.admin.Create(t.Context(), o)).To(Succeed())
	return func() { NewWithT(t).Expect(client.IgnoreNotFound(h.admin.Delete(t.Context(), o))).To(Succeed()) }
}

// touch makes the operator write all Deployments of h again.
func (h hosted) touch(t *testing.T) { h.annotate(t, "edge-node-selector", "rack=7") }

func quotaOfNone(t *testing.T, h hosted) func() {
	g := NewWithT(t)
	none := corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	fix := h.create(t, q)
	q.Status = corev1.ResourceQuotaStatus{Hard: none, Used: corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}}
	g.Expect(h.admin.Status().Update(t.Context(), q)).To(Succeed())
	try := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "try"}}
	try.Spec = *h.deployments(t, "vlan100")[0].Spec.DeepCopy()
	g.Eventually(func() error { return h.admin.Create(t.Context(), try.DeepCopy(), client.DryRunAll) }).Should(MatchError(ContainSubstring("exceeded quota")))
	g.Expect(h.admin.Delete(t.Context(), &h.deployments(t, "vlan100")[1])).To(Succeed())
	return fix
}

// inNamespace selects h's control plane namespace.
func (h hosted) inNamespace() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: h.ns}}
}

// policyRefuses is a policy of the administrator that refuses all changes of one resource.
func policyRefuses(group, resource string) func(t *testing.T, h hosted) func() {
	return func(t *testing.T, h hosted) func() {
		g := NewWithT(t)
		all := admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource}},
		}
		name := "fridays-" + h.ns + "-" + resource
		unpolicy := h.create(t, &admissionregistrationv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: &admissionregistrationv1.MatchResources{NamespaceSelector: h.inNamespace(),
					ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: all}}},
				Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "no changes on Fridays"}},
			},
		})
		unbind := h.create(t, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name,
				ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}},
		})
		g.Eventually(func() error { return h.rewrite(t, resource) }).Should(MatchError(ContainSubstring("Fridays")))
		h.touch(t)
		h.annotate(t, "lease-time", "30m")
		return func() { unbind(); unpolicy() }
	}
}

// rewrite is a dry run of a change of one of h's objects.
func (h hosted) rewrite(t *testing.T, resource string) error {
	var o client.Object = &h.deployments(t, "vlan100")[0]
	if resource == "configmaps" {
		o = &corev1.ConfigMap{}
		if err := h.admin.Get(t.Context(), client.ObjectKey{Namespace: h.ns, Name: wire.PlanConfigMap}, o); err != nil {
			return err
		}
	}
	o.SetLabels(map[string]string{"try": "x"})
	err := h.admin.Update(t.Context(), o, client.DryRunAll)
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func webhookIsDown(t *testing.T, h hosted) func() {
	g := NewWithT(t)
	url, fail, none := "https://127.0.0.1:1/", admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	fix := h.create(t, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "down-" + h.ns},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "down.example.com", FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, NamespaceSelector: h.inNamespace(),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"*"}, Resources: []string{"configmaps"}},
			}},
		}},
	})
	g.Eventually(func() error { return h.rewrite(t, "configmaps") }).Should(MatchError(ContainSubstring("webhook")))
	h.annotate(t, "lease-time", "30m")
	return fix
}

func pausedWithoutEdges(t *testing.T, h hosted) func() {
	h.annotate(t, "paused", "true")
	NewWithT(t).Eventually(h.says(t)).WithTimeout(within()).Should(ContainSubstring("Info Paused"))
	for _, d := range h.deployments(t, "vlan100") {
		NewWithT(t).Expect(h.admin.Delete(t.Context(), &d)).To(Succeed())
	}
	return func() { h.annotate(t, "paused", "") }
}

func annotationLost(t *testing.T, h hosted) func() {
	h.used(t)
	h.annotate(t, "network", "")
	return func() { h.annotate(t, "network", "auto") }
}

// annotationAndPlanLost deletes the plan once its deadline is stored. Until then the operator writes it, and would
// write it again.
func annotationAndPlanLost(t *testing.T, h hosted) func() {
	fix := annotationLost(t, h)
	NewWithT(t).Eventually(h.says(t)).Should(ContainSubstring("Edges keep serving until"))
	NewWithT(t).Expect(h.admin.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: wire.PlanConfigMap}})).To(Succeed())
	return fix
}

// annotation sets an annotation, and removes it to fix the fault.
func annotation(key, value string) func(t *testing.T, h hosted) func() {
	return func(t *testing.T, h hosted) func() {
		h.annotate(t, key, value)
		return func() { h.annotate(t, key, "") }
	}
}

// deleted deletes an object of oooi by its name, and triggers a pass.
func (h hosted) deleted(t *testing.T, o client.Object, name string) func() {
	t.Helper()
	o.SetNamespace(h.ns)
	o.SetName(name)
	NewWithT(t).Expect(h.admin.Delete(t.Context(), o)).To(Succeed())
	h.annotate(t, "lease-time", "30m")
	return func() {
		g := NewWithT(t)
		g.Eventually(func() error { return h.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o) }).WithTimeout(within()).Should(Succeed())
	}
}

func bindingDeleted(t *testing.T, h hosted) func() {
	return h.deleted(t, &rbacv1.RoleBinding{}, own.ControlPlaneRole)
}

func edgeRoleDeleted(t *testing.T, h hosted) func() {
	return h.deleted(t, &rbacv1.Role{}, wire.ServiceAccount)
}

func edgeBindingDeleted(t *testing.T, h hosted) func() {
	return h.deleted(t, &rbacv1.RoleBinding{}, wire.ServiceAccount)
}

func planDeleted(t *testing.T, h hosted) func() {
	return h.deleted(t, &corev1.ConfigMap{}, wire.PlanConfigMap)
}

func planUnreadable(t *testing.T, h hosted) func() {
	good := h.plan(t)
	put := func(text string) {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: wire.PlanConfigMap}}
		patch, err := json.Marshal(map[string]any{"data": map[string]string{wire.PlanKey: text}})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(h.admin.Patch(t.Context(), cm, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
	}
	NewWithT(t).Eventually(func() string { // Until no pass that read the valid plan writes it again.
		put(good[:len(good)/2])
		return h.says(t)()
	}).Should(ContainSubstring("ConfigMap " + wire.PlanConfigMap))
	h.annotate(t, "lease-time", "30m")
	return func() { put(good); h.annotate(t, "lease-time", "") }
}

func namespaceTerminating(t *testing.T, h hosted) func() {
	g := NewWithT(t)
	g.Expect(h.admin.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.ns}})).To(Succeed())
	g.Expect(h.admin.Delete(t.Context(), &h.deployments(t, "vlan100")[1])).To(Succeed())
	return nil
}

func controlPlaneReplaced(t *testing.T, h hosted) func() {
	g := NewWithT(t)
	cp := &hyperv1.HostedControlPlane{}
	g.Expect(h.admin.Get(t.Context(), client.ObjectKey{Namespace: h.ns, Name: h.key.Name}, cp)).To(Succeed())
	g.Expect(h.admin.Delete(t.Context(), cp)).To(Succeed())
	return func() {
		cp.ObjectMeta = metav1.ObjectMeta{Namespace: cp.Namespace, Name: cp.Name}
		NewWithT(t).Expect(h.admin.Create(t.Context(), cp)).To(Succeed())
	}
}

func certificatesRotated(t *testing.T, h hosted) func() {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "kas-server-crt"}, Data: map[string][]byte{"tls.crt": []byte("old")}}
	fix := h.create(t, s)
	s.Data["tls.crt"] = []byte("new")
	NewWithT(t).Expect(h.admin.Update(t.Context(), s)).To(Succeed())
	return fix
}

// foreignAccount replaces the ServiceAccount of edges.
func foreignAccount(t *testing.T, h hosted) func() {
	account := func() *corev1.ServiceAccount {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: wire.ServiceAccount}}
	}
	NewWithT(t).Eventually(func() error { // The operator may be faster.
		NewWithT(t).Expect(client.IgnoreNotFound(h.admin.Delete(t.Context(), account()))).To(Succeed())
		return h.admin.Create(t.Context(), account())
	}).Should(Succeed())
	return func() { NewWithT(t).Expect(h.admin.Delete(t.Context(), account())).To(Succeed()) }
}

// twinCluster creates clusters-NAME/second for clusters/NAME-second.
func twinCluster(t *testing.T, h hosted) func() {
	g := NewWithT(t)
	namespace, name, _ := strings.Cut(h.key.Name, "-")
	other := hosted{h.apiServer, types.NamespacedName{Namespace: "clusters-" + namespace, Name: name}, h.ns}
	g.Expect(h.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other.key.Namespace}})).To(Succeed())
	twin := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: other.key.Namespace, Name: other.key.Name}, Spec: h.hostedCluster(t).Spec}
	g.Expect(h.admin.Create(t.Context(), twin)).To(Succeed())
	other.status(t, func(st *hyperv1.HostedClusterStatus) {
		st.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: "203.0.113.11", Port: 6443}
	})
	other.annotate(t, "network", "auto")
	return func() {
		g.Eventually(other.says(t)).WithTimeout(within()).Should(And(HavePrefix(string(problem.NotApplied)), ContainSubstring(h.key.String())))
		other.annotate(t, "network", "none")
	}
}
