package controllers

import (
	"maps"
	"slices"
	"strings"
	"testing"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// snapshot is every object of oooi in the cluster's namespaces, and the
// HostedCluster, by their versions.
func (h hosted) snapshot(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, kind := range []schema.GroupVersionKind{own.ServiceAccountKind, own.ConfigMapKind, own.RoleKind, own.RoleBindingKind, own.LeaseKind, own.DeploymentKind, own.DefinitionKind, own.BudgetKind, own.NetworkPolicyKind, own.ServiceKind} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		NewWithT(t).Expect(h.admin.List(t.Context(), list, client.InNamespace(h.ns), client.MatchingLabels(own.Labels()))).To(Succeed())
		for _, o := range list.Items {
			if out[kind.Kind+" "+o.Name] = o.ResourceVersion; o.Name == wire.StatusConfigMap {
				out[kind.Kind+" "+o.Name] = "" // It has the time of the last look.
			}
		}
	}
	return out
}

func (h hosted) plan(t *testing.T) string {
	t.Helper()
	c := &corev1.ConfigMap{}
	NewWithT(t).Expect(h.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: wire.PlanConfigMap}, c)).To(Succeed())
	return c.Data[wire.PlanKey]
}

// served is a cluster that is served.
func (s *apiServer) served(t *testing.T, name string) hosted {
	t.Helper()
	h := s.newHosted(t, name, nil)
	h.publish(t)
	h.edgeServes(t)
	h.wellServed(t)
	return h
}

// lease is one that an edge wrote for the cluster's network.
func (h hosted) lease(t *testing.T) {
	t.Helper()
	NewWithT(t).Expect(h.admin.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "oooi.192.168.100.10",
		Labels: map[string]string{wire.LabelName: "dhcp", wire.LabelPartOf: wire.Owner, wire.LabelManagedBy: wire.Owner, wire.LabelNetwork: network.Shortened(h.ns+".vlan100", 63)}}})).To(Succeed())
}

// again reconciles once more, and waits for nothing. A pass that meets a write of the operator that runs fails, and is
// tried again, as the operator does.
func again(t *testing.T, r *Reconciler, h hosted) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: h.key})
		return err
	}).Should(Succeed())
}

// testReconcile is the operator on a real API server, with the rights of
// config/ and no others. Its cases share the API server.
func testReconcile(t *testing.T, s *apiServer) {
	s.acceptInvalidAnnotations(t)
	s.addNode(t)
	r, _ := s.run(t)
	type tests map[string]func(*testing.T, *apiServer, *Reconciler)
	// These change what all hosted clusters share, count all requests of the operator, or are about the same namespaces.
	for name, test := range (tests{
		"EgressPolicy": testEgressPolicy, "ManagementIsNotDialed": testManagementIsNotDialed, "QuietPass": testQuietPass, "LoadBalancers": testLoadBalancers,
		"StoriesNeedOneWrite": testStoriesNeedOneWrite, "StoriesAreAccepted": testStoriesAreAccepted, "DefaultedObject": testDefaultedObject,
	}) {
		t.Run(name, func(t *testing.T) { test(t, s, r) })
	}
	for name, test := range (tests{
		"OptIn": testOptIn, "SecondReconcileWritesNothing": testSecondReconcile, "OptOut": testOptOut, "WaitsForControlPlane": testWaits,
		"WrongAnnotation": testWrongAnnotation, "LastGoodPlan": testLastGoodPlan, "Drift": testDrift, "ForeignConditions": testForeignConditions,
		"Deletion": testDeletion, "Paused": testPaused, "NetworkRetired": testNetworkRetired, "Untouched": testUntouched,
		"Rights": testRights, "PodSecurity": testPodSecurity, "RightsOfAnEdge": testRightsOfAnEdge, "StolenToken": testStolenToken, "ForeignNamespace": testForeignNamespace, "Events": testEvents,
		"ConflictOnOneSegment": testConflictOnOneSegment, "TwoOnOneSegment": testTwoOnOneSegment, "Brownfield": testBrownfield, "SettingsOfServices": testSettingsOfServices,
		"FormerLeases": testFormerLeases, "AnnotatedEdges": testAnnotatedEdges, "RemovalHeld": testRemovalHeld,
		"RemovalOfAnEdgeHeld": testRemovalOfAnEdgeHeld, "Healing": testHealing, "ForeignObject": testForeignObject,
		"OneNamespaceOfTwo": testOneNamespaceOfTwo, "ControlPlaneReplaced": testControlPlaneReplaced, "OptOutWithoutRights": testOptOutWithoutRights,
		"AsksFirst": testAddressCheck, "ReportsAreWatched": testReportsAreWatched, "OneEdgeAtATime": testOneEdgeAtATime, "OneEdgeOrTwo": testOneEdgeOrTwo,
		"UnreadablePlan": testUnreadablePlan, "NADEdited": testNADEdited, "PodDNS": testPodDNS, "Access": testAccess,
		"BadLoadBalancers": testBadLoadBalancers, "LoadBalancerSources": testLoadBalancerSources, "LoadBalancersOfDeleted": testLoadBalancersOfDeleted,
		"StoredStatus": testStoredStatus, "ForeignStatus": testForeignStatus, "Restored": testRestored,
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s, r)
		})
	}
}

