// This file holds the metrics of questions and answers. No label holds data of a client.

package dns

import (
	"net/netip"
	"strconv"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/network/metrics"
)

// Metrics are the metrics of one server.
type Metrics struct{ metrics.Set }

// NewMetrics creates the metrics and registers them with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	metrics.RegisterProcess(r)
	return &Metrics{metrics.Register(r, metrics.DNS)}
}

// The reasons for which questions, answers and connections are dropped.
const (
	shedUpstream    = "upstream"       // maxQuestions wait for upstreams
	shedLarge       = "upstream-large" // maxLarge long answers are under way
	shedQueue       = "queue"          // maxQueued questions over UDP wait for a worker
	shedConnections = "connections"    // maxConnections are open
	shedSend        = "send"           // the buffer of the socket is full, or the host is gone
	shedReceive     = "receive"        // the kernel refused to receive
	shedSize        = "size"           // a question is longer than maxQuestion
)

// shed counts what was dropped.
func (m *Metrics) shed(reason string, count int) {
	if count > 0 {
		m.Counter(metrics.DNSShed).WithLabelValues(reason).Add(float64(count))
	}
}

// cached sets the bytes of a view's cache, and counts the answers that it lost.
func (m *Metrics) cached(view string, bytes, lost int) {
	m.Gauge(metrics.DNSCacheBytes).WithLabelValues(view).Set(float64(bytes))
	m.Counter(metrics.DNSCacheEvicted).WithLabelValues(view).Add(float64(lost))
}

func (m *Metrics) cacheGone(view string) { m.Gauge(metrics.DNSCacheBytes).DeleteLabelValues(view) }

func (m *Metrics) serverUp(server netip.AddrPort, up bool) {
	m.Gauge(metrics.DNSUpstreamUp).WithLabelValues(server.String()).Set(metrics.Bool(up))
}

func (m *Metrics) serverGone(server netip.AddrPort) {
	m.Gauge(metrics.DNSUpstreamUp).DeleteLabelValues(server.String())
}

func (m *Metrics) upstream(server, outcome string) {
	m.Counter(metrics.DNSUpstreamQuestions).WithLabelValues(server, outcome).Inc()
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

// tally counts the answers of one view without a lookup of labels for each answer.
type tally struct {
	metrics *Metrics
	view    string
	common  [answerers][dns.RcodeRefused + 1]prometheus.Counter
	seconds [answerers]prometheus.Observer
}

func (m *Metrics) tally(view string) *tally {
	t := &tally{metrics: m, view: view}
	for b := range answerers {
		t.seconds[b] = m.Histogram(metrics.DNSAnswerSeconds).WithLabelValues(b.String())
		for rcode := range t.common[b] {
			t.common[b][rcode] = m.Counter(metrics.DNSQuestions).WithLabelValues(view, b.String(), rcodeName(rcode))
		}
	}
	return t
}

func (t *tally) count(b by, rcode int, since time.Time) {
	if rcode < len(t.common[b]) {
		t.common[b][rcode].Inc()
	} else {
		t.metrics.Counter(metrics.DNSQuestions).WithLabelValues(t.view, b.String(), rcodeName(rcode)).Inc()
	}
	t.seconds[b].Observe(time.Since(since).Seconds())
}
