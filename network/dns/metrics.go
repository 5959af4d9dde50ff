// This file holds the metrics of questions and answers. No label holds data of a
// client.

package dns

import (
	"strconv"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics of one server.
type Metrics struct {
	questions *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	upstreams *prometheus.CounterVec
}

// NewMetrics creates the metrics and registers them with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		questions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "oooi_dns_questions_total",
			Help: "Questions answered, by view (empty: none), by source of the answer (plan, upstream, none) and by response code.",
		}, []string{"view", "by", "rcode"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "oooi_dns_answer_seconds",
			Help:    "Time from a question to its answer, by source of the answer.",
			Buckets: []float64{.00001, .0001, .001, .01, .05, .1, .5, 1, 2, 5},
		}, []string{"by"}),
		upstreams: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "oooi_dns_upstream_questions_total",
			Help: "Questions to upstream resolvers, by server and outcome (a response code, failed, or busy at the limit of concurrent questions).",
		}, []string{"server", "outcome"}),
	}
	r.MustRegister(m.questions, m.seconds, m.upstreams)
	return m
}

func (m *Metrics) upstream(server, outcome string) {
	m.upstreams.WithLabelValues(server, outcome).Inc()
}

// rcodeName returns the name of a response code ("NOERROR"), or its number.
func rcodeName(rcode int) string {
	if s, ok := dns.RcodeToString[rcode]; ok {
		return s
	}
	return strconv.Itoa(rcode)
}

// by names the source of an answer.
type by int

const (
	byPlan by = iota
	byUpstream
	byNone
	answerers
)

func (b by) String() string { return [answerers]string{"plan", "upstream", "none"}[b] }

// tally counts the answers of one view without a label lookup for each.
type tally struct {
	metrics *Metrics
	view    string
	common  [answerers][dns.RcodeRefused + 1]prometheus.Counter
	seconds [answerers]prometheus.Observer
}

func (m *Metrics) tally(view string) *tally {
	t := &tally{metrics: m, view: view}
	for b := range answerers {
		t.seconds[b] = m.seconds.WithLabelValues(b.String())
		for rcode := range t.common[b] {
			t.common[b][rcode] = m.questions.WithLabelValues(view, b.String(), rcodeName(rcode))
		}
	}
	return t
}

func (t *tally) count(b by, rcode int, since time.Time) {
	if rcode < len(t.common[b]) {
		t.common[b][rcode].Inc()
	} else {
		t.metrics.questions.WithLabelValues(t.view, b.String(), rcodeName(rcode)).Inc()
	}
	t.seconds[b].Observe(time.Since(since).Seconds())
}
