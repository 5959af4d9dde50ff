// This file holds the metrics of hosted clusters. It decides nothing.

package controllers

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// Metrics of the controllers. VMs and their users choose the value of no label.
type Metrics struct {
	ready    *prometheus.GaugeVec
	problem  *prometheus.GaugeVec
	writes   *prometheus.CounterVec
	kinds    *prometheus.GaugeVec
	policies *prometheus.GaugeVec
	services prometheus.Gauge
}

// NewMetrics registers all of them with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		ready: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_hosted_cluster_ready", Help: "1 if the condition NetworkReady of a hosted cluster that opted in is True, else 0."},
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
	}
	r.MustRegister(m.ready, m.problem, m.writes, m.kinds, m.policies, m.services)
	return m
}

func (m *Metrics) wrote(kind string) { m.writes.WithLabelValues(kind).Inc() }

func (m *Metrics) watched(kind string, yes bool) { set(m.kinds.WithLabelValues(kind), yes) }

func (m *Metrics) policyInForce(policy string, yes bool) {
	set(m.policies.WithLabelValues(policy), yes)
}

func (m *Metrics) servicesKnown(yes bool) { set(m.services, yes) }

// set sets g to 1 if yes is true, else to 0.
func set(g prometheus.Gauge, yes bool) {
	g.Set(0)
	if yes {
		g.Set(1)
	}
}

// observe replaces the metrics of one cluster.
func (m *Metrics) observe(w world, d decision, v verdict) {
	key := types.NamespacedName{Namespace: w.HostedCluster.Namespace, Name: w.HostedCluster.Name}
	m.forget(key)
	if d.action == remove {
		return
	}
	for _, p := range v.problems {
		m.problem.WithLabelValues(key.Namespace, key.Name, string(p.Reason), string(p.Level())).Inc()
	}
	set(m.ready.WithLabelValues(key.Namespace, key.Name), v.Ready)
}

func (m *Metrics) forget(key types.NamespacedName) {
	labels := prometheus.Labels{"namespace": key.Namespace, "name": key.Name}
	m.ready.DeletePartialMatch(labels)
	m.problem.DeletePartialMatch(labels)
}
