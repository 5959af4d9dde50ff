package status

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/blue"
)

// blueFacts are of a cluster with all facts, of which edge 2 is gone.
func blueFacts() Facts {
	p := blue.Plan()
	f := Facts{
		LiveCluster: blue.LiveCluster(), Read: true, Settings: "01234567", Stored: blue.Report(), Inputs: blue.Report().Inputs, Build: blue.Report().Build, PlanHash: blue.Report().Plan, Plan: p, PlanRead: true, LeasesRead: true, Reports: blue.Reports(),
		Slices: []discoveryv1.EndpointSlice{*blue.EndpointSlice("ignition-server-proxy", "10.0.0.9")},
		Ready:  map[string]bool{wire.EdgeDeploymentName(p.Networks[0], p.Networks[0].Edges[0]): true},
	}
	for _, l := range blue.Leases() {
		f.Leases = append(f.Leases, Leased{l.Network, l.Lease})
	}
	return f
}

// TestStatusText: what a user reads of a cluster that has lost an edge.
func TestStatusText(t *testing.T) {
	var out bytes.Buffer
	g := NewWithT(t)
	g.Expect(OutputOf(blueFacts(), blue.At).write(&out, "text", false, true)).To(Succeed())
	g.Expect("\n" + out.String()).To(Equal(`
HostedCluster clusters/blue: nodes boot
  Nodes can boot: DHCP is ready.
NetworkReady: True (ReadyWithWarnings) since 2026-03-04T05:06:07Z

Network clusters/vlan100 (192.168.100.0/24): VMs boot from it. Next-hop VIP 192.168.100.2, service VIP 192.168.100.3
  EDGE   ADDRESS         READY   CARRIES VMS   REPORTS
  1      192.168.100.4   yes     yes           reaches
  2      192.168.100.5   no      no            unavailable since 2026-03-04T04:06:07Z
  NAME                        ADDRESS             BACKEND                     HEALTH
  ignition.blue.example.com   192.168.100.3:443   ignition-server-proxy:443   no fault reported
  any name                    192.168.100.3:443   vms:443                     unknown
  ALLOWED HOST   ADDRESS             BACKEND       HEALTH
  quay.io        192.168.100.3:443   quay.io:443   edge 1: its address is refused
  LEASE            VM              MAC                 UNTIL                  STATE
  192.168.100.20   blue-worker-1   02:00:00:00:00:01   2026-03-04T07:06:07Z   assigned
  192.168.100.21   -               -                   2026-03-04T06:06:07Z   declined
  192.168.100.22   blue-worker-2   02:00:00:00:00:02   2026-03-04T04:06:07Z   expired
  192.168.100.24   -               -                   9999-01-01T00:00:00Z   blocked

Networks that are not in the plan
  LEASE         VM   MAC                 UNTIL                  STATE
  192.168.7.9   -    02:00:00:00:00:03   2026-03-04T06:06:07Z   assigned

Problems
  Warning EdgeUnavailable: Edge 2 is not ready. Check its node. See https://github.com/cldmnky/oooi/blob/main/docs/problems.md#edgeunavailable

Notes
  Allowed external hosts: quay.io:443.
  3 more problems are not stored.
`))
}

// TestStatusTextUnread: with no rights at all, each value is unknown and the missing rights are named.
func TestStatusTextUnread(t *testing.T) {
	var out bytes.Buffer
	g := NewWithT(t)
	f := Facts{LiveCluster: hcp.UnreadLiveCluster("clusters", "blue"), Plan: blue.Plan(), unread: []string{noRight("HostedCluster clusters/blue")}, noReport: "Get the right."}
	g.Expect(OutputOf(f, blue.At).write(&out, "text", false, true)).To(Succeed())
	g.Expect("\n" + out.String()).To(Equal(`
HostedCluster clusters/blue: it is unknown whether nodes boot
  The HostedCluster cannot be read, and the operator's status is unknown. Get the right.
NetworkReady: unknown

Network clusters/vlan100 (192.168.100.0/24): VMs boot from it. Next-hop VIP 192.168.100.2, service VIP 192.168.100.3
  EDGE   ADDRESS         READY     CARRIES VMS   REPORTS
  1      192.168.100.4   unknown   unknown       unknown
  2      192.168.100.5   unknown   unknown       unknown
  NAME                        ADDRESS             BACKEND                     HEALTH
  ignition.blue.example.com   192.168.100.3:443   ignition-server-proxy:443   unknown
  any name                    192.168.100.3:443   vms:443                     unknown
  ALLOWED HOST   ADDRESS             BACKEND       HEALTH
  quay.io        192.168.100.3:443   quay.io:443   unknown
  Edges report an allowed host only if they refuse its address. Whether the others resolve is unknown.
  DHCP leases: unknown

Unknown
  You have no right to read HostedCluster clusters/blue.
`))
}

