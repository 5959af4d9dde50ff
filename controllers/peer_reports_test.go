package controllers

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/controllers/apply"
	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// readySince is d, whose pod became ready that long ago.
func readySince(ago time.Duration) func(appsv1.Deployment) appsv1.Deployment {
	return func(d appsv1.Deployment) appsv1.Deployment {
		d = running(d)
		d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: "True", LastTransitionTime: metav1.NewTime(testNow.Add(-ago))}}
		return d
	}
}

// TestEdgesPartitioned: both edges serve, and a problem says that a failover takes longer. It
// is not reported before it is certain.
func TestEdgesPartitioned(t *testing.T) {
	const label = "clusters.vlan100"
	tells := func(edge int, peer string) gather.NetworkReport {
		return gather.NetworkReport{Network: label, EdgeReport: reported.EdgeReport{Edge: edge, Peer: peer}}
	}
	for name, c := range map[string]struct {
		change func(*gather.World)
		edge   string
		again  time.Duration
	}{
		"each hears the other": {func(w *gather.World) {
			w.EdgeReports = []gather.NetworkReport{tells(1, reported.PeerServing), tells(2, reported.PeerServing)}
		}, "", decide.ResyncReady},
		"neither does": {func(w *gather.World) {
			w.EdgeReports = []gather.NetworkReport{tells(1, reported.PeerUnreachable), tells(2, reported.PeerUnreachable)}
		}, "edge 1", decide.ResyncReady},
		"the second does not": {func(w *gather.World) {
			w.EdgeReports = []gather.NetworkReport{tells(1, reported.PeerServing), tells(2, reported.PeerUnreachable)}
		}, "edge 2", decide.ResyncReady},
		"the second hears it over the cluster network only": {func(w *gather.World) {
			w.EdgeReports = []gather.NetworkReport{tells(1, reported.PeerServing), {Network: label, EdgeReport: reported.EdgeReport{Edge: 2, Peer: reported.PeerServing, PeerSilent: true}}}
		}, "edge 2", decide.ResyncReady},
		"on another network": {func(w *gather.World) {
			w.EdgeReports = []gather.NetworkReport{{Network: "clusters.gone", EdgeReport: reported.EdgeReport{Edge: 1, Peer: reported.PeerUnreachable}}}
		}, "", decide.ResyncReady},
		"one does not serve at all": {func(w *gather.World) {
			w.EdgeReports = []gather.NetworkReport{tells(1, reported.PeerUnreachable)}
			setEdge(w, second, stopped)
		}, "", decide.ResyncReady},
		"one serves since a moment": {func(w *gather.World) {
			w.EdgeReports = []gather.NetworkReport{tells(1, reported.PeerUnreachable)}
			setEdge(w, second, readySince(time.Second))
		}, "", time.Minute - time.Second},
		"both serve for long": {func(w *gather.World) {
			w.EdgeReports = []gather.NetworkReport{tells(1, reported.PeerUnreachable)}
			setEdge(w, first, readySince(time.Hour))
			setEdge(w, second, readySince(time.Minute))
		}, "edge 1", decide.ResyncReady},
		"the other edge is to go": {func(w *gather.World) {
			w.EdgeReports = []gather.NetworkReport{tells(1, reported.PeerUnreachable)}
			w.HostedCluster.Annotations = annotated(*w, "edges", "1")
		}, "", decide.ResyncReady},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, _ := twoEdges(t)
			c.change(&w)
			d := decide.About(w, testOptions.Release, testNow)
			g.Expect(d.Again).To(Equal(c.again))
			i := slices.IndexFunc(d.Problems, func(p problem.Problem) bool { return p.Reason == problem.EdgesPartitioned })
			if c.edge == "" {
				g.Expect(i).To(Equal(-1), "%v", d.Problems)
				return
			}
			g.Expect(i).To(BeNumerically(">=", 0))
			g.Expect(message(d.Problems[i])).To(ContainSubstring(c.edge + " cannot reach its peer"))
			verdict := reportOf(t, w, d, apply.Outcome{Edges: w.Edges}).Condition
			g.Expect(verdict.Reason).To(Equal(string(explain.ReadyWithWarnings)))
			g.Expect(verdict.Status).To(Equal(metav1.ConditionTrue))
		})
	}
}

