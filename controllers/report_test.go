package controllers

import (
	"slices"
	"strings"
	"testing"
	"time"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/apply"
	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

func deployment(change func(*appsv1.Deployment)) appsv1.Deployment {
	d := appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "oooi-edge-clusters-vlan100-1", Namespace: "clusters-blue", Generation: 2, Labels: map[string]string{wire.LabelName: wire.NameEdge, wire.LabelNetwork: "clusters.vlan100"}},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1},
	}
	change(&d)
	return d
}

// A lone is an edge of vlan100 with no peer, as it is known.
func lone(change func(*appsv1.Deployment)) apply.Outcome {
	return apply.Outcome{Edges: edgesOf(deployment(change))}
}

// reconcilerOf is one that reads from api and writes there.
func reconcilerOf(api client.Client, registry *prometheus.Registry) *Reconciler {
	return &Reconciler{Client: api, Live: api, Events: events.NewFakeRecorder(99), Metrics: report.NewMetrics(registry), Now: func() time.Time { return testNow }}
}

// reportOf is what is reported of d and what came of it.
func reportOf(t *testing.T, w gather.World, d decide.Decision, o apply.Outcome) *gather.LastReport {
	t.Helper()
	last, err := reconcilerOf(newTakes(t, 9), prometheus.NewRegistry()).reporter().Report(t.Context(), w, d, o)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return last
}

