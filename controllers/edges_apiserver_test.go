package controllers

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// names of the Deployments on vlan100.
func (h hosted) names(t *testing.T) func() []string {
	return func() []string {
		var out []string
		for _, d := range h.deployments(t, "vlan100") {
			out = append(out, d.Name)
		}
		return out
	}
}

// testAddressCheck: no edge is created while another host has its addresses, and the condition
// names the host.
func testAddressCheck(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.newHosted(t, "asks", nil)
	h.publish(t)
	n := h.network("vlan100")
	g.Eventually(h.names(t)).Should(Equal([]string{wire.ACDDeploymentName(n)}))
	asked := h.deployments(t, "vlan100")[0]
	report := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "oooi-report." + wire.ACDDeploymentName(n), Labels: wire.NetworkLabels(wire.NameReport, n),
		Annotations: map[string]string{wire.AnnotationReport: string(reported.EdgeReport{
			AddressesInUse: []reported.UsedAddress{{Address: netip.MustParseAddr("192.168.100.2"), MAC: "02:00:00:00:00:01"}}}.JSON())}}}
	report.Labels[wire.LabelEdge] = "0"
	g.Expect(s.admin.Create(t.Context(), report)).To(Succeed())
	later := &Reconciler{Client: r.Client, Live: r.Live, Events: r.Events, Metrics: r.Metrics, Options: r.Options, Now: r.Now}
	later.Now = func() time.Time { return time.Now().Add(75 * time.Second) }
	g.Eventually(func() string { again(t, later, h); return h.says(t)() }).Should(And(
		HavePrefix(string(problem.AddressInUse)), ContainSubstring("192.168.100.2"), ContainSubstring("02:00:00:00:00:01")))
	g.Expect(h.names(t)()).To(Equal([]string{wire.ACDDeploymentName(n)}))

	h.annotate(t, "edge-addresses", "192.168.100.6-192.168.100.9")
	g.Eventually(func() int64 { return h.deployments(t, "vlan100")[0].Generation }).Should(BeNumerically(">", asked.Generation))
	g.Eventually(func() string { again(t, later, h); return h.says(t)() }).Should(And(HavePrefix(string(problem.AddressCheckPending)), ContainSubstring("checking for address conflicts")))
	h.edgeServes(t)
	h.wellServed(t)
	g.Expect(h.names(t)()).To(Equal([]string{wire.EdgeDeploymentName(n, network.Edge{Number: 1}), wire.EdgeDeploymentName(n, network.Edge{Number: 2})}))
	g.Expect(h.snapshot(t)).NotTo(HaveKey("Lease "+report.Name), "nobody asks any more")
}

// testOneEdgeAtATime: of two edges to recreate, the second waits until the first serves. An
// Event announces each.
func testOneEdgeAtATime(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "rolls")
	edge := func(number int) appsv1.Deployment { return h.deployments(t, "vlan100")[number-1] }
	moved := func(number int) func() bool {
		return func() bool {
			return edge(number).Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
		}
	}
	h.annotate(t, "edge-node-selector", "rack=7")
	g.Eventually(moved(2)).Should(BeTrue())
	g.Eventually(h.says(t)).Should(And(HavePrefix(string(explain.ReadyWithWarnings)), ContainSubstring(edge(2).Name+" is not ready"), ContainSubstring("If its peer also fails, network")))
	again(t, r, h)
	g.Expect(moved(1)()).To(BeFalse())
	g.Expect(h.condition(t).Status).To(Equal(metav1.ConditionTrue))

	two := edge(2)
	g.Expect(h.serves(t, &two)).To(Succeed())
	g.Eventually(moved(1)).Should(BeTrue())
	one := edge(1)
	g.Expect(h.serves(t, &one)).To(Succeed())
	h.wellServed(t)
	g.Eventually(h.told(t, "Disruption")).Should(ConsistOf(ContainSubstring("Recreating edge "+one.Name), ContainSubstring("Recreating edge "+two.Name)))
}

// testReportsAreWatched: the operator learns only from a report that an edge does not hear
// its peer. The budget then allows no drain and a roll waits, until the report changes.
// The operator's rights suffice for it.
func testReportsAreWatched(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "islands")
	n := h.network("vlan100")
	generation := func() int64 { d := h.deployments(t, "vlan100"); return d[0].Generation + d[1].Generation }
	before := generation()
	lease := wire.EdgeReportLease(n, network.Edge{Number: 2})
	report := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: lease.Name, Labels: lease.Labels}}
	tells := func(r reported.EdgeReport) {
		report.Annotations = map[string]string{wire.AnnotationReport: string(r.JSON())}
	}
	allowed := func() int {
		budget := &policyv1.PodDisruptionBudget{}
		g.Expect(s.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: wire.BudgetName(n)}, budget)).To(Succeed())
		return budget.Spec.MaxUnavailable.IntValue()
	}
	tells(reported.EdgeReport{Edge: 2, Peer: reported.PeerUnreachable, PeerSilent: true})
	g.Expect(s.admin.Create(t.Context(), report)).To(Succeed())
	g.Eventually(allowed).Should(BeZero())
	hash := func() string { m := h.condition(t).Message; return m[len(m)-len("12345678)"):] }
	former := hash()
	h.annotate(t, "edge-node-selector", "rack=7")
	g.Eventually(hash).ShouldNot(Equal(former))
	g.Expect(generation()).To(Equal(before), "the annotation is in force, and no edge is recreated")

	tells(reported.EdgeReport{Edge: 2, Peer: reported.PeerServing})
	g.Expect(s.admin.Update(t.Context(), report)).To(Succeed())
	g.Eventually(generation).Should(BeNumerically(">", before), "the roll goes on")
	g.Eventually(allowed).Should(Equal(1))
}

// told are the notes of Events with this reason.
func (h hosted) told(t *testing.T, reason string) func() []string {
	return func() []string {
		list := &eventsv1.EventList{}
		NewWithT(t).Expect(h.admin.List(t.Context(), list, client.InNamespace(h.key.Namespace))).To(Succeed())
		var out []string
		for _, e := range list.Items {
			if e.Regarding.Name == h.key.Name && e.Reason == reason {
				out = append(out, e.Note)
			}
		}
		return out
	}
}

// testOneEdgeOrTwo: the budget is there for two, and the edge that stays is left
// alone.
func testOneEdgeOrTwo(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "count")
	first := h.deployments(t, "vlan100")[0]
	n := h.network("vlan100")
	budget := &policyv1.PodDisruptionBudget{}
	g.Expect(s.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: wire.BudgetName(n)}, budget)).To(Succeed())
	g.Expect(budget.Spec.MaxUnavailable.IntValue()).To(Equal(1))
	hasBudget := func() bool { _, there := h.snapshot(t)["PodDisruptionBudget "+wire.BudgetName(n)]; return there }
	h.annotate(t, "edges", "1")
	g.Eventually(h.names(t)).Should(Equal([]string{first.Name}))
	g.Eventually(hasBudget).Should(BeFalse())
	h.annotate(t, "edges", "2")
	g.Eventually(h.names(t)).Should(HaveLen(2))
	g.Eventually(hasBudget).Should(BeTrue())
	h.edgeServes(t)
	h.wellServed(t)
	g.Expect(h.deployments(t, "vlan100")[0].Generation).To(Equal(first.Generation))
}
