// This file holds the metrics of hosted clusters. It decides nothing.

package controllers

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers/waves"
	"github.com/cldmnky/oooi/network"
)

// Metrics of the controllers. VMs and their users choose the value of no label.
type Metrics struct {
	ready    *prometheus.GaugeVec
	problem  *prometheus.GaugeVec
	writes   *prometheus.CounterVec
	kinds    *prometheus.GaugeVec
	policies *prometheus.GaugeVec
	services prometheus.Gauge
	shared   *prometheus.GaugeVec
	wave     prometheus.Gauge
	updates  *prometheus.GaugeVec
	// conditions say of each cluster whether its condition could be written.
	conditions *prometheus.GaugeVec

	mu sync.Mutex
	// observed counts the problems of each cluster by reason and severity.
	observed map[types.NamespacedName]map[[2]string]int
}

// NewMetrics registers all of them with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		observed: map[types.NamespacedName]map[[2]string]int{},
		ready: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_hosted_cluster_ready", Help: "1 if the networks of a hosted cluster that opted in are ready, as its condition NetworkReady is to say, else 0."},
			[]string{"namespace", "name"}),
		conditions: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_hosted_cluster_condition_written", Help: "0 if the API server does not take the condition NetworkReady of a hosted cluster, so it is old, else 1."},
			[]string{"namespace", "name"}),
		problem: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_hosted_cluster_problems",
			Help: "Number of problems of a hosted cluster by reason and severity (Error, Waiting, Warning, Info)."},
			[]string{"namespace", "name", "reason", "severity"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "oooi_object_writes_total", Help: "Objects that were created, or changed since they were not as desired."}, []string{"kind"}),
		kinds: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_kind_watched", Help: "1 where a kind that networks are derived from exists and is watched, else 0."}, []string{"kind"}),
		policies: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_admission_policy_in_force",
			Help: "1 if the API server has a ValidatingAdmissionPolicy of oooi and its binding as shipped, else 0."}, []string{"policy"}),
		services: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "oooi_service_range_known",
			Help: "1 if the range of the management cluster's Services is known, which edges do not dial for VMs, else 0."}),
		shared: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_environment_read",
			Help: "1 if a source of what all hosted clusters share could be read, or does not exist, else 0: what was read last counts."}, []string{"source"}),
		wave: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "oooi_update_wave", Help: "Wave in which edges get the operator's release: 1, 2 or 3. 0: all edges have it."}),
		updates: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_update_clusters",
			Help: "Hosted clusters by how far edges of the operator's release have come: waiting, blocked, updating, updated, unproven, failed or paused."},
			[]string{"state"}),
	}
	r.MustRegister(m.ready, m.conditions, m.problem, m.writes, m.kinds, m.policies, m.services, m.shared, m.wave, m.updates)
	return m
}

func (m *Metrics) wrote(kind string) { m.writes.WithLabelValues(kind).Inc() }

func (m *Metrics) watched(kind string, yes bool) { set(m.kinds.WithLabelValues(kind), yes) }

func (m *Metrics) policyInForce(policy string, yes bool) {
	set(m.policies.WithLabelValues(policy), yes)
}

func (m *Metrics) servicesKnown(yes bool) { set(m.services, yes) }

func (m *Metrics) environmentRead(source string, yes bool) {
	set(m.shared.WithLabelValues(source), yes)
}

// updating replaces the metrics of the update.
func (m *Metrics) updating(d waves.Decision) {
	m.wave.Set(float64(d.Wave))
	for _, s := range waves.States() {
		m.updates.WithLabelValues(string(s)).Set(float64(d.Count(s)))
	}
}

// set sets g to 1 if yes is true, else to 0. A scrape never sees another value in between.
func set(g prometheus.Gauge, yes bool) {
	value := 0.
	if yes {
		value = 1
	}
	g.Set(value)
}

// observe replaces the metrics of one cluster.
func (m *Metrics) observe(w world, d decision, v verdict) {
	key := types.NamespacedName{Namespace: w.HostedCluster.Namespace, Name: w.HostedCluster.Name}
	if d.action == remove && !v.problems.Has(network.Removing) {
		m.forget(key)
		return
	}
	counts := map[[2]string]int{}
	for _, p := range v.problems {
		counts[[2]string{string(p.Reason), string(p.Level())}]++
	}
	for of, count := range counts {
		m.problem.WithLabelValues(key.Namespace, key.Name, of[0], of[1]).Set(float64(count))
	}
	m.mu.Lock()
	for of := range m.observed[key] {
		if counts[of] == 0 {
			m.problem.DeleteLabelValues(key.Namespace, key.Name, of[0], of[1])
		}
	}
	m.observed[key] = counts
	m.mu.Unlock()
	set(m.ready.WithLabelValues(key.Namespace, key.Name), v.Ready)
}

// written stores whether the condition of a cluster could be written.
func (m *Metrics) written(key types.NamespacedName, yes bool) {
	set(m.conditions.WithLabelValues(key.Namespace, key.Name), yes)
}

func (m *Metrics) forget(key types.NamespacedName) {
	labels := prometheus.Labels{"namespace": key.Namespace, "name": key.Name}
	m.mu.Lock()
	delete(m.observed, key)
	m.mu.Unlock()
	m.conditions.DeletePartialMatch(labels)
	m.ready.DeletePartialMatch(labels)
	m.problem.DeletePartialMatch(labels)
}
