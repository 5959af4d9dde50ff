// This file holds the metrics of questions and of the clock. No label holds data of a client.

package ntp

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/network/metrics"
)

// An outcome is how a datagram was processed.
type outcome string

const (
	answered       outcome = "answered"
	unsynchronized outcome = "unsynchronized"
	dropped        outcome = "dropped"
	invalid        outcome = "invalid"
	foreign        outcome = "foreign"
	failed         outcome = "failed"
)

// Metrics are the metrics of one server.
type Metrics struct {
	questions map[outcome]prometheus.Counter
}

// NewMetrics registers with r the metrics of a server that gives the time of clock.
func NewMetrics(r prometheus.Registerer, clock Clock) *Metrics {
	set := metrics.Register(r, metrics.NTP)
	set.Compute(metrics.NTPClockSynchronized, func() float64 {
		s, err := clock()
		return metrics.Bool(err == nil && s.Synchronized)
	})
	set.Compute(metrics.NTPClockMaxErrorSeconds, func() float64 {
		s, err := clock()
		if err != nil {
			return longestError.Seconds()
		}
		return s.MaxError.Seconds()
	})
	m := &Metrics{questions: map[outcome]prometheus.Counter{}}
	for _, o := range []outcome{answered, unsynchronized, dropped, invalid, foreign, failed} {
		m.questions[o] = set.Counter(metrics.NTPQuestions).WithLabelValues(string(o))
	}
	return m
}

func (m *Metrics) count(o outcome) { m.questions[o].Inc() }
