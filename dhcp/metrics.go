// This file holds the metrics, and the reasons why messages are dropped. It does not use the global registry.

package dhcp

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/network/metrics"
	"github.com/cldmnky/oooi/reported"
)

// Metrics holds the metrics of one server.
type Metrics struct{ metrics.Set }

// NewMetrics creates the metrics and registers them with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	return &Metrics{metrics.Register(r, metrics.DHCP)}
}

// OtherServers sets how many other DHCP servers were seen recently.
func (m *Metrics) OtherServers(count int) {
	m.set(metrics.DHCPOtherServers, count)
}

func (m *Metrics) observe(pool reported.PoolUse, inUse, waiting int) {
	for state, count := range map[string]int{"assigned": pool.Assigned, "declined": pool.Declined, "free": pool.Free} {
		m.set(metrics.DHCPAddresses, count, state)
	}
	m.set(metrics.DHCPAddressesInUse, inUse)
	m.unwritten(waiting)
}

func (m *Metrics) unwritten(count int) { m.set(metrics.DHCPLeasesUnwritten, count) }

func (m *Metrics) set(g metrics.Gauge, count int, labels ...string) {
	m.Gauge(g).WithLabelValues(labels...).Set(float64(count))
}

func (m *Metrics) wrote(result string, since time.Time) {
	m.Histogram(metrics.DHCPLeaseWriteSeconds).WithLabelValues(result).Observe(time.Since(since).Seconds())
}

// A drop is why a message or a reply was dropped. Empty: not dropped. docs/metrics.md explains each reason to operators.
type drop string

const (
	dropReceive       drop = "receive"
	dropQueue         drop = "queue"
	dropBeyondGateway drop = "beyond-gateway"
	dropNotForUs      drop = "not-addressed-to-us"
	dropMalformed     drop = "malformed"
	dropProbe         drop = "probe"
	dropForOthers     drop = "inform-for-others"
	dropBusy          drop = "busy"
	dropReads         drop = "reads"
	dropWrites        drop = "writes"
	dropUnknown       drop = "unknown-clients"
	dropInform        drop = "inform"
	dropSendBuffer    drop = "send-buffer"
	dropSend          drop = "send"
)

// drops counts a message or a reply that is dropped.
func (m *Metrics) drops(why drop) { m.Counter(metrics.DHCPDropped).WithLabelValues(string(why)).Inc() }
