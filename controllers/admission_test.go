package controllers

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/policies"
	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/apiserver"
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

// TestAdmissionPolicies as they are installed, on a real API server.
func TestAdmissionPolicies(t *testing.T) {
	t.Parallel()
	s := newAPIServer(t)
	t.Run("EdgesKeepToTheirLeases", func(t *testing.T) { testEdgesKeepToTheirLeases(t, s) })
	t.Run("OwnReport", func(t *testing.T) { testOwnReport(t, s) })
	t.Run("CoverAllWrites", func(t *testing.T) { testPolicyCoversAllWrites(t, s) })
	t.Run("KeptByTheKeeper", func(t *testing.T) { testAdmissionKeeper(t, s) })
	t.Run("KeeperOwnsTheRole", func(t *testing.T) { testKeeperOwnsTheRole(t, s) })
	t.Run("KeeperReportsTheRole", func(t *testing.T) { testKeeperReportsTheRole(t, s) })
	t.Run("KustomizeTakesOver", func(t *testing.T) { testKustomizeTakesOver(t, s) })
	t.Run("KeeperIsReady", func(t *testing.T) { testKeeperIsReady(t, s) })
	t.Run("Checked", func(t *testing.T) { testPolicyCheck(t, s) })
}

// testEdgesKeepToTheirLeases: the rights of an edge are over every Lease where it
// runs; the policy leaves it its own.
func testEdgesKeepToTheirLeases(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	const ns = "clusters-blue"
	g.Expect(s.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
	s.bindEdges(t, ns)
	edge := s.as(t, ns, wire.ServiceAccount)
	lease := func(name string, labels map[string]string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels}}
	}
	leader := lease("kube-controller-manager", nil)
	g.Eventually(func() error { return edge.Create(t.Context(), leader.DeepCopy(), client.DryRunAll) }).
		Should(MatchError(ContainSubstring("begins with oooi.")), "RBAC allows it, the policy does not")

	for _, name := range []string{"oooi.clusters.vlan100.192.168.100.10", "oooi-report.oooi-edge-clusters-vlan100-1"} {
		l := lease(name, own.Labels())
		g.Expect(edge.Create(t.Context(), l)).To(Succeed(), name)
		maps.Copy(l.Labels, map[string]string{wire.LabelVM: "worker-0", wire.LabelMAC: "02-00-00-00-00-01", wire.LabelAddress: "192.168.100.10"})
		l.Annotations = map[string]string{wire.AnnotationReport: strings.Repeat("x", 8<<10), wire.AnnotationVM: "worker-0", wire.AnnotationMAC: "02:00:00:00:00:01"}
		g.Expect(edge.Update(t.Context(), l)).To(Succeed(), name)
		g.Expect(edge.Delete(t.Context(), l)).To(Succeed(), name)
	}
	g.Expect(s.admin.Create(t.Context(), leader)).To(Succeed(), "nobody else is concerned")
	foreign := lease("oooi.foreign", map[string]string{wire.LabelPartOf: wire.Owner})
	g.Expect(s.admin.Create(t.Context(), foreign)).To(Succeed())
	claimed := foreign.DeepCopy()
	claimed.Labels = own.Labels()
	ours := lease("oooi.own", own.Labels())
	g.Expect(edge.Create(t.Context(), ours)).To(Succeed())
	others := ours.DeepCopy()
	others.Labels["example.com/team"], others.Annotations, others.Finalizers = "x", map[string]string{"example.com/note": strings.Repeat("x", 9<<10)}, []string{"example.com/other"}
	g.Expect(s.admin.Update(t.Context(), others)).To(Succeed())
	others.Annotations[wire.AnnotationReport] = "{}"
	g.Expect(edge.Update(t.Context(), others)).To(Succeed(), "what another client set stays")
	ours = others.DeepCopy()
	ours.Labels = nil
	long, yes := strings.Repeat("x", 1<<20), true
	with := func(change func(*coordinationv1.Lease)) error {
		l := lease("oooi.new", own.Labels())
		change(l)
		return edge.Create(t.Context(), l)
	}
	for what, err := range map[string]error{
		"takes the controller manager's":  edge.Update(t.Context(), leader),
		"removes it":                      edge.Delete(t.Context(), leader),
		"labels another as its own":       edge.Create(t.Context(), lease("kube-scheduler", own.Labels())),
		"names one nearly like its own":   edge.Create(t.Context(), lease("oooi-reports.x", own.Labels())),
		"makes one without labels":        edge.Create(t.Context(), lease("oooi.x", nil)),
		"makes one with another's label":  edge.Create(t.Context(), lease("oooi.x", map[string]string{wire.LabelPartOf: wire.Owner, wire.LabelManagedBy: "helm"})),
		"takes the labels off its own":    edge.Update(t.Context(), ours),
		"makes a foreign one its own":     edge.Update(t.Context(), claimed),
		"keeps the namespace from ending": with(func(l *coordinationv1.Lease) { l.Finalizers = []string{"example.com/never"} }),
		"keeps an owner from ending": with(func(l *coordinationv1.Lease) {
			l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x", BlockOwnerDeletion: &yes}}
		}),
		"names an owner that does not exist": with(func(l *coordinationv1.Lease) {
			l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"}}
		}),
		"fills memory with managed fields": with(func(l *coordinationv1.Lease) {
			var names []string
			for i := range 30000 {
				names = append(names, fmt.Sprintf(`"f:example.com/%d":{}`, i))
			}
			l.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "coordination.k8s.io/v1", FieldsType: "FieldsV1",
				FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{"f:labels":{` + strings.Join(names, ",") + `}}}`)}}}
		}),
		"fills memory with letters of three bytes": with(func(l *coordinationv1.Lease) {
			l.Annotations = map[string]string{wire.AnnotationReport: strings.Repeat("€", 8<<10)}
		}),
		"fills memory with a report": with(func(l *coordinationv1.Lease) {
			l.Annotations = map[string]string{wire.AnnotationReport: long[:8<<10+1]}
		}),
		"fills memory with a name":          with(func(l *coordinationv1.Lease) { l.Annotations = map[string]string{wire.AnnotationVM: long[:8<<10]} }),
		"fills memory with an annotation":   with(func(l *coordinationv1.Lease) { l.Annotations = map[string]string{wire.Prefix + "x": "y"} }),
		"fills memory with a holder":        with(func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = &long }),
		"adds a label of others":            with(func(l *coordinationv1.Lease) { l.Labels["example.com/team"] = "x" }),
		"removes a foreign one of its name": edge.Delete(t.Context(), foreign),
	} {
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "an edge %s: %v", what, err)
	}
}

// testOwnReport: the token of a pod writes the report of this pod. That of another edge would be believed, and many would be held in memory.
func testOwnReport(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	const ns, pod = "clusters-violet", "oooi-edge-clusters-vlan100-1-6d4cf56db6-x2x5q"
	g.Expect(s.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
	s.bindEdges(t, ns)
	stolen := s.asPod(t, ns, wire.ServiceAccount, pod)
	report := func(name string) error {
		return stolen.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: wire.NamedLabels(wire.NameReport)}})
	}
	g.Eventually(func() error { return report("oooi-report.oooi-edge-clusters-vlan100-1") }).Should(Succeed(), "its rights are known")
	for what, err := range map[string]error{
		"that of its peer": report("oooi-report.oooi-edge-clusters-vlan100-2"),
		"many":             report("oooi-report.oooi-edge-clusters-vlan100-1-x"),
		"one for a lease":  report("oooi.clusters.vlan100.192.168.100.11"),
	} {
		g.Expect(err).To(MatchError(ContainSubstring("the report of its own pod")), what)
	}
}

// testPolicyCoversAllWrites: whatever the operator's roles let it write, its policy judges. Events
// are the exception.
func testPolicyCoversAllWrites(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	var rules []rbacv1.PolicyRule
	for _, name := range []string{"oooi", own.ControlPlaneRole} {
		role := &rbacv1.ClusterRole{}
		g.Expect(s.admin.Get(t.Context(), client.ObjectKey{Name: name}, role)).To(Succeed())
		rules = append(rules, role.Rules...)
	}
	roles := &rbacv1.RoleList{}
	g.Expect(s.admin.List(t.Context(), roles, client.InNamespace("oooi-system"))).To(Succeed())
	for _, role := range roles.Items {
		rules = append(rules, role.Rules...)
	}
	policies, err := admission.Policies()
	g.Expect(err).NotTo(HaveOccurred())
	covered := policies[0].Policy.Spec.MatchConstraints.ResourceRules
	judged := 0
	for _, r := range rules {
		if !slices.ContainsFunc(r.Verbs, func(verb string) bool { return slices.Contains([]string{"create", "update", "patch", "delete"}, verb) }) {
			continue
		}
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				if resource == "events" {
					continue
				}
				judged++
				g.Expect(slices.ContainsFunc(covered, func(c admissionregistrationv1.NamedRuleWithOperations) bool {
					return slices.Contains(c.APIGroups, group) && slices.Contains(c.Resources, resource) && len(c.Operations) == 3
				})).To(BeTrue(), "%s of %q", resource, group)
			}
		}
	}
	g.Expect(judged).To(BeNumerically(">", 8))
}

// keeper is the AdmissionKeeper with the rights of the bundle, and a client with these rights.
func (s *apiServer) keeper(t *testing.T) (*policies.Keeper, client.Client) {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(filepath.Join("..", "config", "olm", "admission.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, u := range apiserver.Objects(t, text) {
		g.Expect(client.IgnoreAlreadyExists(s.admin.Create(t.Context(), u))).To(Succeed())
	}
	c := s.as(t, "oooi-system", "oooi-admission")
	return &policies.Keeper{Client: c, Log: logr.Discard(), Namespace: "oooi-system", Interval: 100 * time.Millisecond}, c
}

// testAdmissionKeeper: it creates the policies, restores them, and has rights over no others. The
// operator has rights over none.
func testAdmissionKeeper(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	k, account := s.keeper(t)
	all, err := admission.Policies()
	g.Expect(err).NotTo(HaveOccurred())
	for _, p := range all {
		g.Expect(s.admin.Delete(t.Context(), &p.Policy)).To(Succeed())
		g.Expect(s.admin.Delete(t.Context(), &p.Binding)).To(Succeed())
	}
	g.Expect(s.applyAll(t, k)).To(Succeed())
	s.awaitPolicies(t)
	for _, p := range all {
		for _, o := range []client.Object{p.Policy.DeepCopy(), p.Binding.DeepCopy()} {
			orphan := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))
			g.Expect(s.admin.Patch(t.Context(), o, orphan)).To(Succeed())
		}
	}
	g.Expect(s.applyAll(t, k)).To(Succeed(), "another client took the owner away")
	version := map[string]string{}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	for _, p := range all {
		g.Expect(s.admin.Get(t.Context(), client.ObjectKey{Name: p.Policy.Name}, policy)).To(Succeed())
		version[policy.Name] = policy.ResourceVersion
		g.Expect(policy.OwnerReferences).To(ConsistOf(HaveField("UID", s.namespaceUID(t))), "it is deleted with the namespace")
	}
	g.Expect(s.applyAll(t, k)).To(Succeed())
	for _, p := range all {
		g.Expect(s.admin.Get(t.Context(), client.ObjectKey{Name: p.Policy.Name}, policy)).To(Succeed())
		g.Expect(policy.ResourceVersion).To(Equal(version[policy.Name]), "what is as it should be is not written")
	}

	other := policy.DeepCopy()
	other.Name, other.ResourceVersion = "another", ""
	g.Expect(s.admin.Create(t.Context(), other.DeepCopy())).To(Succeed())
	webhook := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "another"}}
	g.Expect(s.admin.Create(t.Context(), webhook)).To(Succeed())
	merge := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`))
	another := other.DeepCopy()
	another.Name = "a-third"
	for what, err := range map[string]error{
		"changes another policy":  account.Patch(t.Context(), other, merge),
		"removes another":         account.Delete(t.Context(), other),
		"creates another":         account.Create(t.Context(), another.DeepCopy()),
		"changes a webhook":       account.Patch(t.Context(), webhook, merge),
		"reads a Secret":          account.Get(t.Context(), client.ObjectKey{Namespace: "oooi-system", Name: "x"}, &corev1.Secret{}),
		"reads another Namespace": account.Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{}),
		"changes its Namespace":   account.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "oooi-system"}}, merge),
	} {
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "the keeper %s: %v", what, err)
	}
	operator := s.asOperator(t)
	for _, p := range all {
		for what, err := range map[string]error{
			"changes it":                operator.Patch(t.Context(), &p.Policy, merge),
			"removes it":                operator.Delete(t.Context(), &p.Policy),
			"changes its binding":       operator.Patch(t.Context(), &p.Binding, merge),
			"removes its binding":       operator.Delete(t.Context(), &p.Binding),
			"removes the role it needs": operator.Delete(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: own.ControlPlaneRole}}),
			"creates another":           operator.Create(t.Context(), another.DeepCopy()),
		} {
			g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "the operator %s: %v", what, err)
		}
	}
}

