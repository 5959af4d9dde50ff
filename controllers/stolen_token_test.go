package controllers

import (
	"context"
	"fmt"
	"strings"
	"testing"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/apiserver"
)

// refusedByPolicy matches what RBAC allows and the operator's policy refuses.
func refusedByPolicy() OmegaMatcher {
	return MatchError(ContainSubstring("ValidatingAdmissionPolicy '" + admission.Operator + "'"))
}

// A thief has the operator's token, and tries without lasting effect.
type thief struct {
	*apiServer
	c client.Client
}

// patch tries to change o, which exists, as the thief.
func patch[T client.Object](t *testing.T, s thief, ns, name string, o T, change func(T)) error {
	t.Helper()
	g := NewWithT(t)
	o.SetNamespace(ns)
	o.SetName(name)
	g.Expect(s.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
	before, ok := o.DeepCopyObject().(T)
	g.Expect(ok).To(BeTrue())
	change(o)
	return s.c.Patch(t.Context(), o, client.MergeFrom(before), client.DryRunAll)
}

// testStolenToken: with the operator's token and its real rights, nothing is written but what
// the operator writes. Each attempt passes RBAC.
func testStolenToken(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "stolen")
	attacker := thief{s, s.asOperator(t)}
	// A binding from before the policies were there, or one that an administrator made.
	old := desired.RoleBinding(own.ClusterRoleKind.Kind, own.ControlPlaneRole, "kube-system", "oooi", "oooi-system")
	g.Expect(s.admin.Apply(t.Context(), old, client.FieldOwner("test"))).To(Succeed())
	t.Cleanup(func() {
		b := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: own.ControlPlaneRole}}
		g.Expect(s.admin.Delete(context.WithoutCancel(t.Context()), b)).To(Succeed())
	})
	s.awaitRights(t, "kube-system")
	for name, test := range map[string]func(*testing.T, thief, hosted){
		"Elsewhere": testThiefElsewhere, "Bindings": testThiefBinds, "EdgeRights": testThiefWidens, "Pods": testThiefsPods, "Deployments": testThiefsDeployments, "ForeignObjects": testThiefTakesForeign, "Labels": testThiefLabels,
		"Selectors": testThiefSelects, "NADs": testThiefsNADs, "Status": testThiefWritesStatus, "DNS": testThiefOffersDNS, "Access": testThiefOpens, "Events": testThiefsEvents, "LoadBalancers": testThiefLeads, "OwnNamespace": testThiefAtHome,
	} {
		t.Run(name, func(t *testing.T) { test(t, attacker, h) })
	}
}

// ours is the metadata of a new object with the labels of oooi.
func ours(ns, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: ns, Name: name, Labels: own.Labels()}
}

// copied is the edge of h as a new Deployment.
func (s thief) copied(t *testing.T, h hosted, ns, name string) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	NewWithT(t).Expect(s.admin.Get(t.Context(), client.ObjectKey{Namespace: h.ns, Name: h.edge()}, d)).To(Succeed())
	return &appsv1.Deployment{ObjectMeta: ours(ns, name), Spec: d.Spec}
}

func testThiefElsewhere(t *testing.T, s thief, h hosted) {
	g := NewWithT(t)
	const ns = "kube-system"
	g.Expect(s.c.Create(t.Context(), s.copied(t, h, ns, "oooi-edge-x"), client.DryRunAll)).To(refusedByPolicy())
	g.Expect(s.c.Create(t.Context(), s.copied(t, h, h.ns, "oooi-edge-x"), client.DryRunAll)).To(Succeed(), "where the operator writes")
	nad := &nadv1.NetworkAttachmentDefinition{ObjectMeta: ours(ns, "oooi-x"), Spec: nadv1.NetworkAttachmentDefinitionSpec{Config: `{"type":"bridge"}`}}
	g.Expect(s.c.Create(t.Context(), nad, client.DryRunAll)).To(refusedByPolicy())
	g.Expect(s.admin.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: ours(ns, "oooi.x")})).To(Succeed())
	g.Expect(s.c.Delete(t.Context(), &coordinationv1.Lease{ObjectMeta: ours(ns, "oooi.x")}, client.DryRunAll)).To(refusedByPolicy())
	bind := desired.RoleBinding(own.ClusterRoleKind.Kind, own.ControlPlaneRole, "default", "oooi", "oooi-system").WithLabels(own.Labels())
	g.Expect(s.c.Apply(t.Context(), bind, client.FieldOwner(wire.Owner), client.DryRunAll)).To(refusedByPolicy(), "the first step to cluster-admin")
}

