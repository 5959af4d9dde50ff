// This file holds the metrics. It does not use the global registry.

package dhcp

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics holds the metrics of one server.
type Metrics struct {
	messages *prometheus.CounterVec
	dropped  *prometheus.CounterVec
	writes   *prometheus.HistogramVec
	late     prometheus.Gauge
}

// NewMetrics creates the metrics and registers them with r.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "oooi_dhcp_messages_total", Help: "DHCP messages of clients, by type and what was decided.",
		}, []string{"type", "outcome"}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "oooi_dhcp_dropped_total", Help: "Packets and answers that were dropped, by reason.",
		}, []string{"reason"}),
		writes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "oooi_dhcp_lease_write_seconds", Help: "How long a client waited for its lease to be durable, by result.",
			Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5},
		}, []string{"result"}),
		late: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "oooi_dhcp_leases_unwritten", Help: "Renewals that were granted and could not be written yet.",
		}),
	}
	for _, c := range []prometheus.Collector{m.messages, m.dropped, m.writes, m.late} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) wrote(result string, since time.Time) {
	m.writes.WithLabelValues(result).Observe(time.Since(since).Seconds())
}
