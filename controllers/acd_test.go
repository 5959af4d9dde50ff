package controllers

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/apply"
	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// askFirst is a story's world in which nothing of oooi runs, and the address conflict detection was just
// made.
func askFirst(t *testing.T, story string) gather.World {
	t.Helper()
	w, _ := served(t, story)
	w.Edges, w.VMs = nil, nil
	w = changed(w, t, decide.About(w, testOptions.Release, testNow))
	checkedFor(&w, 0)
	return w
}

// checkedFor is w whose Deployments were created that long ago.
func checkedFor(w *gather.World, ago time.Duration) {
	for _, e := range w.Edges {
		setEdge(w, e.Name, func(d appsv1.Deployment) appsv1.Deployment {
			d.CreationTimestamp = metav1.NewTime(testNow.Add(-ago))
			return d
		})
	}
}

// deploys says how many Deployments of each name d asks for.
func deploys(d decide.Decision) map[string]int {
	out := map[string]int{}
	for _, u := range d.Desired {
		if name := u.GetLabels()[wire.LabelName]; u.GroupVersionKind() == own.DeploymentKind {
			out[name]++
		}
	}
	return out
}

// TestAddressesAreAskedForFirst: no edge is made before, and none is asked for
// again after.
func TestAddressesAreAskedForFirst(t *testing.T) {
	g := NewWithT(t)
	w := askFirst(t, "lb-ip")
	d := decide.About(w, testOptions.Release, testNow)
	g.Expect(deploys(d)).To(Equal(map[string]int{wire.NameACD: 1}))
	g.Expect(kindsOf(d.Desired)).To(ContainElements("ConfigMap", "ServiceAccount", "NetworkAttachmentDefinition"), "who asks needs them")
	g.Expect(kindsOf(d.Desired)).NotTo(ContainElement("PodDisruptionBudget"))
	g.Expect(d.Again).To(BeNumerically("<=", 75*time.Second))
	ask := w.Edges[0].Name

	setEdge(&w, ask, running)
	d = decide.About(w, testOptions.Release, testNow)
	g.Expect(deploys(d)).To(Equal(map[string]int{wire.NameEdge: 1}))
	g.Expect(d.Disruptions).To(BeEmpty())
	w = changed(w, t, d)
	_, there := deploymentIn(w, ask)
	g.Expect(there).To(BeFalse(), "its address is an edge's now")
	g.Expect(deploys(decide.About(w, testOptions.Release, testNow))).To(Equal(map[string]int{wire.NameEdge: 1}), "whether they serve or not")
	g.Expect(decide.About(w, testOptions.Release, testNow).Again).To(Equal(decide.ResyncReady))

	two, _ := twoEdges(t)
	two.Edges = slices.DeleteFunc(two.Edges, func(d gather.Edge) bool { return d.Name == first })
	g.Expect(deploys(decide.About(two, testOptions.Release, testNow))).To(Equal(map[string]int{wire.NameEdge: 4}), "the other edge would answer")
}

// TestDeletedEdgesComeBackAtOnce: what they held is theirs, but nothing else is.
func TestDeletedEdgesComeBackAtOnce(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "lb-ip")
	w.Edges, w.VMs, w.Last = nil, nil, plan
	g.Expect(deploys(decide.About(w, testOptions.Release, testNow))).To(Equal(map[string]int{wire.NameACD: 1}))
	w.EdgeReports = []gather.NetworkReport{{Network: "clusters.vlan100", EdgeReport: reported.EdgeReport{}}}
	g.Expect(deploys(decide.About(w, testOptions.Release, testNow))).To(Equal(map[string]int{wire.NameACD: 1}), "only who asks has reported")
	w.EdgeReports = []gather.NetworkReport{{Network: "clusters.vlan100", EdgeReport: reported.EdgeReport{Edge: 1}}}
	g.Expect(deploys(decide.About(w, testOptions.Release, testNow))).To(Equal(map[string]int{wire.NameEdge: 1}))
	w.HostedCluster.Annotations = annotated(w, "edge-addresses", "192.168.100.6-192.168.100.9")
	g.Expect(deploys(decide.About(w, testOptions.Release, testNow))).To(Equal(map[string]int{wire.NameACD: 1}), "addresses that they had not")
}