func testThiefBinds(t *testing.T, s thief, h hosted) {
	g := NewWithT(t)
	apply := func(name, account, accountNS string) error {
		kind := map[string]string{own.ControlPlaneRole: own.ClusterRoleKind.Kind, wire.ServiceAccount: own.RoleKind.Kind}[name]
		b := desired.RoleBinding(kind, name, h.ns, account, accountNS).WithLabels(own.Labels())
		return s.c.Apply(t.Context(), b, client.FieldOwner(wire.Owner), client.ForceOwnership, client.DryRunAll)
	}
	g.Expect(apply(own.ControlPlaneRole, "oooi", "oooi-system")).To(Succeed())
	g.Expect(apply(wire.ServiceAccount, wire.ServiceAccount, h.ns)).To(Succeed())
	g.Expect(apply(own.ControlPlaneRole, wire.ServiceAccount, h.ns)).To(refusedByPolicy(), "to the edges")
	g.Expect(apply(own.ControlPlaneRole, "oooi", "default")).To(refusedByPolicy(), "to an account of its name")
	g.Expect(apply(wire.ServiceAccount, wire.ServiceAccount, "clusters-other")).To(refusedByPolicy(), "to another cluster's edges")
	g.Expect(patch(t, s, h.ns, wire.ServiceAccount, &rbacv1.RoleBinding{}, func(b *rbacv1.RoleBinding) {
		b.Subjects = append(b.Subjects, rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "system:authenticated"})
	})).To(refusedByPolicy(), "to everyone")
}

// testThiefWidens gives edges other rights than they need, though the thief has these rights itself.
func testThiefWidens(t *testing.T, s thief, h hosted) {
	g := NewWithT(t)
	for what, change := range map[string]func(*rbacv1.Role){
		"another verb":   func(r *rbacv1.Role) { r.Rules[1].Verbs = append(r.Rules[1].Verbs, "get") },
		"all ConfigMaps": func(r *rbacv1.Role) { r.Rules[0].ResourceNames = nil },
		"a further rule": func(r *rbacv1.Role) {
			r.Rules = append(r.Rules, rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"create"}})
		},
		"a rule less": func(r *rbacv1.Role) { r.Rules = r.Rules[1:] },
		"none":        func(r *rbacv1.Role) { r.Rules = nil },
		// The policy knows no rules of names, and leaves this one to RBAC.
		"VMs of another group": func(r *rbacv1.Role) {
			r.Rules[2].APIGroups, r.Rules[2].Resources = []string{"internal.virt.example"}, []string{"internalvirtualmachineinstances"}
		},
	} {
		g.Expect(patch(t, s, h.ns, wire.ServiceAccount, &rbacv1.Role{}, change)).To(
			Or(refusedByPolicy(), MatchError(ContainSubstring("attempting to grant RBAC permissions not currently held"))), what)
	}
	for what, change := range map[string]func(*rbacv1.Role){
		"another verb on Leases":         func(r *rbacv1.Role) { r.Rules[3].Verbs = []string{"delete"} },
		"another verb on VMs":            func(r *rbacv1.Role) { r.Rules[2].Verbs = append(r.Rules[2].Verbs, "get") },
		"another resource than VMs":      func(r *rbacv1.Role) { r.Rules[2].APIGroups, r.Rules[2].Resources = []string{""}, []string{"services"} },
		"another resource next to VMs":   func(r *rbacv1.Role) { r.Rules[2].Resources = append(r.Rules[2].Resources, "virtualmachineinstances") },
		"VMs of all groups by one right": func(r *rbacv1.Role) { r.Rules[2].APIGroups = append(r.Rules[2].APIGroups, "kubevirt.io") },
	} {
		g.Expect(patch(t, s, h.ns, wire.ServiceAccount, &rbacv1.Role{}, change)).To(refusedByPolicy(), what)
	}
	another := &rbacv1.Role{ObjectMeta: ours(h.ns, wire.ServiceAccount+"-2")}
	g.Expect(apierrors.IsForbidden(s.c.Create(t.Context(), another, client.DryRunAll))).To(BeTrue(), "of another name")
	elsewhere := desired.EdgeRole("kube-system").WithLabels(own.Labels())
	g.Expect(s.c.Apply(t.Context(), elsewhere, client.FieldOwner(wire.Owner), client.DryRunAll)).To(refusedByPolicy(), "where it has the rights, and no hosted cluster is")
}

