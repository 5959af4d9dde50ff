package controllers

import (
	"slices"
	"strings"
	"testing"
	"time"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

func deployment(change func(*appsv1.Deployment)) appsv1.Deployment {
	d := appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "oooi-edge-clusters-vlan100-1", Namespace: "clusters-blue", Generation: 2, Labels: map[string]string{wire.LabelName: wire.NameEdge, wire.LabelNetwork: "clusters.vlan100"}},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1},
	}
	change(&d)
	return d
}

func TestVerdict(t *testing.T) {
	serving := []appsv1.Deployment{deployment(func(*appsv1.Deployment) {})}
	blocking := network.Problem{Reason: network.CIDRMissing, Detail: "No CIDR.", Blocking: true}
	waiting := network.Problem{Reason: network.WaitingForEndpoint, Detail: "OAuth is not there."}
	early := network.Problem{Reason: network.WaitingForControlPlane, Detail: "No API yet."}
	taken := network.Problem{Reason: network.AddressInUse, Detail: "By MAC x.", Blocking: true}
	starting := deployment(func(d *appsv1.Deployment) { d.Name, d.Status.AvailableReplicas = "two", 0 })
	asking := deployment(func(d *appsv1.Deployment) {
		d.Name, d.Labels[wire.LabelName], d.Status.AvailableReplicas = "oooi-acd-clusters-vlan100", wire.NameACD, 0
	})
	note := network.Problem{Reason: network.ImagesUnreachable, Detail: "no images."}
	for name, c := range map[string]struct {
		action   action
		problems network.Problems
		outcome  outcome
		reason   string
		text     string
	}{
		"well":     {serve, nil, outcome{edges: serving}, Ready, "Network clusters/vlan100 (192.168.100.0/24) is served: DHCP, DNS and the control plane at 192.168.100.3."},
		"well but": {serve, network.Problems{note}, outcome{edges: serving}, ReadyWithWarnings, "192.168.100.3. No host outside is let through by an edge. But no images."},
		"well but, five times, gravest first, each once": {serve, network.Problems{{Reason: network.NTPMissing, Detail: "no time."}, {Reason: network.AnnotationUnknown, Detail: "no such key."}, note, {Reason: network.AppsUnreachable, Detail: "no apps."}, note},
			outcome{edges: serving}, ReadyWithWarnings, "let through by an edge. But (1) no images. (2) no apps. (3) no such key. (4) no time. (settings"},
		"a part is waited for": {serve, network.Problems{note, waiting}, outcome{edges: serving}, "WaitingForEndpoint", "(1) OAuth is not there. (2) no images. The rest is served. No host outside is let through by an edge. (settings"},
		"a part is waited for, and the pod starts": {serve, network.Problems{waiting}, outcome{edges: []appsv1.Deployment{deployment(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 0 })}},
			"WaitingForEndpoint", "OAuth is not there. Edge oooi-edge-clusters-vlan100-1 does not serve: its pod is not ready."},
		"a network has no CIDR yet": {serve, network.Problems{{Reason: network.WaitingForNetwork, Detail: "network default/storage is not served: nobody said its CIDR."}}, outcome{edges: serving},
			"WaitingForNetwork", "network default/storage is not served: nobody said its CIDR. The rest is served."},
		"refused, and only that":  {leave, network.Problems{note, waiting, blocking}, outcome{}, "CIDRMissing", "No CIDR. Nothing is applied."},
		"refused while it runs":   {leave, network.Problems{blocking}, outcome{edges: serving}, "CIDRMissing", "No CIDR. What runs goes on with the last good plan."},
		"no control plane":        {leave, network.Problems{early}, outcome{}, "WaitingForControlPlane", "No API yet. Nothing is applied."},
		"pod starts":              {serve, nil, outcome{edges: []appsv1.Deployment{deployment(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 0 })}}, EdgeNotReady, "Edge oooi-edge-clusters-vlan100-1 does not serve: its pod is not ready."},
		"old pod still there":     {serve, nil, outcome{edges: []appsv1.Deployment{deployment(func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 0 })}}, EdgeNotReady, "not ready"},
		"status of an older wish": {serve, nil, outcome{edges: []appsv1.Deployment{deployment(func(d *appsv1.Deployment) { d.Generation = 3 })}}, EdgeNotReady, "not ready"},
		"just created":            {serve, nil, outcome{edges: []appsv1.Deployment{deployment(func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{} })}}, EdgeNotReady, "not ready"},
		"one of two edges": {serve, network.Problems{note}, outcome{edges: append(serving, starting)}, ReadyWithWarnings,
			"But (1) edge two does not serve: its pod is not ready; if the other fails, machines lose DHCP, DNS and the control plane. Its pods: kubectl -n clusters-blue describe pod -l hostedcluster.densityops.com/network=clusters.vlan100. (2) no images."},
		"one of two edges, and a part is waited for": {serve, network.Problems{waiting}, outcome{edges: append(serving, starting)}, "WaitingForEndpoint",
			"(1) OAuth is not there. (2) edge two does not serve: its pod is not ready; if the other fails"},
		"neither of two edges": {serve, nil, outcome{edges: []appsv1.Deployment{starting, starting}}, EdgeNotReady, "Edge two does not serve: its pod is not ready. "},
		"an edge of another network": {serve, nil, outcome{edges: append(serving, deployment(func(d *appsv1.Deployment) {
			d.Name, d.Labels, d.Status.AvailableReplicas = "storage", map[string]string{wire.LabelName: wire.NameEdge, wire.LabelNetwork: "clusters.storage"}, 0
		}))}, EdgeNotReady, "Edge storage does not serve: its pod is not ready."},
		"addresses asked for": {serve, nil, outcome{edges: []appsv1.Deployment{asking}}, EdgeNotReady,
			"Network clusters/vlan100 is not served yet: Deployment oooi-acd-clusters-vlan100 looks whether the addresses are free, and edges are made then; its pod is not ready."},
		"addresses asked for, and taken": {serve, network.Problems{waiting, taken}, outcome{edges: []appsv1.Deployment{asking}}, "AddressInUse", "By MAC x. (settings"},
		"taken on another network":       {serve, network.Problems{taken}, outcome{edges: append(serving, asking)}, "AddressInUse", "By MAC x. The rest is served. (settings"},
		"refused while it asks":          {leave, network.Problems{blocking}, outcome{edges: []appsv1.Deployment{asking}}, "CIDRMissing", "No CIDR. Nothing is applied."},
		"pod refused, and why": {serve, network.Problems{note}, outcome{edges: []appsv1.Deployment{deployment(func(d *appsv1.Deployment) {
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "violates PodSecurity"}}}
		})}}, EdgeNotReady, "its pod is refused: violates PodSecurity."},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, plan := served(t, "lb-ip")
			w.HostedCluster.Generation = 7
			got, ok := condition(w, decision{action: c.action, plan: plan, problems: c.problems}, c.outcome, testNow)
			g.Expect(ok).To(BeTrue())
			g.Expect(got.Reason).To(Equal(c.reason))
			g.Expect(got.Status == metav1.ConditionTrue).To(Equal(c.reason == Ready || c.reason == ReadyWithWarnings))
			g.Expect(got.Message).To(ContainSubstring(c.text))
			g.Expect(got.Message).To(MatchRegexp(`\(settings [0-9a-f]{8}\)$`))
			g.Expect(got.ObservedGeneration).To(BeEquivalentTo(7))
		})
	}
}

