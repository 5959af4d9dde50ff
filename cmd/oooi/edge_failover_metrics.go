// This file counts what the guard does. It decides nothing.

package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/cldmnky/oooi/edge/failover"
)

// guardMetrics of one guard.
type guardMetrics struct {
	sibling, phase *prometheus.GaugeVec
	claims         *prometheus.CounterVec
	isSlow         prometheus.Gauge
}

// newGuardMetrics registers with r. Why says why the edge is not ready.
func newGuardMetrics(r *prometheus.Registry, why func() error) *guardMetrics {
	name := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "oooi", Subsystem: "guard", Name: name, Help: help}
	}
	m := &guardMetrics{
		sibling: prometheus.NewGaugeVec(prometheus.GaugeOpts(name("sibling", "1 for what this edge makes of the other one.")), []string{"sight"}),
		phase:   prometheus.NewGaugeVec(prometheus.GaugeOpts(name("phase", "1 for what this edge says of itself.")), []string{"phase"}),
		claims:  prometheus.NewCounterVec(prometheus.CounterOpts(name("claims_total", "Claims of the next hop, by result.")), []string{"result"}),
		isSlow:  prometheus.NewGauge(prometheus.GaugeOpts(name("takeover_slow", "1 where a claim of the next hop would do nothing, so that machines notice late."))),
	}
	ready := prometheus.NewGaugeFunc(prometheus.GaugeOpts(name("ready", "1 where this edge serves and the other one has seen it.")), func() float64 {
		if why() != nil {
			return 0
		}
		return 1
	})
	r.MustRegister(m.sibling, m.phase, m.claims, m.isSlow, ready,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *guardMetrics) changed(s failover.State) {
	for _, x := range []failover.Sight{failover.Alone, failover.Unknown, failover.Serves, failover.Idle, failover.Lost} {
		m.sibling.WithLabelValues(string(x)).Set(gauge(x == s.Sight))
	}
	for _, x := range []failover.Phase{failover.Starting, failover.Serving, failover.Leaving} {
		m.phase.WithLabelValues(string(x)).Set(gauge(x == s.Self.Phase))
	}
}

func (m *guardMetrics) claimed(err error) {
	result := "made"
	if err != nil {
		result = "failed"
	}
	m.claims.WithLabelValues(result).Inc()
}

func (m *guardMetrics) slow(err error) { m.isSlow.Set(gauge(err != nil)) }

// gauge is a yes or no as Prometheus has it.
func gauge(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
