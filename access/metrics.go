// This file holds the metrics of requests and tunnels. No label holds data of a caller.

package access

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/network/metrics"
)

// opened is the outcome of a request that led to a tunnel.
const opened = "opened"

// outcomes maps each reason to its label.
func outcomes() map[Reason]string {
	return map[Reason]string{
		Malformed: "malformed", NotConnect: "method", HeadTooLarge: "header", TooSlow: "slow", Abandoned: "abandoned", WaitingLimit: "waiting-limit",
		TokenMissing: "no-token", TokenRefused: "token", AccountRefused: "account", KeysUnknown: "keys", NotOpen: "not-open", NoVM: "no-vm", Unreachable: "unreachable",
		ShareLimit: "share-limit",
	}
}

// Metrics are the metrics of one server.
type Metrics struct {
	metrics.Set
	labels map[Reason]string
}

// NewMetrics creates the metrics of a server with these keys, and registers them with r.
func NewMetrics(r prometheus.Registerer, keys func() Keys) *Metrics {
	m := &Metrics{Set: metrics.Register(r, metrics.Access), labels: outcomes()}
	m.Compute(metrics.AccessKeys, func() float64 { return float64(keys().Count()) })
	m.Counter(metrics.AccessRequests).WithLabelValues(opened)
	for _, label := range m.labels {
		m.Counter(metrics.AccessRequests).WithLabelValues(label)
	}
	for _, end := range ends() {
		m.Counter(metrics.AccessTunnelsEnded).WithLabelValues(string(end))
	}
	m.carried("destinations")
	m.carried("callers")
	return m
}

// carried counts the bytes to destinations or callers.
func (m *Metrics) carried(to string) prometheus.Counter {
	return m.Counter(metrics.AccessBytes).WithLabelValues(to)
}

func (m *Metrics) refused(why Reason) { m.count(m.labels[why]) }

func (m *Metrics) count(outcome string) {
	m.Counter(metrics.AccessRequests).WithLabelValues(outcome).Inc()
}

func (m *Metrics) set(g metrics.Gauge, count int) { m.Gauge(g).WithLabelValues().Set(float64(count)) }