// TestWhatIsServedIsSaid: which servers.
func TestWhatIsServedIsSaid(t *testing.T) {
	for story, text := range map[string]string{
		"registries":     "Network clusters/vlan100 (192.168.100.0/24) is served: DHCP, DNS and the control plane at 192.168.100.3.",
		"dhcp-by-others": "DNS and the control plane at",
	} {
		t.Run(story, func(t *testing.T) {
			_, plan := served(t, story)
			NewWithT(t).Expect(serves(plan)).To(ContainSubstring(text))
		})
	}
}

// TestHostsLetThroughAreSaid: plainly, once, and whatever else there is to say while
// something is applied.
func TestHostsLetThroughAreSaid(t *testing.T) {
	const hosts = " Let through to the outside: cdn.quay.io:443, cdn01.quay.io:443, cdn02.quay.io:443, cdn03.quay.io:443, cdn04.quay.io:443, cdn05.quay.io:443, cdn06.quay.io:443, git.example.com:443, mirror.example.com:8443, quay.io:443, and nothing else."
	_, plan := served(t, "registries")
	plan.Networks = append(plan.Networks, plan.Networks[0])
	serving := outcome{edges: []appsv1.Deployment{deployment(func(*appsv1.Deployment) {})}}
	starting := outcome{edges: []appsv1.Deployment{deployment(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 0 })}}
	waits := network.Problems{{Reason: network.WaitingForEndpoint, Detail: "OAuth is not there."}}
	for name, c := range map[string]struct {
		problems network.Problems
		outcome  outcome
	}{
		"served":            {nil, serving},
		"with limits":       {network.Problems{{Reason: network.NTPMissing, Detail: "no time."}}, serving},
		"waiting":           {waits, serving},
		"starting":          {nil, starting},
		"waiting, starting": {waits, starting},
	} {
		t.Run(name, func(t *testing.T) {
			_, text := verdict(decision{action: serve, plan: plan, problems: c.problems}, c.outcome)
			NewWithT(t).Expect(strings.Count(text, hosts)).To(Equal(1), text)
		})
	}
	_, text := verdict(decision{action: leave, plan: plan, problems: network.Problems{{Reason: network.CIDRMissing, Detail: "No CIDR.", Blocking: true}}}, outcome{})
	NewWithT(t).Expect(text).NotTo(ContainSubstring("Let through"), "nothing is applied")
}

