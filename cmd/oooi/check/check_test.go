package check

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/plan"
	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/blue"
	"github.com/cldmnky/oooi/test/facts"
)

// lines are those of all checks, as text.
func lines(t *testing.T, all []checks) string {
	t.Helper()
	var out strings.Builder
	err, want := writeChecks(&out, all, "text"), error(nil)
	matters := strings.ReplaceAll(out.String(), "\n  unknown  other hosted clusters", "")
	switch {
	case strings.Contains(matters, "\n  failure "):
		want = command.Exit(command.ExitFault, nil)
	case strings.Contains(matters, "\n  unknown "):
		want = command.Exit(command.ExitUnknown, nil)
	}
	if want == nil {
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), "the exit code")
	} else {
		NewWithT(t).Expect(err).To(Equal(want), "the exit code")
	}
	return out.String()
}

// checkBlue checks with the rights of api.
func checkBlue(t *testing.T, api client.Reader, name client.ObjectKey) string {
	t.Helper()
	return checkAsking(t, api, name, nil)
}

// checkAsking does the same, and asks whether pods of edges would be taken.
func checkAsking(t *testing.T, api client.Reader, name client.ObjectKey, ask admitter) string {
	t.Helper()
	all, err := checksOf(t.Context(), api, name, network.Permissions{}, ask, nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return lines(t, all)
}

// A checkStep changes a cluster, and has lines of its check.
type checkStep struct {
	name string
	do   func(g *WithT)
	// want are lines, and unwanted parts of others.
	want, unwanted []string
}

// checkFromNothing: of an API server without anything to a cluster that runs.
func checkFromNothing(t *testing.T, server *apiserver.Server) {
	t.Cleanup(func() { blue.RemovePolicies(t, server.Admin) })
	ask, err := newAdmitter(server.Env.Config)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, s := range append(stepsBeforeServing(t, server), stepsOfServing(t, server.Admin)...) {
		t.Run(s.name, func(t *testing.T) {
			g := NewWithT(t)
			s.do(g)
			text := checkAsking(t, server.Admin, client.ObjectKey{}, ask)
			for _, want := range s.want {
				g.Expect(text).To(ContainSubstring(want))
			}
			for _, unwanted := range s.unwanted {
				g.Expect(text).NotTo(ContainSubstring(unwanted))
			}
		})
	}
	t.Run("without rights", func(t *testing.T) { checkWithoutRights(t, server) })
}

// stepsBeforeServing are from nothing to an operator that does not work.
func stepsBeforeServing(t *testing.T, server *apiserver.Server) []checkStep {
	admin := server.Admin
	return []checkStep{
		{"nothing is installed", func(*WithT) {}, []string{
			"  failure  HostedClusters of HyperShift: The cluster does not have this kind. Install HyperShift or multicluster engine first. See " + command.ProblemsPage + "#installationincomplete\n",
			"  failure  NetworkAttachmentDefinitions of Multus: ",
			"  failure  VirtualMachineInstances of KubeVirt: ",
			"  ok       Routes of OpenShift: The management cluster does not have the kind Route. ",
			"  failure  operator: No Deployment has the label app.kubernetes.io/name=oooi. Install oooi.",
			"  warning  admission policies: No admission policy of oooi exists.",
		}, []string{"HostedCluster "}},
		{"a hosted cluster, and no operator", func(*WithT) {
			server.InstallKinds(t)
			blue.Create(t, admin)
			createNode(t, admin, nodeWith("worker-1", "4", "16Gi"))
		}, []string{
			"  ok       pods of edges of clusters-blue/vlan100 are admitted\n", "  warning  nodes for edges of clusters-blue/vlan100: Only node worker-1 has room for an edge, but the network has 2. ",
			"  ok       HostedClusters of HyperShift\n", "  ok       NetworkAttachmentDefinitions of Multus\n", "  failure  operator: ",
			"\nHostedCluster clusters/blue\n", "  unknown  running: The operator has not reported about this cluster. See ",
		}, nil},
		{"the operator, not ready, and a policy that is not bound", func(g *WithT) {
			g.Expect(admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "oooi-system"}})).To(Succeed())
			g.Expect(admin.Create(t.Context(), operatorOf("oooi-system"))).To(Succeed())
			g.Expect(admin.Create(t.Context(), policyOf("oooi-annotations"))).To(Succeed())
		}, []string{
			"  failure  operator: Deployment oooi-system/oooi has no available pod. ",
			"  warning  admission policies: Admission policies without a binding refuse nothing: oooi-annotations. ",
		}, nil},
		{"an operator that does not lead, without rights", func(g *WithT) {
			d := operatorOf("oooi-system")
			g.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(d), d)).To(Succeed())
			d.Status.Replicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = 1, 1, 1
			g.Expect(admin.Status().Update(t.Context(), d)).To(Succeed())
		}, []string{
			"  ok       operator\n", "  failure  operator leader: No pod of the operator is the leader: Lease oooi-system/oooi.densityops.com does not exist, or is not renewed. ",
			"  failure  operator's rights: The ServiceAccount of the operator lacks rights: ", "patch hostedclusters/status",
			"  failure  images of edges: Deployment oooi-system/oooi does not set RELATED_IMAGE_EDGE, so the operator does not start. ",
		}, nil},
	}
}