// TestStatusJSON: the names that scripts rely on.
func TestStatusJSON(t *testing.T) {
	var out bytes.Buffer
	g := NewWithT(t)
	g.Expect(OutputOf(blueFacts(), blue.At).write(&out, "json", false, true)).To(Succeed())
	var got map[string]any
	g.Expect(json.Unmarshal(out.Bytes(), &got)).To(Succeed())
	g.Expect(got).To(And(HaveLen(9), HaveKeyWithValue("version", "v1"), HaveKeyWithValue("cluster", "clusters/blue")))
	g.Expect(got["boot"]).To(Equal(map[string]any{"answer": "yes", "why": "Nodes can boot: DHCP is ready."}))
	n := got["networks"].([]any)[0].(map[string]any)
	g.Expect(n["edges"].([]any)[0]).To(Equal(map[string]any{
		"number": 1.0, "deployment": "oooi-edge-clusters-vlan100-1", "address": "192.168.100.4", "ready": "yes", "carriesVMs": "yes", "level": "reaches"}))
	g.Expect(n["allowedHosts"].([]any)[0]).To(Equal(map[string]any{
		"names": []any{"quay.io"}, "address": "192.168.100.3:443", "backend": "quay.io:443", "health": "edge 1: its address is refused", "resolves": "yes"}))
	g.Expect(n["leases"].([]any)[0]).To(Equal(map[string]any{"network": "clusters.vlan100", "address": "192.168.100.20", "vm": "blue-worker-1",
		"mac": "02:00:00:00:00:01", "until": "2026-03-04T07:06:07Z", "state": "assigned"}))
	g.Expect(got["problems"].([]any)[0]).To(Equal(map[string]any{
		"severity": "Warning", "reason": "EdgeUnavailable", "cause": "", "subject": map[string]any{"kind": "Edge", "namespace": "clusters-blue", "name": "oooi-edge-clusters-vlan100-2"}, "text": "Edge 2 is not ready. Check its node.", "page": "https://github.com/cldmnky/oooi/blob/main/docs/problems.md#edgeunavailable"}))
}

// TestStatusBoot: a condition counts only if it is about the current settings, and what is not known is unknown.
func TestStatusBoot(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *Facts)
		want   explain.Answer
		why    string
	}{
		"all is well":         {func(*Facts) {}, explain.Yes, "Nodes can boot"},
		"an older generation": {func(f *Facts) { f.Generation++ }, explain.Unknown, "generation 3"},
		"former annotations":  {func(f *Facts) { f.Settings = "76543210" }, explain.Unknown, "settings 01234567"},
		"annotations unread":  {func(f *Facts) { f.Settings = "" }, explain.Unknown, "Not all current annotations"},
		"annotations that the operator could not read": {func(f *Facts) { f.Stored.Settings = "" }, explain.Unknown, "could not read all annotations"},
		"no condition":      {func(f *Facts) { f.Conditions = nil }, explain.Unknown, "Check that the operator runs."},
		"not opted in":      {func(f *Facts) { f.Conditions, f.OptedIn = nil, false }, explain.Unknown, "does not have the annotation"},
		"unread":            {func(f *Facts) { f.Read, f.Conditions, f.Stored = false, nil, nil }, explain.Unknown, "cannot be read"},
		"no Report":         {func(f *Facts) { f.Stored, f.noReport = nil, "Get the right." }, explain.Unknown, "Get the right."},
		"no edge is ready":  {func(f *Facts) { f.Ready = map[string]bool{} }, explain.Unknown, "no edge of network clusters/vlan100 is ready"},
		"edges are unknown": {func(f *Facts) { f.Ready = nil }, explain.Yes, "Nodes can boot"},
		"the operator says no": {func(f *Facts) {
			f.Conditions[0].Status, f.Stored.Ready = metav1.ConditionFalse, false
			f.Stored.Boots, f.Stored.Summary = explain.No, "In new words."
		}, explain.No, "In new words."},
		"no plan": {func(f *Facts) {
			f.Plan, f.PlanRead, f.NoPlan = network.Plan{}, false, "ConfigMap x does not exist."
		}, explain.Unknown, "ConfigMap x does not exist."},
		"no plan, as no network is asked for": {func(f *Facts) {
			f.Stored.Plan = ""
			f.Plan, f.PlanRead, f.NoPlan = network.Plan{}, false, "ConfigMap x does not exist."
		}, explain.Yes, "Nodes can boot"},
		"no right to read the plan": {func(f *Facts) { f.Plan, f.PlanRead = network.Plan{}, false }, explain.Yes, "Nodes can boot"},
		"only a part waits":         {func(f *Facts) { f.Conditions[0].Status, f.Stored.Ready = metav1.ConditionFalse, false }, explain.Yes, "Nodes can boot"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := blueFacts()
			c.change(&f)
			r := OutputOf(f, blue.At)
			g.Expect(r.Boot.Answer).To(Equal(c.want), r.Boot.Why)
			g.Expect(r.Boot.Why).To(ContainSubstring(c.why))
			g.Expect(verdict([]Output{r}) == nil).To(Equal(c.want == explain.Yes))
			g.Expect(settled([]Output{r})).To(Equal(c.want == explain.Yes && f.Conditions[0].Status == metav1.ConditionTrue))
		})
	}
}