// TestVerdict: which reason stands for what is known, and what users read first.
func TestVerdict(t *testing.T) {
	serving := edgesOf(deployment(func(*appsv1.Deployment) {}))
	blocking := problem.Problem{Reason: problem.CIDRMissing, Severity: problem.SeverityError, Args: problem.Args{"detail": {"No CIDR."}}}
	waiting := problem.Problem{Reason: problem.WaitingForEndpoint, Severity: problem.SeverityWaiting, Args: problem.Args{"detail": {"OAuth is missing."}}}
	early := problem.Problem{Reason: problem.WaitingForControlPlane, Severity: problem.SeverityWaiting, Args: problem.Args{"detail": {"No API yet."}}}
	inUse := problem.Problem{Reason: problem.AddressInUse, Severity: problem.SeverityError, Args: problem.Args{"detail": {"By MAC x."}}}
	note := problem.Problem{Reason: problem.ImagesUnreachable, Severity: problem.SeverityWarning, Args: problem.Args{"detail": {"no images."}}}
	unreached := problem.New(problem.NoRegistryReachable, problem.Subject{Kind: "Network", Name: "vlan100"}, problem.Args{"network": {"clusters/vlan100"}, "hosts": {"registry.example.com"}})
	starts := func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 0 }
	starting := gather.EdgeOf(deployment(func(d *appsv1.Deployment) { d.Name = "two"; starts(d) }))
	lost := gather.EdgeOf(drained(time.Minute)(starting.Live))
	checking := gather.EdgeOf(deployment(func(d *appsv1.Deployment) {
		d.Name, d.Labels[wire.LabelName] = "oooi-acd-clusters-vlan100", wire.NameACD
		starts(d)
	}))
	refused := func(d *appsv1.Deployment) {
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "violates PodSecurity"}}}
	}
	other := gather.EdgeOf(deployment(func(d *appsv1.Deployment) {
		d.Name, d.Labels = "storage", map[string]string{wire.LabelName: wire.NameEdge, wire.LabelNetwork: "clusters.storage"}
		starts(d)
	}))
	for name, c := range map[string]struct {
		action   decide.Action
		problems problem.Problems
		outcome  apply.Outcome
		reason   problem.Reason
		severity problem.Severity
		text     string
	}{
		"well":                   {decide.Serve, nil, apply.Outcome{Edges: serving}, explain.Ready, problem.SeverityInfo, ""},
		"well but":               {decide.Serve, problem.Problems{note}, apply.Outcome{Edges: serving}, explain.ReadyWithWarnings, problem.SeverityWarning, "No images."},
		"well, and no registry":  {decide.Serve, problem.Problems{note, unreached}, apply.Outcome{Edges: serving}, problem.ImagesUnreachable, problem.SeverityWarning, "VMs that start cannot pull images"},
		"a part is waited for":   {decide.Serve, problem.Problems{note, waiting}, apply.Outcome{Edges: serving}, problem.WaitingForEndpoint, problem.SeverityWaiting, "OAuth is missing."},
		"both wait":              {decide.Serve, problem.Problems{waiting}, lone(starts), problem.WaitingForEndpoint, problem.SeverityWaiting, "is not ready"},
		"refused, and only that": {decide.Leave, problem.Problems{note, waiting, blocking}, apply.Outcome{}, problem.CIDRMissing, problem.SeverityError, "No CIDR."},
		"refused while it runs":  {decide.Leave, problem.Problems{blocking}, apply.Outcome{Edges: serving}, problem.CIDRMissing, problem.SeverityError, "No CIDR."},
		"no control plane":       {decide.Leave, problem.Problems{early}, apply.Outcome{}, problem.WaitingForControlPlane, problem.SeverityWaiting, "No API yet."},
		"the first pod starts":   {decide.Serve, nil, lone(starts), problem.EdgeNotReady, problem.SeverityWaiting, "is not ready"},
		"old pod still exists":   {decide.Serve, nil, lone(func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 0 }), problem.EdgeNotReady, problem.SeverityWaiting, "is not ready"},
		"not observed yet":       {decide.Serve, nil, lone(func(d *appsv1.Deployment) { d.Generation = 3 }), problem.EdgeNotReady, problem.SeverityWaiting, "is not ready"},
		"just created":           {decide.Serve, nil, lone(func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{} }), problem.EdgeNotReady, problem.SeverityWaiting, "is not ready"},
		"one of two edges": {decide.Serve, problem.Problems{note}, apply.Outcome{Edges: append(serving, starting)}, explain.ReadyWithWarnings, problem.SeverityWarning,
			"Edge clusters-blue/two is not ready. If its peer also fails, network clusters/vlan100 has no DHCP, DNS, NTP, access to the control plane. Check its pod: kubectl -n clusters-blue describe pod -l hostedcluster.densityops.com/network=clusters.vlan100"},
		"one of two, and a part is waited for": {decide.Serve, problem.Problems{waiting}, apply.Outcome{Edges: append(serving, lost)}, problem.WaitingForEndpoint, problem.SeverityWaiting, "two is not ready"},
		"neither of two edges":                 {decide.Serve, nil, apply.Outcome{Edges: []gather.Edge{starting, lost}}, problem.EdgeNotReady, problem.SeverityError, "no other edge"},
		"an edge of another network":           {decide.Serve, nil, apply.Outcome{Edges: append(serving, other)}, problem.EdgeNotReady, problem.SeverityWaiting, "storage"},
		"addresses are checked":                {decide.Serve, nil, apply.Outcome{Edges: []gather.Edge{checking}}, problem.AddressCheckPending, problem.SeverityWaiting, "checking for address conflicts (Deployment oooi-acd-clusters-vlan100)"},
		"addresses are in use":                 {decide.Serve, problem.Problems{waiting, inUse}, apply.Outcome{Edges: []gather.Edge{checking}}, problem.AddressInUse, problem.SeverityError, "By MAC x."},
		"refused while addresses are checked":  {decide.Leave, problem.Problems{blocking}, apply.Outcome{Edges: []gather.Edge{checking}}, problem.CIDRMissing, problem.SeverityError, "No CIDR."},
		"pod refused, and why":                 {decide.Serve, problem.Problems{note}, lone(refused), problem.EdgeNotReady, problem.SeverityError, "violates PodSecurity"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, plan := served(t, "lb-ip")
			w.HostedCluster.Generation = 7
			d := decide.Decision{Action: c.action, Plan: plan, Problems: c.problems}
			last := reportOf(t, w, d, c.outcome)
			got := last.Condition
			g.Expect(got.Reason).To(Equal(string(c.reason)))
			g.Expect(last.Report.Severity()).To(Equal(c.severity), got.Message)
			g.Expect(got.Status == metav1.ConditionTrue).To(Equal(c.reason == explain.Ready || c.reason == explain.ReadyWithWarnings))
			g.Expect(got.Message).To(ContainSubstring(c.text))
			g.Expect(got.Message).To(MatchRegexp(`\(settings [0-9a-f]{8}\)$`))
			g.Expect(got.ObservedGeneration).To(BeEquivalentTo(7))
		})
	}
}