// testThiefTakesForeign changes and removes objects of the control plane next to it.
func testThiefTakesForeign(t *testing.T, s thief, h hosted) {
	g := NewWithT(t)
	etcd := s.copied(t, h, h.ns, "oooi-named-alike")
	etcd.Labels = nil
	g.Expect(s.admin.Create(t.Context(), etcd)).To(Succeed())
	router := s.copied(t, h, h.ns, "router")
	g.Expect(s.admin.Create(t.Context(), router)).To(Succeed())
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "oooi.kube-scheduler"}}
	g.Expect(s.admin.Create(t.Context(), lease)).To(Succeed())
	for _, o := range []client.Object{etcd, router, lease, &nadv1.NetworkAttachmentDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "vlan100"}}} {
		g.Expect(s.c.Delete(t.Context(), o, client.DryRunAll)).To(refusedByPolicy(), o.GetName())
	}
	g.Expect(patch(t, s, h.ns, etcd.Name, &appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Labels = own.Labels() })).To(refusedByPolicy(), "it becomes one of ours")
	g.Expect(patch(t, s, h.ns, "vlan100", &nadv1.NetworkAttachmentDefinition{}, func(n *nadv1.NetworkAttachmentDefinition) { n.Labels = own.Labels() })).To(refusedByPolicy())
	g.Expect(patch(t, s, h.ns, h.edge(), &appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Labels = nil })).To(refusedByPolicy(), "one of ours loses its labels")
	g.Expect(s.c.Create(t.Context(), s.copied(t, h, h.ns, "kube-apiserver"), client.DryRunAll)).To(refusedByPolicy())
	// RBAC allows the operator to write Leases, since it gives edges that right.
	lease.Spec.HolderIdentity = new("me")
	g.Expect(s.c.Update(t.Context(), lease, client.DryRunAll)).To(refusedByPolicy())
	for _, name := range []string{"oooi.x", "kube-controller-manager"} {
		g.Expect(s.c.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: ours(h.ns, name)}, client.DryRunAll)).To(refusedByPolicy(), name)
	}
	for _, d := range []*appsv1.Deployment{etcd, router} {
		g.Expect(s.admin.Delete(t.Context(), d)).To(Succeed())
	}
}

// testThiefLabels gives our objects a meaning for other controllers.
func testThiefLabels(t *testing.T, s thief, h hosted) {
	g := NewWithT(t)
	for what, err := range map[string]error{
		"HyperShift makes a MachineConfig of the plan": patch(t, s, h.ns, wire.PlanConfigMap, &corev1.ConfigMap{}, func(c *corev1.ConfigMap) {
			c.Labels["hypershift.openshift.io/core-ignition-config"] = "true"
		}),
		"a Service selects the pod": patch(t, s, h.ns, h.edge(), &appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Spec.Template.Labels["app"] = "kube-apiserver" }),
		"a Service of a user selects the pod": func() error {
			d := s.copied(t, h, h.ns, "oooi-edge-new")
			d.Spec.Template.Labels[wire.LabelName], d.Spec.Selector.MatchLabels[wire.LabelName] = "registry", "registry"
			return s.c.Create(t.Context(), d, client.DryRunAll)
		}(),
		"a list shows the plan as another program's": patch(t, s, h.ns, wire.PlanConfigMap, &corev1.ConfigMap{}, func(c *corev1.ConfigMap) { c.Labels[wire.LabelName] = "cert-manager" }),
		"the pod may reach the management cluster's API server": patch(t, s, h.ns, h.edge(), &appsv1.Deployment{}, func(d *appsv1.Deployment) {
			d.Spec.Template.Labels["hypershift.openshift.io/need-management-kas-access"] = "true"
		}),
		"Multus replaces the pod's default network": patch(t, s, h.ns, h.edge(), &appsv1.Deployment{}, func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations["v1.multus-cni.io/default-network"] = "default/host"
		}),
		"another SCC": patch(t, s, h.ns, h.edge(), &appsv1.Deployment{}, func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations["openshift.io/required-scc"] = "privileged"
		}),
		"the account is a role of the cloud": patch(t, s, h.ns, wire.ServiceAccount, &corev1.ServiceAccount{}, func(a *corev1.ServiceAccount) {
			a.Annotations = map[string]string{"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/x"}
		}),
		"the account has a Secret": patch(t, s, h.ns, wire.ServiceAccount, &corev1.ServiceAccount{}, func(a *corev1.ServiceAccount) {
			a.Secrets = []corev1.ObjectReference{{Name: "admin-kubeconfig"}}
		}),
		"the garbage collector looks for owners": patch(t, s, h.ns, h.edge(), &appsv1.Deployment{}, func(d *appsv1.Deployment) {
			d.OwnerReferences = append(d.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"})
		}),
		"the namespace never ends": patch(t, s, h.ns, h.edge(), &appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Finalizers = []string{"example.com/never"} }),
		"a pod never ends":         patch(t, s, h.ns, h.edge(), &appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Spec.Template.Finalizers = []string{"example.com/never"} }),
		"a pod ends in years":      patch(t, s, h.ns, h.edge(), &appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(2e9)) }),
	} {
		g.Expect(err).To(refusedByPolicy(), what)
	}
	g.Expect(patch(t, s, h.ns, h.edge(), &appsv1.Deployment{}, func(d *appsv1.Deployment) {
		yes := true
		d.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x", BlockOwnerDeletion: &yes}}
	})).To(Or(refusedByPolicy(), MatchError(ContainSubstring("cannot set blockOwnerDeletion"))), "the control plane never ends: OpenShift's admission also refuses it")
	// What another client wrote stays.
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: h.edge()}}
	g.Expect(s.admin.Get(t.Context(), client.ObjectKeyFromObject(d), d)).To(Succeed())
	before := d.DeepCopy()
	d.Labels["argocd.example.com/instance"], d.Annotations["example.com/note"] = "x", "y"
	d.Spec.Template.Labels["cost-center"], d.Spec.Template.Annotations["example.com/restarted"] = "x", "y"
	others := d.DeepCopy()
	g.Expect(s.admin.Patch(t.Context(), d, client.MergeFrom(before))).To(Succeed())
	// Other tests copy the Deployment.
	defer func() { g.Expect(s.admin.Patch(t.Context(), before, client.MergeFrom(others))).To(Succeed()) }()
	g.Expect(patch(t, s, h.ns, h.edge(), &appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Annotations[wire.AnnotationTemplate] = "x" })).To(Succeed())
	g.Expect(patch(t, s, h.ns, h.edge(), &appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Spec.Template.Labels["cost-center"] = "z" })).To(refusedByPolicy())
}