// TestStatusCarries: of two edges that both serve, that with connections.
func TestStatusCarries(t *testing.T) {
	p := blue.Plan()
	n := p.Networks[0]
	one, two := wire.EdgeReportLease(n, n.Edges[0]).Name, wire.EdgeReportLease(n, n.Edges[1]).Name
	f := blueFacts()
	carries := func() [2]explain.Answer { return [2]explain.Answer{f.carries(n, n.Edges[0]), f.carries(n, n.Edges[1])} }
	g := NewWithT(t)
	g.Expect(carries()).To(Equal([2]explain.Answer{explain.Yes, explain.No}))
	f.Reports[one] = reported.EdgeReport{Edge: 1, Level: reported.LevelReaches, Peer: reported.PeerServing}
	g.Expect(carries()).To(Equal([2]explain.Answer{explain.Unknown, explain.Unknown}))
	f.Ready[wire.EdgeDeploymentName(n, n.Edges[1])] = true
	f.Reports[two] = reported.EdgeReport{Edge: 2, Level: reported.LevelReaches, Peer: reported.PeerUnreachable}
	g.Expect(carries()).To(Equal([2]explain.Answer{explain.Unknown, explain.Unknown}))
	f.Reports[one] = reported.EdgeReport{Edge: 1, Level: reported.LevelReaches, Peer: reported.PeerServing, Connected: reported.ConnectedNo}
	f.Reports[two] = reported.EdgeReport{Edge: 2, Level: reported.LevelReaches, Peer: reported.PeerServing, Connected: reported.ConnectedYes}
	g.Expect(carries()).To(Equal([2]explain.Answer{explain.No, explain.Yes}))
	n.Edges = n.Edges[:1]
	g.Expect(f.carries(n, n.Edges[0])).To(Equal(explain.Yes))
}

// TestStatusDarkControlPlane: nodes do not boot while no edge reaches what they need, whatever the condition says.
func TestStatusDarkControlPlane(t *testing.T) {
	g := NewWithT(t)
	f := blueFacts()
	n := f.Plan.Networks[0]
	one, two := wire.EdgeReportLease(n, n.Edges[0]).Name, wire.EdgeReportLease(n, n.Edges[1]).Name
	ignition := network.Backend{Name: "ignition-server-proxy:443", Service: network.IgnitionService, Port: 443}
	f.Plan.Networks[0].Backends = []network.Backend{ignition}
	dark := reported.EdgeReport{Edge: 1, Level: reported.LevelServes, DarkBackends: []string{ignition.Name}}
	answer := func() statusAnswer { return OutputOf(f, blue.At).Boot }
	g.Expect(answer().Answer).To(Equal(explain.Yes))
	f.Reports[one] = dark
	g.Expect(answer()).To(Equal(statusAnswer{explain.No, "New nodes cannot boot now. " + explain.Problem(problem.New(problem.NoEdgeReachesEndpoint, problem.Subject{}, problem.Args{"service": {ignition.Service}})).String()}))
	f.Ready[wire.EdgeDeploymentName(n, n.Edges[1])] = true
	f.Reports[two] = reported.EdgeReport{Edge: 2, Level: reported.LevelReaches}
	g.Expect(answer().Answer).To(Equal(explain.Yes), "the other edge reaches it")
}

