// This file holds the metrics. It does not use the global registry.

package dhcp

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/network"
)

// Metrics holds the metrics of one server.
type Metrics struct {
	messages *prometheus.CounterVec
	dropped  *prometheus.CounterVec
	writes   *prometheus.HistogramVec
	late     prometheus.Gauge
	pool     *prometheus.GaugeVec
	inUse    prometheus.Gauge
	others   prometheus.Gauge
}

// NewMetrics creates the metrics and registers them with r.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "oooi_dhcp_messages_total", Help: "Messages of clients, by what was decided.",
		}, []string{"type", "outcome"}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "oooi_dhcp_dropped_total", Help: "Messages that were not processed, and replies that were not sent.",
		}, []string{"reason"}),
		writes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "oooi_dhcp_lease_write_seconds", Help: "Time in which a lease became durable, as a histogram. The result is written, later (granted from memory), failed or contended.",
			Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5},
		}, []string{"result"}),
		late: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "oooi_dhcp_leases_unwritten", Help: "Renewals that were granted and not written yet.",
		}),
		pool: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_dhcp_addresses", Help: "Addresses of the pool: assigned, declined or free.",
		}, []string{"state"}),
		inUse: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "oooi_dhcp_addresses_in_use", Help: "Addresses of the pool and of reservations that other hosts have.",
		}),
		others: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "oooi_dhcp_other_servers", Help: "Other DHCP servers that were seen of late.",
		}),
	}
	for _, c := range []prometheus.Collector{m.messages, m.dropped, m.writes, m.late, m.pool, m.inUse, m.others} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// OtherServers sets how many other DHCP servers were seen of late.
func (m *Metrics) OtherServers(count int) { m.others.Set(float64(count)) }

// observe sets the gauges of the pool and of the leases that wait to be written.
func (m *Metrics) observe(pool network.PoolUse, inUse, waiting int) {
	for state, count := range map[string]int{"assigned": pool.Assigned, "declined": pool.Declined, "free": pool.Free} {
		m.pool.WithLabelValues(state).Set(float64(count))
	}
	m.inUse.Set(float64(inUse))
	m.late.Set(float64(waiting))
}

func (m *Metrics) wrote(result string, since time.Time) {
	m.writes.WithLabelValues(result).Observe(time.Since(since).Seconds())
}