func testOptIn(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.newHosted(t, "optin", nil)
	h.publish(t)
	g.Eventually(h.reason(t)).Should(Equal(string(problem.AddressCheckPending)))
	always := []string{"ServiceAccount oooi-edge", "Role oooi-edge", "RoleBinding oooi-edge", "RoleBinding oooi-controlplane", "ConfigMap oooi-plan", "ConfigMap oooi-status",
		"NetworkPolicy " + desired.EdgePolicy, "NetworkAttachmentDefinition " + wire.EdgeNADName(h.network("vlan100"))}
	names := func() []string { return slices.Sorted(maps.Keys(h.snapshot(t))) }
	g.Eventually(names).Should(ConsistOf(append(slices.Clone(always), "Deployment "+wire.ACDDeploymentName(h.network("vlan100")))), "the status is stored last")
	g.Expect(h.condition(t).Message).To(ContainSubstring("checking for address conflicts"))
	g.Expect(h.plan(t)).To(And(ContainSubstring(`"203.0.113.10"`), ContainSubstring("oauth-clusters-optin.apps.mgmt.example.com")))
	h.edgeServes(t)
	h.wellServed(t)
	c := h.condition(t)
	g.Expect(c.Status).To(Equal(metav1.ConditionTrue))
	g.Expect(c.ObservedGeneration).To(Equal(h.hostedCluster(t).Generation))
	g.Expect(c.Message).To(ContainSubstring("DHCP, DNS, NTP and proxy are ready on network"))
	g.Eventually(names).Should(ConsistOf(append(slices.Clone(always), "PodDisruptionBudget "+wire.BudgetName(h.network("vlan100")),
		"Deployment "+h.edge(), "Deployment "+wire.EdgeDeploymentName(h.network("vlan100"), network.Edge{Number: 2}))))

	hash := func() string { m := h.condition(t).Message; return m[max(0, len(m)-len("12345678)")):] }
	before := hash()
	h.annotate(t, "lease-time", "30m")
	g.Eventually(hash).ShouldNot(Equal(before), "who annotated can wait for it")
	g.Expect(h.plan(t)).To(ContainSubstring(`"leaseTime": "30m0s"`))
}

