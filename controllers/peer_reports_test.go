package controllers

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
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
	tells := func(edge int, peer string) reported {
		return reported{label, network.Report{Edge: edge, Peer: peer}}
	}
	for name, c := range map[string]struct {
		change func(*world)
		edge   string
		again  time.Duration
	}{
		"each hears the other": {func(w *world) { w.reports = []reported{tells(1, network.PeerServing), tells(2, network.PeerServing)} }, "", resyncReady},
		"neither does": {func(w *world) {
			w.reports = []reported{tells(1, network.PeerUnreachable), tells(2, network.PeerUnreachable)}
		}, "edge 1", rollout.PartitionInterval},
		"the second does not": {func(w *world) {
			w.reports = []reported{tells(1, network.PeerServing), tells(2, network.PeerUnreachable)}
		}, "edge 2", rollout.PartitionInterval},
		"on another network": {func(w *world) {
			w.reports = []reported{{"clusters.gone", network.Report{Edge: 1, Peer: network.PeerUnreachable}}}
		}, "", resyncReady},
		"one does not serve at all": {func(w *world) { w.reports = []reported{tells(1, network.PeerUnreachable)}; w.set(second, stopped) }, "", resyncReady},
		"one serves since a moment": {func(w *world) {
			w.reports = []reported{tells(1, network.PeerUnreachable)}
			w.set(second, readySince(time.Second))
		}, "", rollout.PartitionInterval},
		"both serve for long": {func(w *world) {
			w.reports = []reported{tells(1, network.PeerUnreachable)}
			w.set(first, readySince(time.Hour))
			w.set(second, readySince(rollout.Settled))
		}, "edge 1", rollout.PartitionInterval},
		"the other edge is to go": {func(w *world) {
			w.reports = []reported{tells(1, network.PeerUnreachable)}
			w.HostedCluster.Annotations = annotated(*w, "edges", "1")
		}, "", resyncReady},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, _ := twoEdges(t)
			c.change(&w)
			d := decide(w, testOptions, testNow)
			g.Expect(d.again).To(Equal(c.again))
			i := slices.IndexFunc(d.problems, func(p network.Problem) bool { return p.Reason == network.EdgesPartitioned })
			if c.edge == "" {
				g.Expect(i).To(Equal(-1), "%v", d.problems)
				return
			}
			g.Expect(i).To(BeNumerically(">=", 0))
			g.Expect(message(d.problems[i])).To(ContainSubstring(c.edge + " cannot reach its peer"))
			verdict, _ := condition(w, d, verdictOf(w, d, outcome{edges: w.edges}), testNow)
			g.Expect(verdict.Reason).To(Equal(string(explain.ReadyWithWarnings)))
			g.Expect(verdict.Status).To(Equal(metav1.ConditionTrue))
		})
	}
}

// TestResyncInterval is for changes that no watch reports.
func TestResyncInterval(t *testing.T) {
	asks := func(ago time.Duration) func(*world) {
		return func(w *world) {
			w.created(ago)
		}
	}
	for name, c := range map[string]struct {
		change func(*world)
		again  time.Duration
	}{
		"who asks was just made":    {asks(time.Second), rollout.CheckInterval},
		"who asks is to be made":    {func(w *world) { w.edges = nil }, rollout.CheckInterval},
		"long asked, and no answer": {asks(2 * time.Minute), rollout.SlowCheckInterval},
		"long asked, now by another pod": {func(w *world) {
			asks(time.Hour)(w)
			w.set(w.edges[0].Name, func(d appsv1.Deployment) appsv1.Deployment {
				d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, LastUpdateTime: metav1.NewTime(testNow.Add(-time.Second))}}
				return d
			})
		}, rollout.CheckInterval},
		"the addresses are free": {func(w *world) { asks(time.Hour)(w); w.set(w.edges[0].Name, running) }, resyncReady},
		"endpoints are written by hand": {func(w *world) {
			w.set(w.edges[0].Name, running)
			w.Services = slices.Clone(w.Services)
			for i := range w.Services {
				w.Services[i].Spec.Selector = nil
			}
		}, resyncManualEndpoints},
	} {
		t.Run(name, func(t *testing.T) {
			w := askFirst(t, "lb-ip")
			c.change(&w)
			NewWithT(t).Expect(decide(w, testOptions, testNow).again).To(Equal(c.again))
		})
	}
}
