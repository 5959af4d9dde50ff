// This file is the one way through a cluster that `make test` takes: the operator is installed by the Operator Lifecycle Manager, workers
// of two hosted clusters join and are isolated, a node is lost, and in the end nothing of oooi is left. It asserts order and values, and no
// duration: how long VMs notice a fault is measured by TestTakeOver.

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/testbed/hypershift"
	"github.com/cldmnky/oooi/test/testbed/worker"
)

// A journey prints how long each of its steps took. Each step needs those before it.
type journey struct {
	bed
	began time.Time
}

func TestJourney(t *testing.T) {
	j := &journey{began: time.Now()}
	j.step(t, "a cluster of two nodes with HyperShift", func() { j.bed = newManagement(t, bedOptions{nodes: 2}) })
	j.step(t, "the operator by OLM", func() {
		manager, catalog := newCatalog(t, j.cluster)
		NewWithT(t).Expect(manager.Subscribe(t.Context(), catalog, Namespace)).To(Succeed())
		j.open(t)
	})
	j.test(t, "an annotation that can never work", func(t *testing.T) { testDenied(t, j.bed) })
	var named Hosted
	var w *worker.Worker
	if !t.Run("hosted clusters", func(t *testing.T) {
		t.Run("lb-name", func(t *testing.T) {
			t.Parallel()
			named, w = j.named(t)
		})
		t.Run("route", func(t *testing.T) {
			t.Parallel()
			j.route(t)
		})
	}) {
		t.FailNow()
	}
	s := stageOf(t, j.bed, named, w)
	j.test(t, "sockets", func(t *testing.T) { testSockets(t, s) })
	j.test(t, "router", func(t *testing.T) { testRouter(t, s) })
	j.test(t, "network policies", func(t *testing.T) { testPolicies(t, s) })
	j.test(t, "a node is lost and comes back", func(t *testing.T) { testNodeLost(t, s) })
	j.destroy(named)
	j.test(t, "deletion", func(t *testing.T) { testDeletions(t, j.bed) })
	j.test(t, "the operator is uninstalled", func(t *testing.T) {
		uninstalled(t, j.cluster, kubectlLines(t, "install.md", "With OLM:"))
		testNothingLeft(t, j.cluster)
	})
}

// step prints how long do took, also where it failed.
func (j *journey) step(t *testing.T, name string, do func()) {
	t.Helper()
	began := time.Now()
	defer func() {
		now := time.Now()
		t.Logf("journey: %4.0f s to %4.0f s, %4.0f s: %s", began.Sub(j.began).Seconds(), now.Sub(j.began).Seconds(), now.Sub(began).Seconds(), name)
	}()
	do()
}

// test is a step with a test of its own.
func (j *journey) test(t *testing.T, name string, do func(*testing.T)) {
	t.Helper()
	j.step(t, name, func() {
		if !t.Run(name, do) {
			t.FailNow()
		}
	})
}

// named is a hosted cluster with names and two edges. Its control plane stays on the first node.
func (j *journey) named(t *testing.T) (h Hosted, w *worker.Worker) {
	j.step(t, "lb-name: a worker joins", func() {
		h, w = joined(t, j.bed, hypershift.HostedClusterOptions{
			Name: "lbname", Strategy: hypershift.LoadBalancerName, VLAN: 201, Flags: onFirstNode(),
			Annotations: map[string]string{Annotation: "auto", Prefix + "edges": "2"},
		})
	})
	j.test(t, "lb-name: a name for pods", func(t *testing.T) { testNameAtEdges(t, j.bed, h) })
	j.test(t, "lb-name: isolated", func(t *testing.T) { testIsolated(t, j.bed, h, w, Some()) })
	return h, w
}

// route is a hosted cluster that publishes by Routes. In the end it is opted out, and its deletion begins.
func (j *journey) route(t *testing.T) {
	var h Hosted
	var w *worker.Worker
	j.step(t, "route: a worker joins", func() {
		h, w = joined(t, j.bed, hypershift.HostedClusterOptions{
			Name: "route", Strategy: hypershift.Route, VLAN: 203, Flags: onFirstNode(), Annotations: map[string]string{Annotation: "auto"},
		})
	})
	j.test(t, "route: isolated", func(t *testing.T) { testIsolated(t, j.bed, h, w, Some()) })
	j.test(t, "route: annotation none", func(t *testing.T) { testWithdrawn(t, h, "none") })
	j.destroy(h)
}

// testNodeLost loses the node of the edge that VMs use. The other edge reports it, VMs open new connections, leases are renewed, and the
// hosted node is Ready all the time. When the node is back, both edges serve.
func testNodeLost(t *testing.T, s *stage) {
	g := NewWithT(t)
	s.whole(t)
	before := s.held(t)
	edge := s.victim(t, fault{onSecond: true})
	s.sendTo(t, edge)
	g.Expect(s.cluster.NodeDown(2)).To(Succeed())
	defer func() { _ = s.cluster.NodeUp(2) }()

	s.missed(t, edge)
	g.Eventually(func() error {
		_, err := askAnyone(t.Context(), s.worker.Machine, s.worker.API.String()+"/version")
		return err
	}).WithPolling(time.Second).Should(Succeed(), "a new connection to the API server")
	s.renews(t)
	g.Expect(s.held(t)).To(Equal(before), "the worker's address, its DHCP server, and since when its node is Ready")

	g.Expect(s.cluster.NodeUp(2)).To(Succeed())
	s.whole(t)
	s.renews(t)
	g.Expect(s.held(t)).To(Equal(before), "the same when the node is back")
}
