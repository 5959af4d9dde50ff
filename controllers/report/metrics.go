// This file holds the metrics of hosted clusters.

package report

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
	"github.com/cldmnky/oooi/network/problem"
)

// Metrics of the controllers.
type Metrics struct {
	metrics.Set

	mu sync.Mutex
	// observed counts the problems of each cluster by reason and severity.
	observed map[types.NamespacedName]map[[2]string]int
	// networks are the labels of each cluster's networks.
	networks map[types.NamespacedName][]string
}

// NewMetrics registers all metrics with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	return &Metrics{
		Set:      metrics.Register(r, metrics.Operator),
		observed: map[types.NamespacedName]map[[2]string]int{},
		networks: map[types.NamespacedName][]string{},
	}
}

func (m *Metrics) observe(w gather.World, d decide.Decision, v verdict) {
	key := types.NamespacedName{Namespace: w.HostedCluster.Namespace, Name: w.HostedCluster.Name}
	if d.Action == decide.Remove && !v.AllProblems.Has(problem.Removing) {
		m.ForgetCluster(key)
		return
	}
	counts, problems := map[[2]string]int{}, m.Gauge(metrics.HostedClusterProblems)
	for _, p := range v.AllProblems {
		counts[[2]string{string(p.Reason), string(p.Level())}]++
	}
	for of, count := range counts {
		problems.WithLabelValues(key.Namespace, key.Name, of[0], of[1]).Set(float64(count))
	}
	m.mu.Lock()
	for of := range m.observed[key] {
		if counts[of] == 0 {
			problems.DeleteLabelValues(key.Namespace, key.Name, of[0], of[1])
		}
	}
	m.observed[key] = counts
	m.mu.Unlock()
	m.SetBool(metrics.HostedClusterReady, v.Ready, key.Namespace, key.Name)
	m.planned(key, d.Plan)
}

func (m *Metrics) planned(key types.NamespacedName, plan network.Plan) {
	var now []string
	hashes := m.Gauge(metrics.HostedClusterPlanHash)
	for _, n := range plan.Networks {
		label := wire.NetworkLabel(n.Name)
		now = append(now, label)
		hashes.WithLabelValues(key.Namespace, key.Name, label).Set(float64(n.Hash()))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, label := range m.networks[key] {
		if !slices.Contains(now, label) {
			hashes.DeleteLabelValues(key.Namespace, key.Name, label)
		}
	}
	m.networks[key] = now
}

// Passed counts a pass, unless nothing is served.
func (m *Metrics) Passed(key types.NamespacedName, d decide.Decision, err error) {
	if d.Action == decide.Ignore || d.Action == decide.Remove {
		return
	}
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	m.Counter(metrics.HostedClusterReconciles).WithLabelValues(key.Namespace, key.Name, outcome).Inc()
}

func (m *Metrics) written(key types.NamespacedName, yes bool) {
	m.SetBool(metrics.HostedClusterConditionWritten, yes, key.Namespace, key.Name)
}

// ForgetCluster removes the series of one cluster.
func (m *Metrics) ForgetCluster(key types.NamespacedName) {
	m.mu.Lock()
	delete(m.observed, key)
	delete(m.networks, key)
	m.mu.Unlock()
	m.Set.Forget(prometheus.Labels{"namespace": key.Namespace, "name": key.Name})
}