// TestNoNewNodesIsAWarning: a Warning that proves that new nodes do not boot has a Warning Event, and one that does not has a Normal one.
func TestNoNewNodesIsAWarning(t *testing.T) {
	for want, cause := range map[string]problem.Cause{"Warning ImagesUnreachable VMs that": problem.NoRegistryReachable, "Normal ReadyWithWarnings Nodes may not": problem.RegistryWithoutName} {
		g := NewWithT(t)
		w, plan := served(t, "lb-ip")
		r, recorder := reconcilerOf(newTakes(t, 9), prometheus.NewRegistry()), events.NewFakeRecorder(9)
		r.Events = recorder
		d := decide.Decision{Action: decide.Serve, Plan: plan, Problems: problem.Problems{plan.Networks[0].Attachment.Problem(cause, nil)}}
		_, err := r.reporter().Report(t.Context(), w, d, apply.Outcome{Edges: edgesOf(deployment(func(*appsv1.Deployment) {}))})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(recorder.Events).To(Receive(HavePrefix(want)))
	}
}

// TestLostEdges: a lost edge has a metric and a Warning Event, one of two as well as
// the last one, however the cluster was before. A planned recreation is no loss.
func TestLostEdges(t *testing.T) {
	up := deployment(func(*appsv1.Deployment) {})
	two := deployment(func(d *appsv1.Deployment) { d.Name = "two" })
	lost := func(d appsv1.Deployment) appsv1.Deployment { return drained(time.Minute)(d) }
	rolling := func(d appsv1.Deployment) appsv1.Deployment { return broken(time.Minute, time.Minute)(d) }
	for name, c := range map[string]struct {
		before  string
		edges   []gather.Edge
		events  []string
		metrics map[string]string
	}{
		"both serve":                        {"Ready", edgesOf(up, two), nil, nil},
		"one is lost":                       {"Ready", edgesOf(up, lost(two)), []string{"Normal ReadyWithWarnings", "Warning EdgeUnavailable Edge clusters-blue/two is not ready."}, map[string]string{"EdgeUnavailable": "Warning"}},
		"one is lost, with warnings before": {"ReadyWithWarnings", edgesOf(up, lost(two)), []string{"Warning EdgeUnavailable"}, map[string]string{"EdgeUnavailable": "Warning"}},
		"one is recreated":                  {"Ready", edgesOf(up, rolling(two)), []string{"Normal ReadyWithWarnings"}, map[string]string{"EdgeUnavailable": "Warning"}},
		"all are lost":                      {"Ready", edgesOf(lost(up), lost(two)), []string{"Warning EdgeNotReady"}, map[string]string{"EdgeNotReady": "Error"}},
		"the only one is recreated":         {"Ready", edgesOf(rolling(up)), []string{"Warning EdgeNotReady"}, map[string]string{"EdgeNotReady": "Waiting"}},
		"the first one starts":              {"AddressCheckPending", edgesOf(rolling(up)), []string{"Normal EdgeNotReady"}, map[string]string{"EdgeNotReady": "Waiting"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, plan := served(t, "lb-ip")
			plan.Networks = slices.Clone(plan.Networks)
			before := metav1.Condition{Type: own.ConditionType, Status: metav1.ConditionFalse, Reason: c.before}
			if strings.HasPrefix(c.before, "Ready") {
				before.Status = metav1.ConditionTrue
			}
			w.HostedCluster.Status.Conditions = []metav1.Condition{before}
			recorder, registry := events.NewFakeRecorder(10), prometheus.NewRegistry()
			r := reconcilerOf(newTakes(t, 9), registry)
			r.Events = recorder
			g.Expect(r.report(t.Context(), w, decide.Decision{Action: decide.Serve, Plan: plan}, apply.Outcome{Edges: c.edges})).To(Succeed())
			close(recorder.Events)
			var got []string
			for e := range recorder.Events {
				got = append(got, e)
			}
			g.Expect(got).To(HaveLen(len(c.events)), "%v", got)
			for i, e := range c.events {
				g.Expect(got[i]).To(HavePrefix(e))
			}
			counted := map[string]string{}
			families, err := registry.Gather()
			g.Expect(err).NotTo(HaveOccurred())
			for _, f := range families {
				for _, m := range f.Metric {
					if f.GetName() == "oooi_hosted_cluster_problems" {
						counted[m.Label[2].GetValue()] = m.Label[3].GetValue()
					}
				}
			}
			g.Expect(counted).To(HaveLen(len(c.metrics)))
			for reason, severity := range c.metrics {
				g.Expect(counted).To(HaveKeyWithValue(reason, severity))
			}
		})
	}
}