// testThiefsEvents keeps a namespace that is no hosted cluster's from ending, or changes what other clients reported.
func testThiefsEvents(t *testing.T, s thief, _ hosted) {
	g := NewWithT(t)
	event := func(name, from string) *eventsv1.Event {
		return &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, EventTime: metav1.NowMicro(), ReportingController: from,
			ReportingInstance: "x", Action: "x", Reason: "x", Type: corev1.EventTypeNormal}
	}
	ours, others := event("ours", "oooi"), event("others", "kubelet")
	for _, e := range []*eventsv1.Event{ours, others} {
		g.Expect(s.admin.Create(t.Context(), e)).To(Succeed())
		t.Cleanup(func() { g.Expect(s.admin.Delete(context.WithoutCancel(t.Context()), e)).To(Succeed()) })
	}
	never := func(e *eventsv1.Event) { e.Finalizers = []string{"example.com/never"} }
	again := func(e *eventsv1.Event) {
		e.Series = &eventsv1.EventSeries{Count: 2, LastObservedTime: metav1.NowMicro()}
	}
	g.Expect(s.c.Create(t.Context(), event("new", "oooi"), client.DryRunAll)).To(Succeed())
	g.Expect(patch(t, s, "default", "ours", &eventsv1.Event{}, again)).To(Succeed())
	e := event("new", "oooi")
	never(e)
	g.Expect(s.c.Create(t.Context(), e, client.DryRunAll)).To(refusedByPolicy())
	g.Expect(patch(t, s, "default", "ours", &eventsv1.Event{}, never)).To(refusedByPolicy())
	g.Expect(patch(t, s, "default", "others", &eventsv1.Event{}, again)).To(refusedByPolicy())
	g.Expect(s.c.Create(t.Context(), event("new", "kubelet"), client.DryRunAll)).To(refusedByPolicy())
	e = event("new", "oooi")
	e.Labels = map[string]string{"a": "b"}
	g.Expect(s.c.Create(t.Context(), e, client.DryRunAll)).To(refusedByPolicy())
	// As the leader election writes it.
	about := corev1.ObjectReference{Kind: "Lease", Namespace: "oooi-system", Name: "oooi.densityops.com"}
	leads := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: about.Namespace, Name: "leads"}, InvolvedObject: about, Reason: "LeaderElection", Type: corev1.EventTypeNormal}
	g.Expect(s.c.Create(t.Context(), leads, client.DryRunAll)).To(Succeed())
	leads = &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: about.Namespace, Name: "leads", Finalizers: []string{"example.com/never"}}, InvolvedObject: about}
	g.Expect(s.c.Create(t.Context(), leads, client.DryRunAll)).To(refusedByPolicy())
}