// TestRestoredEdges: edges without an owner were restored from a backup. They are removed, also while nothing can be
// applied, and their addresses are checked before others are created. A paused cluster keeps them, and so does a network
// with an edge that was not restored.
func TestRestoredEdges(t *testing.T) {
	g := NewWithT(t)
	w, plan := twoEdges(t)
	restored := func(number int) {
		for _, e := range w.Edges {
			if e.Number == number {
				setEdge(&w, e.Name, func(d appsv1.Deployment) appsv1.Deployment { d.OwnerReferences = nil; return d })
			}
		}
	}
	edges := map[string]int{wire.NameEdge: len(w.Edges)}
	about := func() decide.Decision { return decide.About(w, testOptions.Release, testNow) }
	invalid := func() (d decide.Decision) {
		before := w.HostedCluster.Annotations
		w.HostedCluster.Annotations = annotated(w, "cidr", "x")
		d, w.HostedCluster.Annotations = about(), before
		g.Expect(d.Action).To(Equal(decide.Leave))
		return d
	}
	restored(1)
	g.Expect(deploys(about())).To(Equal(edges), "the other edge would answer")
	g.Expect(invalid().Removed).To(BeEmpty())
	g.Expect(about().Disruptions).To(BeEmpty())
	restored(2)
	var announced []decide.Disruption
	for _, e := range w.Edges {
		announced = append(announced, decide.Disruption{Kind: own.DeploymentKind, Name: e.Name, Text: explain.RestoredEdgeRemoved(e.Name)})
	}
	g.Expect(deploys(about())).To(Equal(map[string]int{wire.NameACD: len(plan.Networks)}))
	g.Expect(about().Disruptions).To(ConsistOf(announced))
	g.Expect(invalid().Removed).To(HaveLen(len(w.Edges)))
	g.Expect(invalid().Disruptions).To(ConsistOf(announced))
	w.HostedCluster.Spec.PausedUntil = new(string)
	*w.HostedCluster.Spec.PausedUntil = "true"
	paused := about()
	g.Expect(paused.Action).To(Equal(decide.Keep))
	g.Expect(paused.Removed).To(BeEmpty())
	g.Expect(paused.Desired).To(BeEmpty())
}

// TestAnAnswerIsToWhatWasAsked: another address is another question.
func TestAnAnswerIsToWhatWasAsked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*gather.World)
		asks   bool
	}{
		"ready":     {func(*gather.World) {}, false},
		"not ready": {func(w *gather.World) { setEdge(w, w.Edges[0].Name, stopped) }, true},
		"not begun": {func(w *gather.World) {
			setEdge(w, w.Edges[0].Name, func(d appsv1.Deployment) appsv1.Deployment { d.Generation++; return d })
		}, true},
		"other addresses": {func(w *gather.World) {
			w.HostedCluster.Annotations = annotated(*w, "edge-addresses", "192.168.100.6-192.168.100.9")
		}, true},
		"only the next hop": {func(w *gather.World) {
			w.HostedCluster.Annotations = annotated(*w, "edge-addresses", "192.168.100.7,192.168.100.3,192.168.100.4,192.168.100.5")
		}, true},
		"two edges instead":  {func(w *gather.World) { w.HostedCluster.Annotations = annotated(*w, "edges", "2") }, false},
		"another lease time": {func(w *gather.World) { w.HostedCluster.Annotations = annotated(*w, "lease-time", "5m") }, false},
		"a second definition's": {func(w *gather.World) {
			setEdge(w, w.Edges[0].Name, func(d appsv1.Deployment) appsv1.Deployment { d.Labels, d.Name = nil, "x"; return d })
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := askFirst(t, "lb-ip")
			setEdge(&w, w.Edges[0].Name, running)
			c.change(&w)
			NewWithT(t).Expect(deploys(decide.About(w, testOptions.Release, testNow))[wire.NameACD] == 1).To(Equal(c.asks))
		})
	}
}

// TestWhoAsks holds none of the addresses it asks for, and is otherwise as an edge.
func TestWhoAsks(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "lb-ip")
	n := plan.Networks[0]
	at := func(n network.Network) map[string]string {
		return acdOf(t, w, n, "x").Spec.Template.Annotations
	}
	for _, two := range []bool{false, true} {
		if two {
			n.Edges, n.ReservedAddresses = append(n.Edges, network.Edge{Number: 2, Address: n.ReservedAddresses[0]}), nil
		}
		g.Expect(at(n)[wire.AnnotationNetworks]).To(Equal(`[{"name":"oooi-clusters-vlan100","namespace":"x","ips":["192.168.100.5/24"],"interface":"net1"}]`))
		g.Expect(at(n)[wire.AnnotationACDAddresses]).To(Equal("192.168.100.2,192.168.100.3,192.168.100.4"), "10.240.0.200 is not on the segment")
	}
	ask := acdOf(t, w, n, "x").Spec.Template.Spec
	as := edge(t, w, plan).Spec.Template.Spec
	g.Expect(ask.Containers).To(HaveLen(1))
	g.Expect(ask.Containers[0].Args).To(ContainElements("acd", "--network", "clusters.vlan100", "--edge", "0", "--watch"))
	for _, of := range []func(any) any{
		func(x any) any { return field(t, x, "securityContext") }, func(x any) any { return field(t, x, "tolerations") },
		func(x any) any { return field(t, x, "affinity") }, func(x any) any { return field(t, x, "serviceAccountName") },
	} {
		g.Expect(of(ask)).To(Equal(of(as)))
	}
	g.Expect(ask.Containers[0].SecurityContext).To(Equal(as.Containers[0].SecurityContext))
	n.Attachment.ResourceName = "bridge.network.kubevirt.io/br1"
	limits := acdOf(t, w, n, "x").Spec.Template.Spec.Containers[0].Resources.Limits
	g.Expect(limits).To(HaveKey(HaveSuffix("br1")))
}

