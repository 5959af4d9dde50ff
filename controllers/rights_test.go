package controllers

import (
	"context"
	"testing"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
)

// testRights are what the operator must not be able to do.
func testRights(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "rights")
	c := s.asOperator(t)
	hc := h.hostedCluster(t)
	binding := func(name, role string) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "oooi", Namespace: "oooi-system"}}}
	}
	more := desired.EdgeRole(h.ns).WithRules(rbacv1ac.PolicyRule().WithAPIGroups("").WithResources("secrets").WithVerbs("get"))
	in := func(ns string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: "x"} }
	for what, try := range map[string]func(context.Context) error{
		"read a Secret where it writes": func(ctx context.Context) error {
			return c.Get(ctx, types.NamespacedName{Namespace: h.ns, Name: "x"}, &corev1.Secret{})
		},
		"list Secrets":           func(ctx context.Context) error { return c.List(ctx, &corev1.SecretList{}) },
		"read another ConfigMap": func(ctx context.Context) error { return c.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(h.ns)) },
		"update a HostedCluster": func(ctx context.Context) error { return c.Update(ctx, hc) },
		"patch a HostedCluster": func(ctx context.Context) error {
			return c.Patch(ctx, hc, client.RawPatch(types.MergePatchType, []byte(`{}`)))
		},
		"patch a NodePool": func(ctx context.Context) error {
			return c.Patch(ctx, &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: h.key.Namespace, Name: h.key.Name}}, client.RawPatch(types.MergePatchType, []byte(`{}`)))
		},
		"make another Role where it may":     func(ctx context.Context) error { return c.Create(ctx, &rbacv1.Role{ObjectMeta: in(h.ns)}) },
		"give edges more than it has itself": func(ctx context.Context) error { return c.Apply(ctx, more, client.FieldOwner(wire.Owner)) },
		"give edges rights elsewhere": func(ctx context.Context) error {
			return c.Apply(ctx, desired.EdgeRole("default"), client.FieldOwner(wire.Owner))
		},
		"bind edges elsewhere": func(ctx context.Context) error {
			return c.Apply(ctx, desired.EdgeBinding("default"), client.FieldOwner(wire.Owner))
		},
		"bind another role":                   func(ctx context.Context) error { return c.Create(ctx, binding(own.ControlPlaneRole, "cluster-admin")) },
		"make a binding of another name":      func(ctx context.Context) error { return c.Create(ctx, binding("x", own.ControlPlaneRole)) },
		"make a Deployment elsewhere":         func(ctx context.Context) error { return c.Create(ctx, &appsv1.Deployment{ObjectMeta: in("default")}) },
		"make a ConfigMap elsewhere":          func(ctx context.Context) error { return c.Create(ctx, &corev1.ConfigMap{ObjectMeta: in("default")}) },
		"make another ConfigMap where it may": func(ctx context.Context) error { return c.Create(ctx, &corev1.ConfigMap{ObjectMeta: in(h.ns)}) },
		"make a Lease elsewhere": func(ctx context.Context) error {
			return c.Create(ctx, &coordinationv1.Lease{ObjectMeta: in("default")})
		},
		"read one Lease, of whatever": func(ctx context.Context) error {
			return c.Get(ctx, types.NamespacedName{Namespace: "default", Name: "x"}, &coordinationv1.Lease{})
		},
		"remove a Lease elsewhere": func(ctx context.Context) error {
			return c.Delete(ctx, &coordinationv1.Lease{ObjectMeta: in("default")})
		},
		"make another NetworkPolicy where it may": func(ctx context.Context) error {
			return c.Create(ctx, &networkingv1.NetworkPolicy{ObjectMeta: in(h.ns)})
		},
		"make its NetworkPolicy elsewhere": func(ctx context.Context) error {
			return c.Create(ctx, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: desired.EdgePolicy}})
		},
		"make its Service elsewhere": func(ctx context.Context) error {
			return c.Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: wire.PodDNSService}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 53}}}})
		},
		"make a PodDisruptionBudget elsewhere": func(ctx context.Context) error {
			return c.Create(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: in("default")})
		},
		"make a Service elsewhere, as a dry run": func(ctx context.Context) error {
			return c.Create(ctx, &corev1.Service{ObjectMeta: in("default"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}}, client.DryRunAll)
		},
		"change the definition of another one": func(ctx context.Context) error {
			return c.Create(ctx, &nadv1.NetworkAttachmentDefinition{ObjectMeta: in("default")})
		},
	} {
		g.Expect(apierrors.IsForbidden(try(t.Context()))).To(BeTrue(), what)
	}
}

// testRightsOfAnEdge: what it needs, where it runs, and nowhere else.
func testRightsOfAnEdge(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "edge")
	c := s.as(t, h.ns, wire.ServiceAccount)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "oooi.test", Labels: own.Labels()}}
	g.Expect(c.Create(t.Context(), lease)).To(Succeed())
	g.Expect(c.Update(t.Context(), lease)).To(Succeed())
	g.Expect(c.Delete(t.Context(), lease)).To(Succeed())
	g.Expect(c.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: wire.PlanConfigMap}, &corev1.ConfigMap{})).To(Succeed())
	g.Expect(apierrors.IsForbidden(c.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}}))).To(BeTrue())
	g.Expect(apierrors.IsForbidden(c.List(t.Context(), &corev1.SecretList{}, client.InNamespace(h.ns)))).To(BeTrue())
	g.Expect(apierrors.IsForbidden(c.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(h.ns)))).To(BeTrue())
}
