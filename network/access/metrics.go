// This file holds the metrics of requests and tunnels. No label holds data of a caller.

package access

import "github.com/prometheus/client_golang/prometheus"

// opened is the outcome of a request that led to a tunnel.
const opened = "opened"

// outcomes maps each reason to its label.
func outcomes() map[Reason]string {
	return map[Reason]string{
		Malformed: "malformed", NotConnect: "method", HeadTooLarge: "header", TooSlow: "slow", Abandoned: "abandoned", WaitingLimit: "waiting-limit",
		TokenMissing: "no-token", TokenRefused: "token", AccountRefused: "account", KeysUnknown: "keys", NotOpen: "not-open", NoVM: "no-vm", Unreachable: "unreachable",
		CallerLimit: "caller-limit", EdgeLimit: "edge-limit", ShareLimit: "share-limit",
	}
}

// Metrics of one server.
type Metrics struct {
	requests                  *prometheus.CounterVec
	tunnels, waiting          prometheus.Gauge
	ended                     *prometheus.CounterVec
	toDestinations, toCallers prometheus.Counter
	labels                    map[Reason]string
}

// NewMetrics creates the metrics of a server whose keys are keys, and registers them with r.
func NewMetrics(r prometheus.Registerer, keys func() Keys) *Metrics {
	bytes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "oooi_access_bytes_total", Help: "Bytes that tunnels carried, by direction: to destinations, or to callers.",
	}, []string{"to"})
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "oooi_access_requests_total", Help: "Connections of callers, by outcome: opened, or why it led to no tunnel.",
		}, []string{"outcome"}),
		tunnels: prometheus.NewGauge(prometheus.GaugeOpts{Name: "oooi_access_tunnels", Help: "Tunnels, also those whose destination is being dialed."}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{Name: "oooi_access_waiting", Help: "Connections of callers that have sent no complete request."}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "oooi_access_tunnels_ended_total", Help: "Tunnels that have ended, by how.",
		}, []string{"end"}),
		toDestinations: bytes.WithLabelValues("destinations"), toCallers: bytes.WithLabelValues("callers"),
		labels: outcomes(),
	}
	count := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "oooi_access_keys", Help: "Keys of the API server with which tokens are verified.",
	}, func() float64 { return float64(keys().Count()) })
	r.MustRegister(m.requests, m.tunnels, m.waiting, m.ended, bytes, count)
	m.requests.WithLabelValues(opened)
	for _, label := range m.labels {
		m.requests.WithLabelValues(label)
	}
	for _, end := range ends() {
		m.ended.WithLabelValues(string(end))
	}
	return m
}

func (m *Metrics) refused(why Reason) { m.requests.WithLabelValues(m.labels[why]).Inc() }
