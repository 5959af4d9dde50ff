// This file holds the metrics of questions and of the clock. No label holds data of a client.

package ntp

import "github.com/prometheus/client_golang/prometheus"

// An outcome is what became of a datagram.
type outcome string

const (
	answered       outcome = "answered"
	unsynchronized outcome = "unsynchronized"
	dropped        outcome = "dropped"
	invalid        outcome = "invalid"
	foreign        outcome = "foreign"
	failed         outcome = "failed"
)

// Metrics of one server.
type Metrics struct {
	questions map[outcome]prometheus.Counter
}

// NewMetrics creates the metrics of a server that tells the time of clock, and registers them
// with r.
func NewMetrics(r prometheus.Registerer, clock Clock) *Metrics {
	questions := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "oooi_ntp_questions_total",
		Help: "Questions by outcome: answered, unsynchronized (an answer without a time), dropped (above the limit of a client), " +
			"invalid (no question), foreign (no client of the network) or failed (not sent).",
	}, []string{"outcome"})
	synchronized := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "oooi_ntp_clock_synchronized",
		Help: "1 if the kernel says that the clock of the node is synchronized.",
	}, func() float64 {
		if s, err := clock(); err != nil || !s.Synchronized {
			return 0
		}
		return 1
	})
	maxError := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "oooi_ntp_clock_max_error_seconds",
		Help: "The largest difference between the clock of the node and UTC, as the kernel estimates it. 16 if that is unknown.",
	}, func() float64 {
		s, err := clock()
		if err != nil {
			return longestError.Seconds()
		}
		return s.MaxError.Seconds()
	})
	r.MustRegister(questions, synchronized, maxError)
	m := &Metrics{questions: map[outcome]prometheus.Counter{}}
	for _, o := range []outcome{answered, unsynchronized, dropped, invalid, foreign, failed} {
		m.questions[o] = questions.WithLabelValues(string(o))
	}
	return m
}

func (m *Metrics) count(o outcome) { m.questions[o].Inc() }