// TestPartitionHoldsRollAndBudget: while two edges serve and one hears nothing of the other,
// a new image replaces neither and the budget allows no drain. Ten minutes after it was
// first seen both continue, whatever edges report, and after a restart of the operator too.
func TestPartitionHoldsRollAndBudget(t *testing.T) {
	g := NewWithT(t)
	w, _ := twoEdges(t)
	w.EdgeReports = []gather.NetworkReport{{Network: "clusters.vlan100", EdgeReport: reported.EdgeReport{Edge: 1, Peer: reported.PeerServing, PeerSilent: true}}}
	setEdge(&w, first, readySince(time.Hour))
	setEdge(&w, second, readySince(2*time.Hour))
	newer := testOptions
	newer.Image = "registry.example.com/oooi-edge:v2"
	at := func(now time.Time) (d decide.Decision, allowed string) {
		d = decide.About(w, newer.Release, now)
		i := slices.IndexFunc(d.Desired, func(u *unstructured.Unstructured) bool {
			return u.GetKind() == own.BudgetKind.Kind && u.GetLabels()[wire.LabelNetwork] == "clusters.vlan100"
		})
		g.Expect(i).To(BeNumerically(">=", 0))
		unavailable, _, err := unstructured.NestedFieldNoCopy(d.Desired[i].Object, "spec", "maxUnavailable")
		g.Expect(err).NotTo(HaveOccurred())
		stored := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: d.Desired[i].GetName(), Annotations: d.Desired[i].GetAnnotations()}}
		stored.SetGroupVersionKind(own.BudgetKind)
		w.Owned = []metav1.PartialObjectMetadata{stored}
		return d, fmt.Sprint(unavailable)
	}
	recreates := func(d decide.Decision) []bool {
		return []bool{d.Does(first, rollout.Recreate), d.Does(second, rollout.Recreate)}
	}
	for _, after := range []time.Duration{0, time.Minute, 9*time.Minute + 59*time.Second} {
		d, allowed := at(testNow.Add(after))
		g.Expect(recreates(d)).To(Equal([]bool{false, false}), "after %v", after)
		g.Expect(allowed).To(Equal("0"))
		g.Expect(d.Again).To(BeNumerically("<=", rollout.Deadline-after))
		held := slices.IndexFunc(d.Problems, func(p problem.Problem) bool { return p.Cause == problem.EdgesHeld })
		g.Expect(held).To(BeNumerically(">=", 0))
		g.Expect(message(d.Problems[held])).To(ContainSubstring("cannot be drained, because edge 1 cannot reach its peer. This ends when both edges reach each other, or after 10 minutes"))
	}
	d, allowed := at(testNow.Add(rollout.Deadline))
	g.Expect(recreates(d)).To(Equal([]bool{true, false}), "the one that became ready last is first")
	g.Expect(allowed).To(Equal("1"))
	w.EdgeReports = nil
	_, allowed = at(testNow.Add(2 * rollout.Deadline))
	g.Expect(allowed).To(Equal("1"))
	g.Expect(w.Owned[0].Annotations).NotTo(HaveKey(desired.HeldAnnotation))
}