// stepsOfServing are from a cluster that is served to faults of it.
func stepsOfServing(t *testing.T, admin client.Client) []checkStep {
	return []checkStep{
		{"all of it", func(g *WithT) {
			d := operatorOf("oooi-system")
			g.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(d), d)).To(Succeed())
			d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: command.EnvEdgeImage, Value: "edge:v1"}, {Name: command.EnvEnvoyImage, Value: "envoy:v1"}}
			g.Expect(admin.Update(t.Context(), d)).To(Succeed())
			createNode(t, admin, nodeWith("worker-2", "4", "16Gi"))
			g.Expect(admin.Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "oooi-annotations", Labels: map[string]string{wire.LabelName: wire.Owner}},
				Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "oooi-annotations", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
			})).To(Succeed())
			blue.Tell(t, admin, blue.Settings(t, admin))
			now := metav1.NowMicro()
			g.Expect(admin.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "oooi-system", Name: command.LeaderElectionID},
				Spec: coordinationv1.LeaseSpec{HolderIdentity: new("x"), LeaseDurationSeconds: new(int32(3600)), RenewTime: &now}})).To(Succeed())
			g.Expect(admin.Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "oooi-of-test"},
				RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "oooi-system", Name: "oooi"}}})).To(Succeed())
		}, []string{"  ok       operator\n", "  ok       operator leader\n", "  ok       operator's rights\n", "  ok       admission policies\n", "  ok       nodes boot\n", "  ok       edges of clusters-blue/vlan100\n",
			"  ok       images of edges\n", "  ok       nodes for edges of clusters-blue/vlan100\n"}, []string{"failure", "running"}},
		{"VMs are told more than the edge's interface has, and a node is full", func(g *WithT) {
			p := blue.Plan()
			n := &p.Networks[0]
			n.Name, n.Attachment.Namespace, n.Services, n.DHCP.MTU = "clusters-blue.vlan100", "clusters-blue", network.AllServices(), 9000
			g.Expect(admin.Update(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: wire.PlanConfigMap}, Data: map[string]string{wire.PlanKey: string(p.JSON())}})).To(Succeed())
			edge, full := podOfEdge(`[{"interface":"net1","mtu":1400}]`), podOfEdge("")
			g.Expect(admin.Create(t.Context(), edge)).To(Succeed())
			full.Name, full.Labels, full.Spec.NodeName = "full", nil, "worker-2"
			full.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("16Gi")}
			g.Expect(admin.Create(t.Context(), full)).To(Succeed())
		}, []string{
			"  warning  MTU of clusters-blue/vlan100: DHCP advertises 9000 bytes, but the interface of edge 1 has 1400. ",
			"  warning  nodes for edges of clusters-blue/vlan100: Only node worker-1 has room ", "Other nodes lack room: worker-2 has 0 memory left.",
		}, []string{"failure"}},
		{"a wrong annotation, that the operator has not seen", func(*WithT) {
			blue.Change(t, admin, blue.FirstOf(t, "HostedCluster"), "cidr", "192.168.100.0/244")
		}, []string{
			"  failure  AnnotationInvalid: ", "problems.md#annotationinvalid\n", "  warning  operator's report: The operator's status is about settings ",
		}, []string{"  ok       plan"}},
		{"the NetworkAttachmentDefinition is gone", func(g *WithT) {
			blue.Change(t, admin, blue.FirstOf(t, "HostedCluster"), "cidr", "192.168.100.0/24")
			g.Expect(admin.Delete(t.Context(), blue.FirstOf(t, "NetworkAttachmentDefinition"))).To(Succeed())
		}, []string{"  failure  NetworkMissing: "}, nil},
		{"a backup left a NodePool paused", func(g *WithT) {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"oadp.openshift.io/paused-by":"hypershift-oadp-plugin"}},"spec":{"pausedUntil":"true"}}`))
			g.Expect(admin.Patch(t.Context(), blue.FirstOf(t, "NodePool"), patch)).To(Succeed())
		}, []string{
			"  warning  Paused: NodePool clusters/blue was paused for a backup (annotation oadp.openshift.io/paused-by), and still is. Its changes have no effect. " +
				"If no backup runs, remove that annotation and spec.pausedUntil from it. See " + command.ProblemsPage + "#paused\n",
		}, nil},
	}
}

// checkWithoutRights: what cannot be read is unknown.
func checkWithoutRights(t *testing.T, server *apiserver.Server) {
	admin := server.Admin
	g := NewWithT(t)
	nothing, err := client.New(apiserver.Impersonating(server.Env.Config, "default", "nothing"), client.Options{Scheme: admin.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = checksOf(t.Context(), nothing, client.ObjectKey{}, network.Permissions{}, nil, nil)
	g.Expect(err).To(MatchError(ContainSubstring("HostedClusters: ")))
	text := checkBlue(t, nothing, blue.Key)
	g.Expect(text).NotTo(ContainSubstring("failure"))
	for _, want := range []string{"  unknown  operator: ", "  unknown  what is read: You have no right to read HostedCluster clusters/blue. See ", "  unknown  other hosted clusters: "} {
		g.Expect(text).To(ContainSubstring(want))
	}
	_, err = checksOf(t.Context(), admin, client.ObjectKey{Namespace: "clusters", Name: "none"}, network.Permissions{}, nil, nil)
	g.Expect(err).To(MatchError(ContainSubstring("not found")))
}

// createNode creates a node, with its status.
func createNode(t *testing.T, admin client.Client, n corev1.Node) {
	t.Helper()
	g, status := NewWithT(t), n.Status
	g.Expect(admin.Create(t.Context(), &n)).To(Succeed())
	n.Spec.Taints = nil // The API server adds that it is not ready.
	g.Expect(admin.Update(t.Context(), &n)).To(Succeed())
	n.Status = status
	g.Expect(admin.Status().Update(t.Context(), &n)).To(Succeed())
}

// podOfEdge is that of edge 1 of clusters-blue/vlan100, as Multus joined it.
func podOfEdge(joined string) *corev1.Pod {
	n := network.Network{Name: "clusters-blue.vlan100"}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "edge-1", Labels: wire.EdgeLabels(n, network.Edge{Number: 1}), Annotations: map[string]string{wire.AnnotationNetworkStatus: joined}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "dhcp", Image: "edge:v1"}}},
	}
}

func operatorOf(namespace string) *appsv1.Deployment {
	labels := map[string]string{wire.LabelName: wire.Owner}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "oooi", Labels: labels},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{ServiceAccountName: "oooi", Containers: []corev1.Container{{Name: "manager", Image: "x"}}},
		}},
	}
}

func policyOf(name string) *admissionv1.ValidatingAdmissionPolicy {
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{wire.LabelName: wire.Owner}},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{"*"}, Rule: admissionv1.Rule{APIGroups: []string{"hypershift.openshift.io"}, APIVersions: []string{"*"}, Resources: []string{"hostedclusters"}},
			}}}},
			Validations: []admissionv1.Validation{{Expression: "true"}},
		},
	}
}

// TestCheckOfACluster: what is told of a cluster that runs.
func TestCheckOfACluster(t *testing.T) {
	running := func(change func(*status.Facts)) clusterFacts {
		f := facts.Blue()
		change(&f)
		return clusterFacts{name: "clusters/blue", read: true, optedIn: f.OptedIn, status: status.OutputOf(f, blue.At), planned: &plan.Planned{}}
	}
	for name, c := range map[string]struct {
		facts    clusterFacts
		want     []string
		unwanted string
	}{
		"an edge and a host are lost": {running(func(*status.Facts) {}), []string{
			"  ok       nodes boot\n", "  warning  EdgeUnavailable: Edge 2 is not ready. Check its node. See " + command.ProblemsPage + "#edgeunavailable\n",
			"  warning  edges of clusters/vlan100: 1 of 2 edges are ready. ", "  warning  backend quay.io:443: edge 1: its address is refused. Look at the backends in oooi status. See ",
		}, "failure"},
		"a pod that cannot be scheduled": {running(func(f *status.Facts) {
			f.Ready, f.Pods = map[string]bool{}, map[string]string{"oooi-edge-clusters-vlan100-1": "0/3 nodes are available."}
		}), []string{"  failure  edges of clusters/vlan100: No edge is ready. Check their pods. Edge 1: 0/3 nodes are available. "}, ""},
		"paused": {running(func(f *status.Facts) {
			f.Stored.Problems = []explain.ReportProblem{{Problem: problem.Problem{Severity: problem.SeverityInfo, Reason: problem.Paused}, Text: "The operator is paused."}}
		}), []string{"  warning  Paused: The operator is paused. See "}, "failure"},
		"another address in use than the plan has": {func() clusterFacts {
			on := func(network string) problem.Subject { return problem.Subject{Kind: "Network", Name: network} }
			planned := problem.New(problem.AddressUsedByVM, on("clusters/vlan100"), nil)
			f := running(func(f *status.Facts) {
				f.Stored.Problems = []explain.ReportProblem{{Problem: planned, Text: "Planned."}, {Problem: problem.New(problem.VIPOfHost, on("clusters/vlan200"), nil), Text: "Of an edge."}}
			})
			f.planned.Problems = problem.Problems{planned}
			return f
		}(), []string{"  warning  AddressInUse: VM {vm}", "  warning  AddressInUse: Of an edge. See "}, "Planned."},
		"DHCP of others": {running(func(f *status.Facts) { f.Plan.Networks[0].Services = []network.Service{network.ServiceDNS} }),
			[]string{"  warning  DHCP of clusters/vlan100: Edges run no DHCP server (annotation services). "}, "failure"},
		"the API server has no pod": {running(func(f *status.Facts) {
			n := &f.Plan.Networks[0]
			n.Backends = append(n.Backends, network.Backend{Name: "kube-apiserver:6443", Service: network.APIService, Port: 6443})
			n.Listeners = append(n.Listeners, network.Listener{Address: n.ServiceVIP, Port: 6443, Default: "kube-apiserver:6443"})
			f.Slices = append(f.Slices, *blue.EndpointSlice(network.APIService))
		}), []string{"  failure  nodes boot: Nodes cannot boot now. Service kube-apiserver of the control plane has no endpoint. ",
			"  failure  backend kube-apiserver:6443: The backend has no ready pod. Nodes need it. "}, "  ok       nodes boot"},
		"no edge":             {running(func(f *status.Facts) { f.Ready = map[string]bool{} }), []string{"  failure  edges of clusters/vlan100: No edge is ready. Check their pods. See " + command.ProblemsPage + "#edgenotready\n"}, ""},
		"edges are not known": {running(func(f *status.Facts) { f.Ready = nil }), []string{"  unknown  edges of clusters/vlan100: "}, "failure"},
		"nodes do not boot": {running(func(f *status.Facts) {
			f.Conditions[0].Status, f.Stored.Ready = "False", false
			f.Stored.Boots, f.Stored.Summary = explain.No, "Nodes cannot boot: x."
		}), []string{"  failure  nodes boot: Nodes cannot boot: x. "}, ""},
		"not opted in":    {clusterFacts{name: "clusters/blue", read: true}, []string{"  warning  opted in: The HostedCluster does not have the annotation hostedcluster.densityops.com/network"}, "running"},
		"a plan of parts": {clusterFacts{name: "clusters/blue", read: true, optedIn: true, unread: []string{"Services: no right"}, planned: &plan.Planned{Problems: problem.Problems{{Severity: problem.SeverityError, Reason: problem.NetworkMissing}}}}, []string{"  unknown  NetworkMissing", "  unknown  what is read: Services: no right. See "}, "failure"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			text := lines(t, []checks{clusterChecks(c.facts)})
			for _, want := range c.want {
				g.Expect(text).To(ContainSubstring(want))
			}
			if c.unwanted != "" {
				g.Expect(text).NotTo(ContainSubstring(c.unwanted))
			}
		})
	}
}

// TestCheckExitCodes: what is unknown is no success, unless nothing is missing without it.
func TestCheckExitCodes(t *testing.T) {
	ok, unknown, aside := checked{Name: "a", Verdict: fine}, checked{Name: "b", Verdict: unsure}, checked{Name: "c", Verdict: unsure, aside: true}
	for name, c := range map[string]struct {
		checks []checked
		want   error
	}{
		"nothing is wrong":  {[]checked{ok, {Name: "d", Verdict: warning}}, nil},
		"known enough":      {[]checked{ok, aside}, nil},
		"unknown":           {[]checked{ok, aside, unknown}, command.Exit(command.ExitUnknown, nil)},
		"a failure, anyway": {[]checked{unknown, {Name: "d", Verdict: failure}}, command.Exit(command.ExitFault, nil)},
	} {
		for _, output := range []string{"text", "json"} {
			t.Run(name+" "+output, func(t *testing.T) {
				err := writeChecks(io.Discard, []checks{{Title: "x", Checks: c.checks}}, output)
				if c.want == nil {
					NewWithT(t).Expect(err).NotTo(HaveOccurred())
					return
				}
				NewWithT(t).Expect(err).To(Equal(c.want))
			})
		}
	}
}

// TestCheckJSON: fields and verdicts that scripts rely on.
func TestCheckJSON(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	all := []checks{installationChecks(installation{kinds: []neededKind{{kind: source.PodKind(), of: "x", err: &meta.NoKindMatchError{}}}, policiesErr: errors.New("no")})}
	g.Expect(writeChecks(&out, all, "json")).To(Equal(command.Exit(command.ExitFault, nil)))
	var read map[string]any
	g.Expect(json.Unmarshal([]byte(out.String()), &read)).To(Succeed())
	g.Expect(read).To(HaveKeyWithValue("version", "v1"))
	fields := map[string]bool{}
	for _, m := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(out.String(), -1) {
		fields[m[1]] = true
	}
	for _, f := range []string{"groups", "title", "checks", "name", "verdict", "why", "page", "problems", "reason", "cause", "severity"} {
		g.Expect(fields).To(HaveKey(f))
	}
	g.Expect([]outcome{fine, warning, failure, unsure}).To(Equal([]outcome{"ok", "warning", "failure", "unknown"}))
	g.Expect(string(explain.Unknown)).To(Equal(string(unsure)))
}