// field of x as JSON has it.
func field(t *testing.T, x any, name string) any {
	t.Helper()
	b, err := json.Marshal(x)
	all := map[string]any{}
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil || all[name] == nil {
		t.Fatalf("%s: %v", name, err)
	}
	return all[name]
}

// TestTakenAddress: the condition names the address, the network waits, and everything else continues.
func TestTakenAddress(t *testing.T) {
	router := reported.UsedAddress{Address: netip.MustParseAddr("192.168.100.2"), MAC: "02:00:00:00:00:01"}
	said := func(d decide.Decision) bool { return d.Problems.Has(problem.AddressInUse) }
	taken := func(t *testing.T) gather.World {
		w := askFirst(t, "two-edges")
		checkedFor(&w, 2*time.Minute)
		w.EdgeReports = []gather.NetworkReport{{Network: "clusters.vlan100", EdgeReport: reported.EdgeReport{AddressesInUse: []reported.UsedAddress{router}}}}
		return w
	}
	t.Run("said, and waited for", func(t *testing.T) {
		g := NewWithT(t)
		w := taken(t)
		d := decide.About(w, testOptions.Release, testNow)
		g.Expect(said(d)).To(BeTrue())
		g.Expect(d.Action).To(Equal(decide.Serve), "what is mended must reach who asks")
		g.Expect(deploys(d)).To(Equal(map[string]int{wire.NameACD: 2}))
		setEdge(&w, "oooi-acd-clusters-storage", running)
		d = decide.About(w, testOptions.Release, testNow)
		g.Expect(deploys(d)).To(Equal(map[string]int{wire.NameACD: 1, wire.NameEdge: 2}), "the other network is served")
		c := reportOf(t, w, d, apply.Outcome{Edges: changed(w, t, d).Edges}).Condition
		g.Expect(c.Reason).To(Equal(string(problem.AddressInUse)))
		g.Expect(c.Message).To(And(ContainSubstring("192.168.100.2"), ContainSubstring("02:00:00:00:00:01"), ContainSubstring("edge-addresses")))
	})
	t.Run("edges of ours that still end are ignored", func(t *testing.T) {
		g := NewWithT(t)
		w := taken(t)
		// They end within 15 s, and the kernel that asks believes in them for a minute.
		checkedFor(&w, 74*time.Second)
		g.Expect(said(decide.About(w, testOptions.Release, testNow))).To(BeFalse())
		g.Expect(said(decide.About(w, testOptions.Release, testNow.Add(time.Second)))).To(BeTrue())
	})
	t.Run("mended by other addresses, with machines there", func(t *testing.T) {
		g := NewWithT(t)
		w := taken(t)
		for _, n := range w.Last.Networks {
			putVM(&w, n)
		}
		w.HostedCluster.Annotations = annotated(w, "edge-addresses", "192.168.100.6-192.168.100.9")
		d := decide.About(w, testOptions.Release, testNow)
		n := d.Plan.Networks[slices.IndexFunc(d.Plan.Networks, func(n network.Network) bool { return n.Name == "clusters.vlan100" })]
		g.Expect(n.NextHopVIP.String()).To(Equal("192.168.100.6"), "%v", d.Problems)
		g.Expect(said(d)).To(BeFalse(), "who asks has yet to answer")
	})
	t.Run("of a check that does not run now", func(t *testing.T) {
		g := NewWithT(t)
		w, _ := twoEdges(t)
		was := taken(t)
		w.EdgeReports, w.Edges = was.EdgeReports, append(w.Edges, was.Edges...)
		g.Expect(said(decide.About(w, testOptions.Release, testNow))).To(BeFalse())
	})
}

// TestFailoverDegraded is reported for an edge that there is, and nothing is held back.
func TestFailoverDegraded(t *testing.T) {
	g := NewWithT(t)
	w, _ := twoEdges(t)
	degraded := reported.Degradation{Cause: problem.FailoverAnnouncementIgnored, ARPAnnounce: 2, Source: netip.MustParseAddr("192.168.100.5")}
	w.EdgeReports = []gather.NetworkReport{
		{Network: "clusters.vlan100", EdgeReport: reported.EdgeReport{Edge: 2, Degraded: degraded}}, {Network: "clusters.vlan100", EdgeReport: reported.EdgeReport{Edge: 1}},
		{Network: "clusters.gone", EdgeReport: reported.EdgeReport{Edge: 1, Degraded: degraded}},
	}
	d := decide.About(w, testOptions.Release, testNow)
	var slow problem.Problems
	for _, p := range d.Problems {
		if p.Reason == problem.FailoverDegraded {
			slow = append(slow, p)
		}
	}
	g.Expect(slow).To(HaveLen(1))
	g.Expect(message(slow[0])).To(ContainSubstring("arp_announce is 2"))
	g.Expect(slow[0].Subject).To(Equal(w.Edges[1].Subject()), "each problem of an edge names it alike")
	c := reportOf(t, w, d, apply.Outcome{Edges: w.Edges}).Condition
	g.Expect(c.Reason).To(Equal(string(explain.ReadyWithWarnings)))
}
