package controllers

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/apply"
	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/edge/wire"
)

// TestReconcilesAreCounted: each pass of a cluster that opted in is counted by its outcome, also one that fails for the first time.
func TestReconcilesAreCounted(t *testing.T) {
	g, registry := NewWithT(t), prometheus.NewRegistry()
	w, _ := twoEdges(t)
	r := reconcilerOf(newTakes(t, 99), registry)
	key := client.ObjectKeyFromObject(w.HostedCluster)
	d := decide.About(w, testOptions.Release, testNow)
	_, err := r.finish(t.Context(), w, d, apply.Outcome{Edges: w.Edges}, errors.New("etcd is away"))
	g.Expect(err).To(HaveOccurred())
	r.Metrics.Passed(key, d, nil)
	r.Metrics.Passed(key, d, nil)
	r.Metrics.Passed(key, decide.Decision{Action: decide.Ignore}, nil)
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	counted := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "oooi_hosted_cluster_reconciles_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "outcome" {
					counted[l.GetValue()] = m.GetCounter().GetValue()
				}
			}
		}
	}
	g.Expect(counted).To(Equal(map[string]float64{"done": 2, "failed": 1}))
}

// TestPlanHash: the operator has the hash of each network of the plan, which ends with the network.
func TestPlanHash(t *testing.T) {
	g, registry := NewWithT(t), prometheus.NewRegistry()
	w, _ := twoEdges(t)
	r, d := reconcilerOf(newTakes(t, 9), registry), decide.About(w, testOptions.Release, testNow)
	n := d.Plan.Networks[0]
	g.Expect(r.report(t.Context(), w, d, apply.Outcome{})).To(Succeed())
	hashes := func() map[string]float64 { return gauges(t, registry, "oooi_hosted_cluster_plan_hash") }
	g.Expect(hashes()).To(And(HaveLen(2), HaveKeyWithValue(wire.NetworkLabel(n.Name), float64(n.Hash()))))
	was := n.Hash()
	n.MetricsPort++
	g.Expect(n.Hash()).NotTo(Equal(was))
	d.Plan.Networks = nil
	g.Expect(r.report(t.Context(), w, d, apply.Outcome{})).To(Succeed())
	g.Expect(hashes()).To(BeEmpty())
}