func TestTransitionTimeIsTheStatuss(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "lb-ip")
	earlier := metav1.NewTime(testNow.Add(-time.Hour))
	w.HostedCluster.Status.Conditions = []metav1.Condition{{Type: ConditionType, Status: metav1.ConditionFalse, LastTransitionTime: earlier}}
	waits := decision{action: serve, plan: plan, problems: network.Problems{{Reason: network.WaitingForEndpoint}}}
	c, _ := condition(w, waits, outcome{}, testNow)
	g.Expect(c.LastTransitionTime).To(Equal(earlier), "False before and after")
	c, _ = condition(w, decision{action: serve, plan: plan}, outcome{edges: []appsv1.Deployment{deployment(func(*appsv1.Deployment) {})}}, testNow)
	g.Expect(c.LastTransitionTime.Time).To(Equal(testNow))
}

func TestOptedOutSaysNothing(t *testing.T) {
	w, _ := served(t, "lb-ip")
	_, ok := condition(w, decision{action: remove}, outcome{}, testNow)
	NewWithT(t).Expect(ok).To(BeFalse())
}

func TestMessageHasALimit(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "lb-ip")
	c, _ := condition(w, decision{action: leave, plan: plan, problems: network.Problems{{Reason: network.CIDRMissing, Blocking: true, Detail: strings.Repeat("ä", 40000)}}}, outcome{}, testNow)
	g.Expect(len(c.Message)).To(BeNumerically("<", 32768))
	g.Expect(c.Message).To(And(ContainSubstring("... (settings "), Not(ContainSubstring("\ufffd"))))
}

// TestSettings: every annotation of ours counts, on whatever it stands, and no
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
		return Settings(o)
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
		change func(*world)
		want   action
	}{
		"opted in":                    {func(*world) {}, serve},
		"annotation removed":          {func(w *world) { delete(w.HostedCluster.Annotations, settings.Prefix+"network") }, remove},
		"network: none":               {func(w *world) { w.HostedCluster.Annotations[settings.Prefix+"network"] = "none" }, remove},
		"being deleted":               {func(w *world) { w.HostedCluster.DeletionTimestamp = &deleting }, ignore},
		"paused":                      {func(w *world) { w.HostedCluster.Annotations[settings.Prefix+"paused"] = "true" }, ignore},
		"paused, opted out":           {func(w *world) { w.HostedCluster.Annotations = map[string]string{settings.Prefix + "paused": "true"} }, ignore},
		"spec.pausedUntil":            {func(w *world) { w.HostedCluster.Spec.PausedUntil = &until }, ignore},
		"no control plane":            {func(w *world) { w.controlPlane = nil }, leave},
		"control plane being deleted": {func(w *world) { w.controlPlane.DeletionTimestamp = &deleting }, leave},
		"API not published":           {func(w *world) { w.HostedCluster.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{} }, leave},
		"wrong annotation":            {func(w *world) { w.HostedCluster.Annotations[settings.Prefix+"cidr"] = "x" }, leave},
		"a Route is missing":          {func(w *world) { w.Routes = w.Routes[1:] }, serve},
		"the definition is missing":   {func(w *world) { w.NetworkAttachmentDefinitions = nil }, leave},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, _ := served(t, "lb-ip")
			c.change(&w)
			d := decide(w, testOptions, testNow)
			g.Expect(d.action.String()).To(Equal(c.want.String()), "%v", d.problems)
			g.Expect(len(d.desired) > 0).To(Equal(c.want == serve))
			if c.want == leave {
				g.Expect(servable(d.problems)).To(BeFalse(), "the condition says why")
			}
		})
	}
}