// testSecondReconcile of a world with a part of each kind.
func testSecondReconcile(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.newHosted(t, "twice", map[string]string{"allowed-hosts": "auto,mirror.example.com:5000", "apps-address": "192.168.100.80", "dns-records": "git.example.com=192.168.100.9"})
	second := &nadv1.NetworkAttachmentDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "storage", Annotations: map[string]string{settings.Prefix + "cidr": "192.168.150.0/24"}},
		Spec: nadv1.NetworkAttachmentDefinitionSpec{Config: `{"cniVersion":"0.3.1","name":"storage","type":"bridge","bridge":"br-twice","vlan":150,"ipam":{}}`}}
	g.Expect(s.admin.Create(t.Context(), second)).To(Succeed())
	np := &hyperv1.NodePool{}
	g.Expect(s.admin.Get(t.Context(), h.key, np)).To(Succeed())
	np.Spec.Platform.Kubevirt.AdditionalNetworks = append(np.Spec.Platform.Kubevirt.AdditionalNetworks, hyperv1.KubevirtNetwork{Name: h.ns + "/storage"})
	g.Expect(s.admin.Update(t.Context(), np)).To(Succeed())
	h.publish(t)
	h.publishService(t, "git", "git.example.com:443")
	h.edgeServes(t)
	h.edgeOfServes(t, "storage")
	h.wellServed(t)
	g.Eventually(func() string { return h.plan(t) }).Should(And(ContainSubstring("192.168.150.0/24"), ContainSubstring("mirror.example.com"), ContainSubstring("192.168.100.80"), ContainSubstring("git:443")))
	h.lease(t)
	again(t, r, h)
	objects, version := h.snapshot(t), h.hostedCluster(t).ResourceVersion
	again(t, r, h)
	again(t, r, h)
	g.Expect(objects).To(And(HaveKey("Lease oooi.192.168.100.10"), HaveKey("Deployment "+h.edgeOf("storage"))))
	g.Expect(h.snapshot(t)).To(Equal(objects))
	g.Expect(h.hostedCluster(t).ResourceVersion).To(Equal(version))
}

func testOptOut(t *testing.T, s *apiServer, _ *Reconciler) {
	for name, value := range map[string]string{"removed": "", "none": "none"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := s.served(t, "out"+name)
			h.lease(t)
			g.Expect(s.admin.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "theirs"}})).To(Succeed())
			theirs := h.ownedByControlPlane(t, "catalog-operator")
			h.annotate(t, "network", value)
			g.Eventually(func() map[string]string { return h.snapshot(t) }).Should(BeEmpty())
			g.Eventually(h.reason(t)).Should(BeEmpty())
			g.Expect(s.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: "vlan100"}, &nadv1.NetworkAttachmentDefinition{})).To(Succeed(), "the machines' own")
			g.Expect(s.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: "theirs"}, &coordinationv1.Lease{})).To(Succeed())
			for _, o := range theirs {
				g.Expect(s.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed(), "HyperShift's own")
				g.Expect(s.admin.Delete(t.Context(), o)).To(Succeed())
			}
			h.annotate(t, "network", "auto")
			h.edgeServes(t)
			g.Eventually(h.reason(t)).Should(Equal(string(explain.ReadyWithWarnings)), "and back again")
		})
	}
}

func testWaits(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.newHosted(t, "waits", nil)
	g.Eventually(h.reason(t)).Should(BeEquivalentTo(problem.WaitingForControlPlane))
	g.Expect(h.snapshot(t)).To(BeEmpty())
	h.publish(t)
	g.Eventually(h.reason(t)).Should(Equal(string(problem.AddressCheckPending)))
}

func testWrongAnnotation(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.newHosted(t, "wrong", map[string]string{"cidr": "192.168.100.0/244"})
	h.publish(t)
	g.Eventually(h.reason(t)).Should(BeEquivalentTo(problem.AnnotationInvalid))
	g.Eventually(func() string { return h.condition(t).Message }).Should(And(ContainSubstring("192.168.100.0/244"), ContainSubstring("Nothing is applied")))
	g.Expect(h.snapshot(t)).To(BeEmpty())
	h.annotate(t, "cidr", "192.168.101.0/24")
	g.Eventually(h.reason(t)).Should(Equal(string(problem.AddressCheckPending)))
	g.Expect(h.plan(t)).To(ContainSubstring("192.168.101.0/24"))
}