// neverMatches adds to a policy what makes it match nothing, and what writes objects to the audit log.
const neverMatches = `[
	{"op": "add", "path": "/spec/matchConditions/0", "value": {"name": "never", "expression": "false"}},
	{"op": "add", "path": "/spec/auditAnnotations", "value": [{"key": "object", "valueExpression": "string(object.metadata.name)"}]},
	{"op": "add", "path": "/spec/matchConstraints/excludeResourceRules", "value": [{"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}]}]`

// testPolicyCheck: the operator reports a policy that is missing or changed, and one that does not
// cover its account.
func testPolicyCheck(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	registry := prometheus.NewRegistry()
	operator := s.asOperator(t)
	c := &policies.Check{Live: operator, Metrics: report.NewMetrics(registry).Set, Log: logr.Discard(), Account: testOptions.ServiceAccount, Every: testIntervals.policies}
	all, err := admission.Policies()
	g.Expect(err).NotTo(HaveOccurred())
	k, _ := s.keeper(t)
	g.Expect(s.applyAll(t, k)).To(Succeed())
	for _, p := range all {
		g.Expect(c.InForce(t.Context(), p)).To(Succeed(), "what is applied is what is shipped, with the API server's defaults")

		binding := p.Binding.DeepCopy()
		g.Expect(s.admin.Patch(t.Context(), binding, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"validationActions":["Audit"]}}`)))).To(Succeed())
		g.Expect(c.InForce(t.Context(), p)).To(MatchError(ContainSubstring("Binding is not as shipped")))
		g.Expect(s.applyAll(t, k)).To(Succeed())
		g.Expect(s.admin.Patch(t.Context(), p.Policy.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"matchConstraints":{"matchPolicy":"Exact"}}}`)))).To(Succeed())
		g.Expect(c.InForce(t.Context(), p)).To(MatchError(ContainSubstring("ValidatingAdmissionPolicy is not as shipped")))
		g.Expect(s.applyAll(t, k)).To(Succeed())
		g.Expect(s.admin.Patch(t.Context(), p.Policy.DeepCopy(), client.RawPatch(types.JSONPatchType, []byte(neverMatches)))).To(Succeed())
		g.Expect(c.InForce(t.Context(), p)).To(MatchError(ContainSubstring("ValidatingAdmissionPolicy is not as shipped")))
		g.Expect(s.applyAll(t, k)).To(Succeed())
		g.Expect(c.InForce(t.Context(), p)).To(Succeed(), "what another client added is removed")
	}
	for _, p := range all {
		g.Expect(s.admin.Delete(t.Context(), p.Binding.DeepCopy())).To(Succeed())
		g.Expect(c.InForce(t.Context(), p)).To(MatchError(ContainSubstring("not")))
		g.Expect(s.admin.Delete(t.Context(), p.Policy.DeepCopy())).To(Succeed())
		g.Expect(c.InForce(t.Context(), p)).To(MatchError(ContainSubstring("not found")))
	}
	inForce := func() map[string]float64 { return gauges(t, registry, "oooi_admission_policy_in_force") }
	each := func(value float64) map[string]float64 {
		return map[string]float64{admission.Operator: value, admission.EdgeLeases: value, admission.Annotations: value, admission.AnnotationKeys: value}
	}
	run := func(f func(context.Context) error) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f(ctx) }()
		t.Cleanup(func() {
			stop()
			g.Expect(<-ended).To(Succeed())
		})
	}
	run(c.Start)
	g.Eventually(inForce).Should(Equal(each(0)))
	run(k.Run)
	g.Eventually(inForce).Should(Equal(each(1)))

	renamed := *c
	renamed.Account.Name = "renamed"
	g.Expect(renamed.InForce(t.Context(), all[0])).To(MatchError(ContainSubstring("runs as renamed")))
}