// TestLostEdgeIsAnnouncedOnce: when it is lost, whatever else is wrong, and not again
// while it stays lost.
func TestLostEdgeIsAnnouncedOnce(t *testing.T) {
	w, plan := served(t, "lb-ip")
	up := deployment(func(*appsv1.Deployment) {})
	two := deployment(func(d *appsv1.Deployment) { d.Name = "two" })
	lost := drained(time.Minute)
	both, one, none := edgesOf(up, two), edgesOf(up, lost(two)), edgesOf(lost(up), lost(two))
	serves := decide.Decision{Action: decide.Serve, Plan: plan}
	warns, refused := serves, decide.Decision{Action: decide.Leave, Plan: plan, Problems: problem.Problems{
		{Reason: problem.CIDRMissing, Severity: problem.SeverityError, Args: problem.Args{"detail": {"No CIDR."}}}}}
	warns.Problems = problem.Problems{{Reason: problem.NTPMissing, Severity: problem.SeverityWarning, Args: problem.Args{"detail": {"No time."}}}}
	type pass struct {
		d     decide.Decision
		edges []gather.Edge
		// event is about an edge, empty where there is to be none.
		event string
	}
	const lostTwo = "Warning EdgeUnavailable Edge clusters-blue/two is not ready."
	for name, passes := range map[string][]pass{
		"the words change while it is lost": {{serves, both, ""}, {serves, one, lostTwo}, {warns, one, ""}, {serves, one, ""}},
		"a second time":                     {{serves, one, lostTwo}, {serves, both, ""}, {serves, one, lostTwo}},
		"while the plan is refused":         {{refused, both, ""}, {refused, one, lostTwo}, {refused, one, ""}, {serves, one, ""}},
		"the last one, while refused": {{refused, one, lostTwo}, {refused, none,
			"Warning EdgeNotReady Edge clusters-blue/oooi-edge-clusters-vlan100-1 is not ready"}, {refused, none, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := reconcilerOf(newTakes(t, 99), prometheus.NewRegistry())
			w := w
			w.HostedCluster = w.HostedCluster.DeepCopy()
			w.HostedCluster.Status.Conditions = nil
			for i, p := range passes {
				recorder := events.NewFakeRecorder(10)
				r.Events = recorder
				o := apply.Outcome{Edges: p.edges}
				g.Expect(r.report(t.Context(), w, p.d, o)).To(Succeed())
				last := r.memory.of(client.ObjectKeyFromObject(w.HostedCluster)).reported
				w.PreviousReport, w.HostedCluster.Status.Conditions = last.Report, []metav1.Condition{*last.Condition}
				close(recorder.Events)
				var got []string
				for e := range recorder.Events {
					if strings.HasPrefix(e, "Warning Edge") {
						got = append(got, e)
					}
				}
				if p.event == "" {
					g.Expect(got).To(BeEmpty(), "pass %d", i)
					continue
				}
				g.Expect(got).To(ConsistOf(HavePrefix(p.event)), "pass %d", i)
			}
			// Another process knows no Events, but reads what was stored.
			stored := r.memory.of(client.ObjectKeyFromObject(w.HostedCluster)).reported.Report
			stored.Version, stored.Cluster, stored.Written = 1, "clusters/blue", testNow
			var err error
			w.PreviousReport, err = explain.ReadReport(stored.JSON())
			g.Expect(err).NotTo(HaveOccurred())
			recorder := events.NewFakeRecorder(10)
			restarted := reconcilerOf(r.Client, prometheus.NewRegistry())
			restarted.Events = recorder
			last := passes[len(passes)-1]
			g.Expect(restarted.report(t.Context(), w, last.d, apply.Outcome{Edges: last.edges})).To(Succeed())
			g.Expect(recorder.Events).To(BeEmpty())
			// A new release may say more.
			last.d.Problems = append(slices.Clone(last.d.Problems), problem.Problem{Reason: problem.NTPMissing, Severity: problem.SeverityWarning, Args: problem.Args{"detail": {"No clock."}}})
			restarted.memory = memory{}
			g.Expect(restarted.report(t.Context(), w, last.d, apply.Outcome{Edges: last.edges})).To(Succeed())
			g.Expect(recorder.Events).NotTo(Receive(ContainSubstring("Edge clusters-blue/")))
		})
	}
}

