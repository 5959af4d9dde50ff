// This file holds the metrics of the failover agent. It decides nothing.

package agent

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/network/metrics"
)

// FailoverMetrics are the metrics of one failover agent.
type FailoverMetrics struct{ metrics.Set }

// NewFailoverMetrics registers the metrics with r. ready returns why the edge is not
// ready.
func NewFailoverMetrics(r prometheus.Registerer, ready func() error) *FailoverMetrics {
	m := &FailoverMetrics{metrics.Register(r, metrics.Failover)}
	m.Compute(metrics.FailoverReady, func() float64 { return metrics.Bool(ready() == nil) })
	for _, c := range failover.Causes() {
		m.Counter(metrics.FailoverBegun).WithLabelValues(causeLabel(c))
	}
	metrics.RegisterProcess(r)
	return m
}

func (m *FailoverMetrics) changed(s failover.State) {
	for _, x := range []failover.PeerState{failover.Alone, failover.Unknown, failover.PeerServing, failover.PeerImpaired, failover.PeerIdle, failover.PeerUnreachable} {
		m.SetBool(metrics.FailoverPeer, x == s.PeerState, string(x))
	}
	for _, x := range []failover.Phase{failover.Starting, failover.Serving, failover.Draining} {
		m.SetBool(metrics.FailoverPhase, x == s.Self.Phase, string(x))
	}
	for _, x := range []failover.Level{failover.LevelNothing, failover.LevelServes, failover.LevelReaches} {
		m.SetBool(metrics.FailoverLevel, x == s.Self.Level, string(x))
	}
	m.SetBool(metrics.FailoverPath, s.Heard(failover.VLAN), "vlan")
	m.SetBool(metrics.FailoverPath, s.Heard(failover.ClusterNetwork), "cluster")
	m.SetBool(metrics.FailoverDuplicated, s.Yields && s.Outdone == "", "own")
	m.SetBool(metrics.FailoverDuplicated, s.Duplicated(), "peer")
}

// causeLabel returns a cause as the value of a label.
func causeLabel(cause string) string { return strings.ReplaceAll(strings.ToLower(cause), " ", "-") }

// announced counts an announcement. An edge without a peer begins no failover.
func (m *FailoverMetrics) announced(cause string, first bool, err error) {
	if first && slices.Contains(failover.Causes(), cause) {
		m.Counter(metrics.FailoverBegun).WithLabelValues(causeLabel(cause)).Inc()
	}
	result := "sent"
	if err != nil {
		result = "failed"
	}
	m.Counter(metrics.FailoverAnnouncements).WithLabelValues(result).Inc()
}