// TestStatusAgreesWithTheOperator: of edges that reach no endpoint of a Service, both say the same about nodes.
func TestStatusAgreesWithTheOperator(t *testing.T) {
	for service, want := range map[string]explain.Answer{
		network.APIService: explain.No, network.IgnitionService: explain.No, network.KonnectivityService: explain.Yes, network.OAuthService: explain.Yes,
	} {
		g := NewWithT(t)
		f := blueFacts()
		n := &f.Plan.Networks[0]
		n.Backends = []network.Backend{{Name: service + ":443", Service: service, Port: 443}}
		one := reported.EdgeReport{Edge: 1, Level: reported.LevelReaches, DarkBackends: []string{service + ":443"}}
		if service == network.APIService {
			one.Level = reported.LevelServes
		}
		f.Reports[wire.EdgeReportLease(*n, n.Edges[0]).Name] = one
		stored := explain.Status{Plan: f.Plan, Applied: true, Running: true, ReadyEdges: map[string]int{n.Name: 1}, Problems: reported.EdgesReachNoEndpoint(*n, 1, []reported.EdgeReport{one})}
		g.Expect(stored.Report().Boots).To(Equal(want), service)
		g.Expect(OutputOf(f, blue.At).Boot.Answer).To(Equal(want), service)
	}
}

// TestStatusWithoutPods: nodes do not boot while a Service that they need has no pod. No edge reports that.
func TestStatusWithoutPods(t *testing.T) {
	for service, want := range map[string]statusAnswer{
		network.APIService:          {explain.No, "Nodes cannot boot now."},
		network.IgnitionService:     {explain.No, "New nodes cannot boot now."},
		network.KonnectivityService: {explain.Yes, "Nodes can become Ready, but kubectl logs and exec fail now."},
	} {
		g := NewWithT(t)
		f := blueFacts()
		b := network.Backend{Name: service + ":443", Service: service, Port: 443}
		f.Plan.Networks[0].Backends = []network.Backend{b}
		f.Slices = []discoveryv1.EndpointSlice{*blue.EndpointSlice(service, "10.0.0.9")}
		g.Expect(OutputOf(f, blue.At).Boot.Answer).To(Equal(explain.Yes))
		f.Slices = []discoveryv1.EndpointSlice{*blue.EndpointSlice(service)}
		r := OutputOf(f, blue.At)
		g.Expect(r.Boot).To(Equal(statusAnswer{want.Answer, want.Why + " Service " + service + " of the control plane has no endpoint. Check its pods."}))
		if want.Answer == explain.No {
			g.Expect(verdict([]Output{r})).To(HaveOccurred(), "the exit code")
			g.Expect(settled([]Output{r})).To(BeFalse(), "--wait")
		}
	}
}

// TestStatusWithoutReach: a yes needs an edge that reaches the API server, if edges report it.
func TestStatusWithoutReach(t *testing.T) {
	f := blueFacts()
	api := network.Backend{Name: "kube-apiserver:6443", Service: network.APIService, Port: 6443}
	f.Plan.Networks[0].Backends = []network.Backend{api}
	one := wire.EdgeReportLease(f.Plan.Networks[0], f.Plan.Networks[0].Edges[0]).Name
	for level, want := range map[string]explain.Answer{
		reported.LevelReaches: explain.Yes, reported.LevelServes: explain.Unknown, reported.LevelNothing: explain.Unknown,
		"": explain.Yes, // It does not report yet.
	} {
		g := NewWithT(t)
		f.Reports[one] = reported.EdgeReport{Edge: 1, Level: level}
		boot := OutputOf(f, blue.At).Boot
		g.Expect(boot.Answer).To(Equal(want), level+": "+boot.Why)
		if want == explain.Unknown {
			g.Expect(boot.Why).To(ContainSubstring("no edge of network clusters/vlan100 reports that it reaches the hosted API server"))
		}
	}
}

