// This file holds the metrics of questions and answers. No label holds data of a
// client.

package dns

import (
	"net/netip"
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
	up        *prometheus.GaugeVec
	cache     *prometheus.GaugeVec
	evicted   *prometheus.CounterVec
	dropped   *prometheus.CounterVec
	panics    prometheus.Counter
}

// NewMetrics creates the metrics and registers them with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		questions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "oooi_dns_questions_total",
			Help: "Questions that were answered. The view is pods for pods of the management cluster. Label by is the source of the answer: plan, cache, upstream, stale (an answer that expired) or none (refused).",
		}, []string{"view", "by", "rcode"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "oooi_dns_answer_seconds",
			Help:    "Time from a question to its answer, as a histogram.",
			Buckets: []float64{.00001, .0001, .001, .01, .05, .1, .5, 1, 2, 5},
		}, []string{"by"}),
		upstreams: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "oooi_dns_upstream_questions_total",
			Help: "Questions to upstream servers. The outcome is a response code, failed, or canceled if another server was faster.",
		}, []string{"server", "outcome"}),
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_dns_upstream_up", Help: "1 if the server answers; 0 if it is dead, and only probed, or if the edge has no route to it.",
		}, []string{"server"}),
		cache: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "oooi_dns_cache_bytes", Help: "Memory of the answers of upstream servers.",
		}, []string{"view"}),
		evicted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "oooi_dns_cache_evicted_total", Help: "Answers that left the cache because it was full.",
		}, []string{"view"}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "oooi_dns_shed_total", Help: "What was dropped because a resource was full.",
		}, []string{"reason"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "oooi_dns_panics_total", Help: "Questions that ended with a fault of the program. The client gets SERVFAIL. The log has one each minute.",
		}),
	}
	r.MustRegister(m.all()...)
	return m
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.questions, m.seconds, m.upstreams, m.up, m.cache, m.evicted, m.dropped, m.panics}
}

// The reasons for which questions, answers and connections are dropped.
const (
	shedUpstream    = "upstream"       // maxQuestions wait for upstreams
	shedLarge       = "upstream-large" // maxLarge long answers are under way
	shedQueue       = "queue"          // maxQueued questions by UDP wait for a worker
	shedConnections = "connections"    // maxConnections are open
	shedSend        = "send"           // the buffer of the socket is full, or the host is gone
	shedReceive     = "receive"        // the kernel refused to receive
	shedSize        = "size"           // a question is longer than maxQuestion
)

// shed counts what was dropped.
func (m *Metrics) shed(reason string, count int) {
	if count > 0 {
		m.dropped.WithLabelValues(reason).Add(float64(count))
	}
}

// cached counts what the cache of a view has, and what it lost.
func (m *Metrics) cached(view string, bytes, lost int) {
	m.cache.WithLabelValues(view).Set(float64(bytes))
	m.evicted.WithLabelValues(view).Add(float64(lost))
}

func (m *Metrics) cacheGone(view string) { m.cache.DeleteLabelValues(view) }

// serverUp sets whether an upstream server answers.
func (m *Metrics) serverUp(server netip.AddrPort, up bool) {
	value := 0.0
	if up {
		value = 1
	}
	m.up.WithLabelValues(server.String()).Set(value)
}

func (m *Metrics) serverGone(server netip.AddrPort) { m.up.DeleteLabelValues(server.String()) }

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
	byCache
	byUpstream
	byStale
	byNone
	answerers
)

func (b by) String() string {
	return [answerers]string{"plan", "cache", "upstream", "stale", "none"}[b]
}

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