// testThiefSelects makes policies and budgets that concern etcd.
func testThiefSelects(t *testing.T, s thief, h hosted) {
	g := NewWithT(t)
	etcd := metav1.LabelSelector{MatchLabels: map[string]string{"app": "etcd"}}
	for what, change := range map[string]func(*networkingv1.NetworkPolicy){
		"all pods": func(p *networkingv1.NetworkPolicy) { p.Spec.PodSelector = metav1.LabelSelector{} },
		"etcd":     func(p *networkingv1.NetworkPolicy) { p.Spec.PodSelector = etcd },
		"edges, ingress": func(p *networkingv1.NetworkPolicy) {
			p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{})
		},
		"edges, ingress to metrics": func(p *networkingv1.NetworkPolicy) {
			p.Spec.Ingress[0].From[0].NamespaceSelector = &metav1.LabelSelector{}
		},
	} {
		g.Expect(patch(t, s, h.ns, desired.EdgePolicy, &networkingv1.NetworkPolicy{}, change)).To(refusedByPolicy(), what)
	}
	for what, selector := range map[string]*metav1.LabelSelector{"etcd": &etcd, "all": {}, "none": nil} {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: ours(h.ns, "oooi-edge-x"), Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &intstr.IntOrString{}, Selector: selector}}
		g.Expect(s.c.Create(t.Context(), b, client.DryRunAll)).To(refusedByPolicy(), what)
		b.Name = "etcd"
		g.Expect(s.c.Create(t.Context(), b, client.DryRunAll)).To(refusedByPolicy(), what)
	}
}

// testThiefWritesStatus of HostedClusters, which HyperShift and administrators believe.
func testThiefWritesStatus(t *testing.T, s thief, h hosted) {
	g := NewWithT(t)
	h.status(t, func(st *hyperv1.HostedClusterStatus) {
		st.Conditions = append(st.Conditions, metav1.Condition{Type: "Available", Status: metav1.ConditionTrue, Reason: "AsExpected", LastTransitionTime: metav1.Now()})
	})
	// Many and long ones cost the policy too little to matter.
	h.status(t, func(st *hyperv1.HostedClusterStatus) {
		for i := range 60 {
			c := metav1.Condition{Type: fmt.Sprint("Long", i), Status: metav1.ConditionTrue, Reason: "AsExpected", LastTransitionTime: metav1.Now()}
			c.Message = strings.Repeat("x", 4<<10)
			st.Conditions = append(st.Conditions, c)
		}
	})
	write := func(change func(*hyperv1.HostedClusterStatus)) error {
		hc := h.hostedCluster(t)
		before := hc.DeepCopy()
		change(&hc.Status)
		return s.c.Status().Patch(t.Context(), hc, client.MergeFrom(before), &client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
	}
	condition := func(of string) func(*hyperv1.HostedClusterStatus) {
		return func(st *hyperv1.HostedClusterStatus) { meta.FindStatusCondition(st.Conditions, of).Message += "x" }
	}
	g.Expect(write(condition(own.ConditionType))).To(Succeed())
	g.Expect(write(condition("Available"))).To(refusedByPolicy())
	g.Expect(write(func(st *hyperv1.HostedClusterStatus) { st.Conditions = nil })).To(refusedByPolicy())
	g.Expect(write(func(st *hyperv1.HostedClusterStatus) { st.ControlPlaneEndpoint.Host = "192.0.2.66" })).To(refusedByPolicy())
	g.Expect(write(func(st *hyperv1.HostedClusterStatus) { st.ControlPlaneEndpoint = hyperv1.APIEndpoint{} })).To(refusedByPolicy())
	g.Expect(write(func(st *hyperv1.HostedClusterStatus) { st.IgnitionEndpoint = "evil.example.net" })).To(refusedByPolicy())
}

// testThiefAtHome writes next to the operator.
func testThiefAtHome(t *testing.T, s thief, _ hosted) {
	g := NewWithT(t)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "oooi-system", Name: "another-operator"}}
	g.Expect(s.c.Create(t.Context(), lease, client.DryRunAll)).To(refusedByPolicy())
}

// testForeignNamespace: in a namespace that HyperShift did not label, nothing is written, and the
// condition says why.
func testForeignNamespace(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	g.Expect(s.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-unlabelled"}})).To(Succeed())
	h := s.newHosted(t, "unlabelled", nil)
	h.publish(t)
	g.Eventually(h.says(t)).Should(And(HavePrefix(string(problem.NotApplied)), ContainSubstring("hypershift.openshift.io/hosted-control-plane=true")))
	g.Expect(h.snapshot(t)).To(BeEmpty())
	g.Expect(s.admin.Patch(t.Context(), apiserver.ControlPlaneNamespace(h.ns), client.Merge)).To(Succeed())
	h.edgeServes(t)
	h.wellServed(t)
}
