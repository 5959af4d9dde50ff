// This file holds the metrics of hosted clusters. It decides nothing.

package controllers

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers/waves"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
)

// Metrics of the controllers.
type Metrics struct {
	metrics.Set

	mu sync.Mutex
	// observed counts the problems of each cluster by reason and severity.
	observed map[types.NamespacedName]map[[2]string]int
	// networks are those of each cluster, by the label of their edges.
	networks map[types.NamespacedName][]string
}

// NewMetrics registers all of them with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	return &Metrics{
		Set:      metrics.Register(r, metrics.Operator),
		observed: map[types.NamespacedName]map[[2]string]int{},
		networks: map[types.NamespacedName][]string{},
	}
}

func (m *Metrics) wrote(kind string) { m.Counter(metrics.ObjectWrites).WithLabelValues(kind).Inc() }

func (m *Metrics) watched(kind string, yes bool) { m.set(metrics.KindWatched, yes, kind) }

func (m *Metrics) policyInForce(policy string, yes bool) {
	m.set(metrics.AdmissionPolicyInForce, yes, policy)
}

func (m *Metrics) servicesKnown(yes bool) { m.set(metrics.ServiceRangeKnown, yes) }

func (m *Metrics) environmentRead(source string, yes bool) {
	m.set(metrics.EnvironmentRead, yes, source)
}

// updating replaces the metrics of the update.
func (m *Metrics) updating(d waves.Decision) {
	m.Gauge(metrics.UpdateWave).WithLabelValues().Set(float64(d.Wave))
	for _, s := range waves.States() {
		m.Gauge(metrics.UpdateClusters).WithLabelValues(string(s)).Set(float64(d.Count(s)))
	}
}

// set sets g to 1 if yes is true, else to 0. A scrape never sees another value in between.
func (m *Metrics) set(g metrics.Gauge, yes bool, labels ...string) {
	m.Gauge(g).WithLabelValues(labels...).Set(metrics.Bool(yes))
}

// observe replaces the metrics of one cluster.
func (m *Metrics) observe(w world, d decision, v verdict) {
	key := types.NamespacedName{Namespace: w.HostedCluster.Namespace, Name: w.HostedCluster.Name}
	if d.action == remove && !v.problems.Has(network.Removing) {
		m.forget(key)
		return
	}
	counts, problems := map[[2]string]int{}, m.Gauge(metrics.HostedClusterProblems)
	for _, p := range v.problems {
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
	m.set(metrics.HostedClusterReady, v.Ready, key.Namespace, key.Name)
	m.planned(key, d.plan)
}

// planned replaces the hashes of the networks of one cluster.
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

// passed counts a pass. One of a cluster for which nothing is served is not counted.
func (m *Metrics) passed(key types.NamespacedName, d decision, err error) {
	if d.action == ignore || d.action == remove {
		return
	}
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	m.Counter(metrics.HostedClusterReconciles).WithLabelValues(key.Namespace, key.Name, outcome).Inc()
}

// written stores whether the condition of a cluster could be written.
func (m *Metrics) written(key types.NamespacedName, yes bool) {
	m.set(metrics.HostedClusterConditionWritten, yes, key.Namespace, key.Name)
}

// forget removes what is told about one cluster.
func (m *Metrics) forget(key types.NamespacedName) {
	m.mu.Lock()
	delete(m.observed, key)
	delete(m.networks, key)
	m.mu.Unlock()
	m.Forget(prometheus.Labels{"namespace": key.Namespace, "name": key.Name})
}