// TestReportedByEdges: what edges report about themselves and each other, in words.
func TestReportedByEdges(t *testing.T) {
	one := func(r reported.EdgeReport) reported.EdgeReport { r.Edge = 1; return r }
	two := func(r reported.EdgeReport) reported.EdgeReport { r.Edge = 2; return r }
	reaches, serves := reported.EdgeReport{Level: reported.LevelReaches}, reported.EdgeReport{Level: reported.LevelServes}
	differ := reported.EdgeReport{PlansDiffer: true}
	rogue := reported.EdgeReport{Level: reported.LevelReaches, DHCPServers: []reported.UsedAddress{{Address: netip.MustParseAddr("192.168.100.66"), MAC: "02:00:00:00:00:0a"}}}
	for name, c := range map[string]struct {
		reports []reported.EdgeReport
		change  func(*gather.World)
		says    []string
	}{
		"all is well":                 {[]reported.EdgeReport{one(reaches), two(reaches)}, nil, nil},
		"the API server is down":      {[]reported.EdgeReport{one(serves), two(serves)}, nil, nil},
		"of a former version":         {[]reported.EdgeReport{one(reported.EdgeReport{}), two(reaches)}, nil, nil},
		"one reaches less":            {[]reported.EdgeReport{one(reaches), two(serves)}, nil, []string{"Warning EdgeImpaired: Edge 2 of network clusters/vlan100 cannot connect VMs to the API server"}},
		"one is cut and says nothing": {[]reported.EdgeReport{one(reported.EdgeReport{Peer: reported.PeerImpaired, Level: reported.LevelReaches}), two(reaches)}, nil, []string{"Edge 2 of network clusters/vlan100 cannot connect"}},
		"its peer is gone since": {[]reported.EdgeReport{one(reported.EdgeReport{Peer: reported.PeerImpaired}), two(reaches)},
			func(w *gather.World) { setEdge(w, first, stopped) }, nil},
		"one is deaf":           {[]reported.EdgeReport{one(reported.EdgeReport{Deaf: true, Level: reported.LevelNothing}), two(reaches)}, nil, []string{"EdgeImpaired: Edge 1 of network clusters/vlan100 receives nothing from the VLAN"}},
		"an old word of a twin": {[]reported.EdgeReport{one(reaches), two(reported.EdgeReport{Yields: true, PeerSilent: true})}, nil, nil},
		"both tell of a twin":   {[]reported.EdgeReport{one(reported.EdgeReport{PeerDuplicated: true}), two(reported.EdgeReport{Yields: true, Level: reported.LevelNothing})}, nil, []string{"Warning EdgeDuplicated: Two pods run as edge 2 of"}},
		"plans differ":          {[]reported.EdgeReport{one(differ), two(differ)}, nil, []string{"Warning EdgesServeDifferentPlans: The edges of network clusters/vlan100 serve different plans, as edge 1 reports"}},
		"the second tells":      {[]reported.EdgeReport{two(differ)}, nil, []string{"as edge 2 reports"}},
		"a VM runs a DHCP server": {[]reported.EdgeReport{one(rogue), two(rogue)},
			func(w *gather.World) {
				m := lenient.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Name: "blue-worker-9"}}
				m.Spec.Networks = []lenient.VMNetwork{{Name: "default"}}
				m.Status.Interfaces = []lenient.VMInterface{{Name: "default", MAC: "02:00:00:00:00:0A"}}
				w.VMs = append(w.VMs, m)
			}, []string{"Warning RogueDHCPServer: Another DHCP server was active on network clusters/vlan100 at 192.168.100.66 within the last hour. Its MAC 02:00:00:00:00:0a is that of VM blue-worker-9"}},
		"a host answers for the peer": {[]reported.EdgeReport{one(reported.EdgeReport{Level: reported.LevelReaches, PeerHosts: []reported.UsedAddress{
			{Address: netip.MustParseAddr("192.168.100.5"), MAC: "02:00:00:00:00:0a"}, {Address: netip.MustParseAddr("192.168.100.77"), MAC: "02:00:00:00:00:0b"}}, VIPHosts: []reported.UsedAddress{{Address: netip.MustParseAddr("192.168.100.2"), MAC: "02:00:00:00:00:0c"}}}), two(reaches)},
			nil, []string{"Warning AddressInUse: A host that is not an edge answers for the next-hop VIP 192.168.100.2 of network clusters/vlan100. Its MAC 02:00:00:00:00:0c is that of no VM of the cluster.", "Warning AddressInUse: Another host answers for edge address 192.168.100.5 of network clusters/vlan100. Its MAC 02:00:00:00:00:0a is that of no VM of the cluster."}},
		"the DHCP pool is empty": {[]reported.EdgeReport{one(reported.EdgeReport{Level: reported.LevelReaches, DHCP: reported.DHCPReport{
			Exhausted: reported.PoolExhaustion{Since: testNow, PoolUse: reported.PoolUse{Size: 2, Assigned: 2}}}}), two(reaches)},
			nil, []string{"Warning AddressesExhausted: DHCP on network clusters/vlan100 has had no free address since"}},
		"leases are refused": {[]reported.EdgeReport{one(reaches), two(reported.EdgeReport{Level: reported.LevelReaches, DHCP: reported.DHCPReport{
			NotWritten: reported.LeasesUnwritten{Since: testNow, Error: "exceeded quota"}}})},
			nil, []string{"Warning LeasesNotWritten: Edge 2 of network clusters/vlan100 has failed to write new leases since"}},
		"an edge whose pool was empty is gone": {[]reported.EdgeReport{one(reported.EdgeReport{Level: reported.LevelReaches, DHCP: reported.DHCPReport{
			Exhausted: reported.PoolExhaustion{Since: testNow}}}), two(reaches)},
			func(w *gather.World) { setEdge(w, first, stopped) }, nil},
		"a host that leads to the management cluster": {[]reported.EdgeReport{one(reported.EdgeReport{Level: reported.LevelReaches, RefusedHosts: []string{"mirror.example.com:443"}}), two(reaches)},
			func(w *gather.World) {
				metav1.SetMetaDataAnnotation(&w.HostedCluster.ObjectMeta, settings.Prefix+"allowed-hosts", "auto,mirror.example.com")
			}, []string{"Warning NotPermitted: External hosts of network clusters/vlan100 have addresses inside the management cluster: mirror.example.com:443"}},
		"a loose kernel": {[]reported.EdgeReport{one(reported.EdgeReport{Level: reported.LevelReaches, Believes: reported.KernelCauses()}), two(reaches)}, nil, []string{
			"Warning SourcesUnverified: The kernel of edge 1 of network clusters/vlan100 does not verify source addresses",
			"Warning SourcesUnverified: Edge 1 accepts IPv6 packets from network clusters/vlan100",
			"Warning SourcesUnverified: The kernel of edge 1 of network clusters/vlan100 accepts ICMP redirects",
			"Warning RogueRouter: A host on network clusters/vlan100 acts as an IPv6 router",
			"Warning EdgeImpaired: The kernel of edge 1 of network clusters/vlan100 lacks a route to a network of annotation client-networks"}},
		"while edges are rolled": {[]reported.EdgeReport{one(differ), two(differ)}, func(w *gather.World) { setEdge(w, first, older) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, _ := twoEdges(t)
			for _, r := range c.reports {
				w.EdgeReports = append(w.EdgeReports, gather.NetworkReport{Network: "clusters.vlan100", EdgeReport: r})
			}
			if c.change != nil {
				c.change(&w)
			}
			d := decide.About(w, testOptions.Release, testNow)
			var lines []string
			for _, p := range d.Problems {
				if slices.Contains([]problem.Reason{problem.EdgeImpaired, problem.EdgeDuplicated, problem.EdgesServeDifferentPlans, problem.SourcesUnverified, problem.RogueRouter, problem.RogueDHCPServer, problem.AddressInUse, problem.NotPermitted, problem.AddressesExhausted, problem.LeasesNotWritten}, p.Reason) {
					lines = append(lines, line(p))
					g.Expect(p.Blocks()).To(BeFalse())
				}
			}
			g.Expect(lines).To(HaveLen(len(c.says)))
			for i, says := range c.says {
				g.Expect(lines[i]).To(ContainSubstring(says))
			}
		})
	}
}