func testLastGoodPlan(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "good")
	again(t, r, h)
	before := h.snapshot(t)
	h.annotate(t, "gateway", "10.0.0.1")
	g.Eventually(h.reason(t)).Should(BeEquivalentTo(problem.AddressConflict))
	g.Expect(h.condition(t).Message).To(ContainSubstring("Edges keep serving the previous one."))
	g.Expect(h.snapshot(t)).To(Equal(before))
}

func testDrift(t *testing.T, s *apiServer, _ *Reconciler) {
	h := s.served(t, "drift")
	key := types.NamespacedName{Namespace: h.ns, Name: h.edge()}
	edge := func() *appsv1.Deployment {
		d := &appsv1.Deployment{}
		if err := s.admin.Get(t.Context(), key, d); err != nil {
			return nil
		}
		return d
	}
	// Each is done more than once: the first may be healed by what was still on
	// its way.
	t.Run("an edge deleted", func(t *testing.T) {
		g := NewWithT(t)
		for range 3 {
			before := edge()
			g.Expect(s.admin.Delete(t.Context(), before)).To(Succeed())
			g.Eventually(edge).Should(And(Not(BeNil()), HaveField("UID", Not(Equal(before.UID)))))
		}
	})
	t.Run("an edge changed", func(t *testing.T) {
		g := NewWithT(t)
		for range 3 {
			g.Expect(s.admin.Patch(t.Context(), edge(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":2}}`)))).To(Succeed())
			g.Eventually(func() int32 { return *edge().Spec.Replicas }).Should(BeEquivalentTo(1))
		}
	})
	t.Run("its definition changed", func(t *testing.T) {
		g := NewWithT(t)
		nads := func() nadv1.NetworkAttachmentDefinition {
			list := &nadv1.NetworkAttachmentDefinitionList{}
			g.Expect(s.admin.List(t.Context(), list, client.InNamespace(h.ns), client.MatchingLabels(own.Labels()))).To(Succeed())
			g.Expect(list.Items).To(HaveLen(1))
			return list.Items[0]
		}
		before := nads()
		for range 3 {
			changed := nads()
			g.Expect(s.admin.Patch(t.Context(), &changed, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"config":"{}"}}`)))).To(Succeed())
			g.Eventually(func() string { return nads().Spec.Config }).Should(Equal(before.Spec.Config))
		}
	})
}

func testForeignConditions(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "foreign")
	theirs := func(name string) {
		h.status(t, func(s *hyperv1.HostedClusterStatus) {
			meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: name, Status: metav1.ConditionTrue, Reason: "AsExpected", Message: "theirs"})
		})
	}
	types := func() []string {
		var out []string
		for _, c := range h.hostedCluster(t).Status.Conditions {
			out = append(out, c.Type)
		}
		return out
	}
	theirs("Available")
	h.annotate(t, "cidr", "x")
	g.Eventually(h.reason(t)).Should(BeEquivalentTo(problem.AnnotationInvalid))
	theirs("Progressing")
	g.Expect(types()).To(ConsistOf("Available", "Progressing", own.ConditionType))
	h.annotate(t, "network", "")
	g.Eventually(types).Should(ConsistOf("Available", "Progressing"))
	g.Expect(h.hostedCluster(t).Status.ControlPlaneEndpoint.Host).To(Equal("203.0.113.10"))
}

func testDeletion(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "going")
	again(t, r, h)
	before := h.snapshot(t)
	g.Expect(s.admin.Delete(t.Context(), h.hostedCluster(t))).To(Succeed())
	version := h.hostedCluster(t).ResourceVersion
	h.waitCached(t, r, func(hc *hyperv1.HostedCluster) bool { return !hc.DeletionTimestamp.IsZero() })
	again(t, r, h)
	g.Expect(h.hostedCluster(t).ResourceVersion).To(Equal(version), "it is HyperShift's to end")
	g.Expect(h.snapshot(t)).To(Equal(before), "its machines need the network until they are gone")
	hc := h.hostedCluster(t)
	hc.Finalizers = slices.DeleteFunc(hc.Finalizers, func(f string) bool { return strings.HasPrefix(f, "hypershift") })
	g.Expect(hc.Finalizers).To(BeEmpty(), "we add none")
	g.Expect(s.admin.Update(t.Context(), hc)).To(Succeed())
	g.Eventually(func() bool { return apierrors.IsNotFound(s.admin.Get(t.Context(), h.key, hc)) }).Should(BeTrue())
	h.waitGone(t, r)
	again(t, r, h)
}

// waitCached waits until the operator has seen the HostedCluster so.
func (h hosted) waitCached(t *testing.T, r *Reconciler, so func(*hyperv1.HostedCluster) bool) {
	t.Helper()
	NewWithT(t).Eventually(func() bool {
		hc := &lenient.HostedCluster{}
		return r.Client.Get(t.Context(), h.key, hc) == nil && so(&hc.Fields.HostedCluster)
	}).Should(BeTrue())
}

func (h hosted) waitGone(t *testing.T, r *Reconciler) {
	t.Helper()
	NewWithT(t).Eventually(func() bool {
		return apierrors.IsNotFound(r.Client.Get(t.Context(), h.key, &lenient.HostedCluster{}))
	}).Should(BeTrue())
}

func testPaused(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "paused")
	h.annotate(t, "paused", "true")
	before := h.snapshot(t)
	h.annotate(t, "network", "none")
	h.waitCached(t, r, func(hc *hyperv1.HostedCluster) bool { return !hcp.OptedIn(hc) })
	again(t, r, h)
	g.Expect(h.snapshot(t)).To(Equal(before))
	h.annotate(t, "paused", "")
	g.Eventually(func() map[string]string { return h.snapshot(t) }).Should(BeEmpty())
}

// testNetworkRetired: what belonged to a network goes when no NodePool names it and
// no machine is left on it, and nothing else.
func testNetworkRetired(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "retire")
	h.lease(t)
	other := &nadv1.NetworkAttachmentDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "vlan200"},
		Spec: nadv1.NetworkAttachmentDefinitionSpec{Config: `{"cniVersion":"0.3.1","name":"vlan200","type":"bridge","bridge":"br1","vlan":200,"ipam":{}}`}}
	g.Expect(s.admin.Create(t.Context(), other)).To(Succeed())
	np := &hyperv1.NodePool{}
	g.Expect(s.admin.Get(t.Context(), h.key, np)).To(Succeed())
	old := h.used(t)
	metav1.SetMetaDataAnnotation(&np.ObjectMeta, settings.Prefix+"cidr", "192.168.200.0/24")
	np.Spec.Platform.Kubevirt.AdditionalNetworks = []hyperv1.KubevirtNetwork{{Name: h.ns + "/vlan200"}}
	g.Expect(s.admin.Update(t.Context(), np)).To(Succeed())
	names := func() string {
		var out []string
		for name := range h.snapshot(t) {
			out = append(out, name)
		}
		return strings.Join(out, " ")
	}
	g.Eventually(names).Should(ContainSubstring("vlan200"))
	g.Expect(names()).To(And(ContainSubstring("vlan100"), ContainSubstring("Lease")), "a machine is still on it")
	g.Expect(s.admin.Delete(t.Context(), old)).To(Succeed())
	g.Eventually(names).Should(And(ContainSubstring("vlan200"), Not(ContainSubstring("vlan100")), Not(ContainSubstring("Lease"))))
	g.Eventually(func() int { return len(h.snapshot(t)) }).Should(Equal(9))
}

// testUntouched: nothing is written to a cluster that did not opt in, and nothing is said of it.
func testUntouched(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.newHosted(t, "alone", map[string]string{"network": "none"})
	h.publish(t)
	version := h.hostedCluster(t).ResourceVersion
	h.waitCached(t, r, func(hc *hyperv1.HostedCluster) bool { return hc.ResourceVersion == version })
	again(t, r, h)
	g.Expect(h.hostedCluster(t).ResourceVersion).To(Equal(version))
	g.Expect(h.snapshot(t)).To(BeEmpty())
}