// TestEdgesReportWhileRefused: failover that takes longer is a problem of the edges that
// run, although the plan does not change.
func TestEdgesReportWhileRefused(t *testing.T) {
	g := NewWithT(t)
	w, plan := twoEdges(t)
	w.Last = plan
	w.HostedCluster.Annotations = annotated(w, "cidr", "x")
	w.EdgeReports = []gather.NetworkReport{
		{Network: "clusters.vlan100", EdgeReport: reported.EdgeReport{Edge: 1, Peer: reported.PeerUnreachable}},
		{Network: "clusters.vlan100", EdgeReport: reported.EdgeReport{Edge: 2, Degraded: reported.Degradation{Cause: problem.FailoverTargetsAnswered}}},
	}
	setEdge(&w, first, readySince(time.Hour))
	setEdge(&w, second, readySince(time.Hour))
	d := decide.About(w, testOptions.Release, testNow)
	c := reportOf(t, w, d, apply.Outcome{Edges: w.Edges}).Condition
	g.Expect(d.Action).To(Equal(decide.Leave))
	g.Expect(c.Status).To(Equal(metav1.ConditionFalse))
	g.Expect(c.Message).To(And(ContainSubstring("Warning EdgesPartitioned"), ContainSubstring("Warning FailoverDegraded")))
}

func TestTransitionTimeIsTheStatuss(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "lb-ip")
	earlier := metav1.NewTime(testNow.Add(-time.Hour))
	w.HostedCluster.Status.Conditions = []metav1.Condition{{Type: own.ConditionType, Status: metav1.ConditionFalse, LastTransitionTime: earlier}}
	waits := decide.Decision{Action: decide.Serve, Plan: plan, Problems: problem.Problems{{Reason: problem.WaitingForEndpoint, Severity: problem.SeverityWaiting}}}
	c := reportOf(t, w, waits, apply.Outcome{}).Condition
	g.Expect(c.LastTransitionTime).To(Equal(earlier), "False before and after")
	ready := decide.Decision{Action: decide.Serve, Plan: plan}
	c = reportOf(t, w, ready, lone(func(*appsv1.Deployment) {})).Condition
	g.Expect(c.LastTransitionTime.Time).To(Equal(testNow))
}

func TestOptedOutSaysNothing(t *testing.T) {
	w, _ := served(t, "lb-ip")
	NewWithT(t).Expect(reportOf(t, w, decide.Decision{Action: decide.Remove}, apply.Outcome{}).Condition).To(BeNil())
}