// TestStatusOldReport: the last state of an edge that no longer reports is unknown, and so is a yes that rests on it.
func TestStatusOldReport(t *testing.T) {
	at := func(age time.Duration) Output {
		f := blueFacts()
		n := &f.Plan.Networks[0]
		n.Backends = append(n.Backends, network.Backend{Name: "kube-apiserver:6443", Service: network.APIService, Port: 6443})
		f.renewed = map[string]time.Time{wire.EdgeReportLease(*n, n.Edges[0]).Name: blue.At.Add(-age)}
		return OutputOf(f, blue.At)
	}
	g := NewWithT(t)
	r := at(4 * time.Minute)
	g.Expect(r.Boot.Answer).To(Equal(explain.Yes), r.Boot.Why)
	g.Expect(r.Networks[0].Edges[0].Level).To(Equal(reported.LevelReaches))
	r = at(6 * time.Minute)
	edge := r.Networks[0].Edges[0]
	g.Expect(r.Boot.Answer).To(Equal(explain.Unknown), r.Boot.Why)
	g.Expect(edge.Level).To(BeEmpty())
	g.Expect(edge.CarriesVMs).To(Equal(explain.Unknown))
	g.Expect(r.Networks[0].Endpoints[0].Health).To(Equal("unknown"))
	var out bytes.Buffer
	g.Expect(r.write(&out, "text", false, true)).To(Succeed())
	g.Expect(out.String()).To(ContainSubstring("  1      192.168.100.4   yes     unknown       unknown: no report since 2026-03-04T05:00:07Z\n"))
}

// TestNotRunning: what a user needs to know about a pod that does not run.
func TestNotRunning(t *testing.T) {
	waiting := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{Name: "dhcp",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}}
	}
	for want, status := range map[string]corev1.PodStatus{
		"0/3 nodes are available: no match.": {Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available: no match."}}},
		"container dhcp: ImagePullBackOff denied": waiting("ImagePullBackOff", "denied"),
		"the pod is Pending. Its images: edge:v1": waiting("ContainerCreating", ""),
		"": {Phase: corev1.PodRunning},
	} {
		spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "dhcp", Image: "edge:v1"}, {Name: "dns", Image: "edge:v1"}}}
		NewWithT(t).Expect(notRunning(&corev1.Pod{Spec: spec, Status: status})).To(Equal(want))
	}
}

// TestStatusOfRestored: status says that HyperShift recovers a cluster from a backup, until it has finished. HyperShift sets
// condition HostedClusterRestoredFromBackup of a cluster that was never restored to Unknown, as it copies others.
func TestStatusOfRestored(t *testing.T) {
	const note = "HyperShift has recovered this cluster from a backup since 2026-03-04T05:06:07Z, and has not finished (condition HostedClusterRestoredFromBackup)."
	for name, test := range map[string]struct {
		status      metav1.ConditionStatus
		annotations map[string]string
		shown       bool
	}{
		"never restored": {status: metav1.ConditionUnknown},
		"starts":         {metav1.ConditionUnknown, map[string]string{hyperv1.HostedClusterRestoredFromBackupAnnotation: ""}, true},
		"has not ended":  {metav1.ConditionFalse, map[string]string{hyperv1.HostedClusterRestoredFromBackupAnnotation: ""}, true},
		"has ended now":  {status: metav1.ConditionTrue, annotations: map[string]string{hyperv1.HostedClusterRestoredFromBackupAnnotation: ""}},
		"ended before":   {status: metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			g, f := NewWithT(t), blueFacts()
			u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "clusters", "name": "blue"}, "status": map[string]any{"conditions": []any{
				map[string]any{"type": "HostedClusterRestoredFromBackup", "status": string(test.status), "reason": "StatusUnknown", "lastTransitionTime": "2026-03-04T05:06:07Z"},
			}}}}
			u.SetAnnotations(test.annotations)
			var err error
			f.LiveCluster, err = hcp.ReadLiveCluster(u)
			g.Expect(err).NotTo(HaveOccurred())
			matcher := ContainElement(note)
			if !test.shown {
				matcher = Not(matcher)
			}
			g.Expect(OutputOf(f, blue.At).Notes).To(matcher)
		})
	}
}
