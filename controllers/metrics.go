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
	passes     *prometheus.CounterVec
	plans      *prometheus.GaugeVec

	mu sync.Mutex
	// observed counts the problems of each cluster by reason and severity.
	observed map[types.NamespacedName]map[[2]string]int
	// networks are those of each cluster, by the label of their edges.
	networks map[types.NamespacedName][]string
}

// NewMetrics registers all of them with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		observed: map[types.NamespacedName]map[[2]string]int{},
		networks: map[types.NamespacedName][]string{},
		ready: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_hosted_cluster_ready", Help: "1 if the networks of a hosted cluster that opted in are ready."},
			[]string{"namespace", "name"}),
		conditions: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_hosted_cluster_condition_written", Help: "0 if the API server does not accept the condition, so that it is old."},
			[]string{"namespace", "name"}),
		problem: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_hosted_cluster_problems",
			Help: "Problems of a hosted cluster, by reason and severity. A reason without a problem has no series."},
			[]string{"namespace", "name", "reason", "severity"}),
		passes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "oooi_hosted_cluster_reconciles_total",
			Help: "Reconciles of a hosted cluster that opted in, by outcome: done, or failed and tried again."},
			[]string{"namespace", "name", "outcome"}),
		plans: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_hosted_cluster_plan_hash",
			Help: "Hash of the part of the plan for a network. Edges of the operator's release that serve this plan have the same oooi_failover_plan_hash."},
			[]string{"namespace", "name", "network"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "oooi_object_writes_total", Help: "Objects that the operator created or corrected."}, []string{"kind"}),
		kinds: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_kind_watched", Help: "1 if a kind that networks are derived from exists and is watched."}, []string{"kind"}),
		policies: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_admission_policy_in_force",
			Help: "1 if the API server has a ValidatingAdmissionPolicy and its binding as installed."}, []string{"policy"}),
		services: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "oooi_service_range_known",
			Help: "1 if the range of the management cluster's Services is known. Edges do not dial it for VMs."}),
		shared: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_environment_read",
			Help: "1 if a source of what all hosted clusters share could be read, or does not exist."}, []string{"source"}),
		wave: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "oooi_update_wave", Help: "Wave in which edges get the operator's release: 1, 2 or 3. 0: all edges have it."}),
		updates: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_update_clusters",
			Help: "Hosted clusters by how far their update is: waiting, blocked, updating, updated, unproven, failed or paused."},
			[]string{"state"}),
	}
	r.MustRegister(m.ready, m.conditions, m.passes, m.plans, m.problem, m.writes, m.kinds, m.policies, m.services, m.shared, m.wave, m.updates)
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
	m.planned(key, d.plan)
}

// planned replaces the hashes of the networks of one cluster.
func (m *Metrics) planned(key types.NamespacedName, plan network.Plan) {
	var now []string
	for _, n := range plan.Networks {
		label := wire.NetworkLabel(n.Name)
		now = append(now, label)
		m.plans.WithLabelValues(key.Namespace, key.Name, label).Set(float64(n.Hash()))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, label := range m.networks[key] {
		if !slices.Contains(now, label) {
			m.plans.DeleteLabelValues(key.Namespace, key.Name, label)
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
	m.passes.WithLabelValues(key.Namespace, key.Name, outcome).Inc()
}

func labelsOf(key types.NamespacedName) prometheus.Labels {
	return prometheus.Labels{"namespace": key.Namespace, "name": key.Name}
}

// written stores whether the condition of a cluster could be written.
func (m *Metrics) written(key types.NamespacedName, yes bool) {
	set(m.conditions.WithLabelValues(key.Namespace, key.Name), yes)
}

func (m *Metrics) forget(key types.NamespacedName) {
	labels := labelsOf(key)
	m.mu.Lock()
	delete(m.observed, key)
	delete(m.networks, key)
	m.mu.Unlock()
	m.conditions.DeletePartialMatch(labels)
	m.ready.DeletePartialMatch(labels)
	m.problem.DeletePartialMatch(labels)
	m.passes.DeletePartialMatch(labels)
	m.plans.DeletePartialMatch(labels)
}