// TestSettings: every annotation of oooi counts, on whatever it stands, and no
// other one.
func TestSettings(t *testing.T) {
	g := NewWithT(t)
	mtu := map[string]string{settings.Prefix + "mtu": "9000"}
	objects := func(change func(*hcp.Objects)) string {
		named := func(name string) metav1.ObjectMeta {
			return metav1.ObjectMeta{Name: name, Annotations: map[string]string{"other": "x"}}
		}
		o := hcp.Objects{
			HostedCluster: &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{settings.Prefix + "network": "auto"}}},
			NodePools:     []hyperv1.NodePool{{ObjectMeta: named("a")}, {ObjectMeta: named("b")}},
			Services:      []corev1.Service{{ObjectMeta: named("git")}}, NetworkAttachmentDefinitions: []nadv1.NetworkAttachmentDefinition{{ObjectMeta: named("vlan100")}},
		}
		change(&o)
		return report.Settings(o)
	}
	one := objects(func(*hcp.Objects) {})
	g.Expect(one).To(MatchRegexp("^[0-9a-f]{8}$"))
	seen := map[string]bool{one: true}
	for what, change := range map[string]func(*hcp.Objects){
		"HostedCluster":  func(o *hcp.Objects) { o.HostedCluster.Annotations[settings.Prefix+"mtu"] = "9000" },
		"NodePool":       func(o *hcp.Objects) { o.NodePools[0].Annotations = mtu },
		"other NodePool": func(o *hcp.Objects) { o.NodePools[1].Annotations = mtu },
		"Service":        func(o *hcp.Objects) { o.Services[0].Annotations = mtu },
		"definition":     func(o *hcp.Objects) { o.NetworkAttachmentDefinitions[0].Annotations = mtu },
	} {
		got := objects(change)
		g.Expect(seen).NotTo(HaveKey(got), what)
		seen[got] = true
	}
	g.Expect(objects(func(o *hcp.Objects) { slices.Reverse(o.NodePools) })).To(Equal(one), "in whatever order they were listed")
	g.Expect(objects(func(o *hcp.Objects) { o.HostedCluster.Annotations["other"] = "y" })).To(Equal(one))
}

func TestDecide(t *testing.T) {
	deleting := metav1.NewTime(testNow)
	until := testNow.Add(time.Hour).Format(time.RFC3339)
	for name, c := range map[string]struct {
		change func(*gather.World)
		want   decide.Action
	}{
		"opted in":           {func(*gather.World) {}, decide.Serve},
		"annotation removed": {func(w *gather.World) { delete(w.HostedCluster.Annotations, settings.Prefix+"network") }, decide.Remove},
		"network: none":      {func(w *gather.World) { w.HostedCluster.Annotations[settings.Prefix+"network"] = "none" }, decide.Remove},
		"being deleted":      {func(w *gather.World) { w.HostedCluster.DeletionTimestamp = &deleting }, decide.Ignore},
		"paused":             {func(w *gather.World) { w.HostedCluster.Annotations[settings.Prefix+"paused"] = "true" }, decide.Keep},
		"paused, opted out": {func(w *gather.World) {
			w.HostedCluster.Annotations = map[string]string{settings.Prefix + "paused": "true"}
		}, decide.Ignore},
		"spec.pausedUntil":            {func(w *gather.World) { w.HostedCluster.Spec.PausedUntil = &until }, decide.Keep},
		"no control plane":            {func(w *gather.World) { w.ControlPlane = nil }, decide.Leave},
		"control plane being deleted": {func(w *gather.World) { w.ControlPlane.DeletionTimestamp = &deleting }, decide.Leave},
		"API not published":           {func(w *gather.World) { w.HostedCluster.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{} }, decide.Leave},
		"wrong annotation":            {func(w *gather.World) { w.HostedCluster.Annotations[settings.Prefix+"cidr"] = "x" }, decide.Leave},
		"a Route is missing":          {func(w *gather.World) { w.Routes = w.Routes[1:] }, decide.Serve},
		"the definition is missing":   {func(w *gather.World) { w.NetworkAttachmentDefinitions = nil }, decide.Leave},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, _ := served(t, "lb-ip")
			c.change(&w)
			d := decide.About(w, testOptions.Release, testNow)
			g.Expect(d.Action.String()).To(Equal(c.want.String()), "%v", d.Problems)
			g.Expect(len(d.Desired) > 0).To(Equal(c.want == decide.Serve))
			if c.want == decide.Leave {
				g.Expect(mayServe(d.Problems)).To(BeFalse(), "the condition says why")
			}
		})
	}
}
