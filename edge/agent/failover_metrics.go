// This file holds the metrics of the failover agent. It decides nothing.

package agent

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/cldmnky/oooi/edge/failover"
)

// FailoverMetrics are the metrics of one failover agent.
type FailoverMetrics struct {
	peer, phase, level, path, duplicated *prometheus.GaugeVec
	announcements, begun                 *prometheus.CounterVec
	isDegraded, plan                     prometheus.Gauge
}

// NewFailoverMetrics registers the metrics with r. Ready returns why the edge is not
// ready.
func NewFailoverMetrics(r prometheus.Registerer, ready func() error) *FailoverMetrics {
	name := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "oooi", Subsystem: "failover", Name: name, Help: help}
	}
	m := &FailoverMetrics{
		peer:          prometheus.NewGaugeVec(prometheus.GaugeOpts(name("peer", "1 for the state of the peer as this edge sees it. alone: the network has one edge.")), []string{"state"}),
		phase:         prometheus.NewGaugeVec(prometheus.GaugeOpts(name("phase", "1 for the phase of this edge.")), []string{"phase"}),
		level:         prometheus.NewGaugeVec(prometheus.GaugeOpts(name("level", "1 for what this edge is worth to VMs: nothing, serves, or reaches (the hosted API server).")), []string{"level"}),
		path:          prometheus.NewGaugeVec(prometheus.GaugeOpts(name("path", "1 if the peer is heard over this path: vlan, or cluster (the pod network).")), []string{"path"}),
		duplicated:    prometheus.NewGaugeVec(prometheus.GaugeOpts(name("duplicated", "1 if two pods have one edge number: own (this pod yields), or peer.")), []string{"edge"}),
		announcements: prometheus.NewCounterVec(prometheus.CounterOpts(name("announcements_total", "Failover announcements: sent or failed.")), []string{"result"}),
		begun:         prometheus.NewCounterVec(prometheus.CounterOpts(name("begun_total", "Failovers that this edge began: it announced the VIPs against its peer. The cause is why.")), []string{"cause"}),
		plan:          prometheus.NewGauge(prometheus.GaugeOpts(name("plan_hash", "Hash of the part of the plan for this network that this edge serves. Two edges with one plan and one release have the same."))),
		isDegraded:    prometheus.NewGauge(prometheus.GaugeOpts(name("degraded", "1 if announcements have no effect, so that VMs notice a failover late."))),
	}
	isReady := prometheus.NewGaugeFunc(prometheus.GaugeOpts(name("ready", "1 if this edge serves and its peer has seen that.")), func() float64 {
		return gauge(ready() == nil)
	})
	for _, c := range failover.Causes() {
		m.begun.WithLabelValues(causeLabel(c))
	}
	r.MustRegister(m.peer, m.phase, m.level, m.path, m.duplicated, m.announcements, m.begun, m.plan, m.isDegraded, isReady,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *FailoverMetrics) changed(s failover.State) {
	for _, x := range []failover.PeerState{failover.Alone, failover.Unknown, failover.PeerServing, failover.PeerImpaired, failover.PeerIdle, failover.PeerUnreachable} {
		m.peer.WithLabelValues(string(x)).Set(gauge(x == s.PeerState))
	}
	for _, x := range []failover.Phase{failover.Starting, failover.Serving, failover.Draining} {
		m.phase.WithLabelValues(string(x)).Set(gauge(x == s.Self.Phase))
	}
	for _, x := range []failover.Level{failover.LevelNothing, failover.LevelServes, failover.LevelReaches} {
		m.level.WithLabelValues(string(x)).Set(gauge(x == s.Self.Level))
	}
	m.path.WithLabelValues("vlan").Set(gauge(s.Heard(failover.VLAN)))
	m.path.WithLabelValues("cluster").Set(gauge(s.Heard(failover.ClusterNetwork)))
	m.duplicated.WithLabelValues("own").Set(gauge(s.Yields))
	m.duplicated.WithLabelValues("peer").Set(gauge(s.Duplicated()))
}

// causeLabel is a cause as the value of a label.
func causeLabel(cause string) string { return strings.ReplaceAll(strings.ToLower(cause), " ", "-") }

// announced counts an announcement. An edge without a peer begins no failover.
func (m *FailoverMetrics) announced(cause string, first bool, err error) {
	if first && slices.Contains(failover.Causes(), cause) {
		m.begun.WithLabelValues(causeLabel(cause)).Inc()
	}
	result := "sent"
	if err != nil {
		result = "failed"
	}
	m.announcements.WithLabelValues(result).Inc()
}

func (m *FailoverMetrics) setDegraded(err error) { m.isDegraded.Set(gauge(err != nil)) }

// gauge returns 1 for true and 0 for false.
func gauge(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