// TestResyncInterval is for changes that no watch reports.
func TestResyncInterval(t *testing.T) {
	asks := func(ago time.Duration) func(*gather.World) {
		return func(w *gather.World) {
			checkedFor(w, ago)
		}
	}
	for name, c := range map[string]struct {
		change func(*gather.World)
		again  time.Duration
	}{
		"a check was just created":      {asks(time.Second), 75*time.Second - time.Second},
		"a check is to be created":      {func(w *gather.World) { w.Edges = nil }, decide.ResyncReady},
		"a check has run for some time": {asks(75 * time.Second), decide.ResyncReady},
		"the addresses are free":        {func(w *gather.World) { asks(time.Hour)(w); setEdge(w, w.Edges[0].Name, running) }, decide.ResyncReady},
		"endpoints are written by hand": {func(w *gather.World) {
			setEdge(w, w.Edges[0].Name, running)
			w.Services = slices.Clone(w.Services)
			for i := range w.Services {
				w.Services[i].Spec.Selector = nil
			}
		}, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := askFirst(t, "lb-ip")
			c.change(&w)
			NewWithT(t).Expect(decide.About(w, testOptions.Release, testNow).Again).To(Equal(c.again))
		})
	}
}

// TestEdgeSaysWhyItDoesNotServe: the condition has the words of an edge whose pod runs and refuses to serve.
func TestEdgeSaysWhyItDoesNotServe(t *testing.T) {
	g := NewWithT(t)
	const why = "CIDR 10.128.0.0/24 of network clusters.vlan100 on net1 contains 10.128.0.9 (a pod of Service kube-apiserver), which is unreachable"
	w, _ := twoEdges(t)
	w.EdgeReports = []gather.NetworkReport{{Network: "clusters.vlan100", EdgeReport: reported.EdgeReport{Edge: 1, Peer: reported.PeerServing, NotServing: []reported.ServerFault{
		{Server: network.ServiceDHCP, Cause: problem.ServerStopped}, {Server: network.ServiceDNS, Cause: problem.ServerRefuses, Error: why},
	}}}}
	says := func() ([]explain.ReportProblem, string) {
		r := reportOf(t, w, decide.About(w, testOptions.Release, testNow), apply.Outcome{Edges: w.Edges}).Report
		return r.Problems, r.Message()
	}
	problems, _ := says()
	g.Expect(problems).NotTo(ContainElement(HaveField("Cause", problem.EdgeNotServing)), "its pod is ready, so the report is old")

	setEdge(&w, first, stopped)
	problems, text := says()
	g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.EdgeNotServing), HaveField("Severity", problem.SeverityWarning))))
	g.Expect(text).To(And(ContainSubstring("does not serve DNS ("+why+")"), ContainSubstring("does not serve DHCP (no process listens at its socket)")))

	setEdge(&w, second, stopped)
	problems, text = says()
	g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.NetworkEdgeNotServing), HaveField("Reason", problem.EdgeNotReady))))
	g.Expect(text).To(And(ContainSubstring("does not serve DNS ("+why+")"), ContainSubstring("does not serve DHCP (no process listens at its socket)")))
}
