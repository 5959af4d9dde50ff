package dns

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
	"github.com/cldmnky/oooi/test/dnsnames"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func asked(name string) question { return question{name: name, rrtype: dns.TypeA} }

func packed(t *testing.T, ttl uint32) []byte {
	t.Helper()
	m := new(dns.Msg).SetQuestion("www.example.org.", dns.TypeA)
	rr, err := dns.NewRR(fmt.Sprintf("www.example.org. %d IN A 192.0.2.1", ttl))
	if err != nil {
		t.Fatal(err)
	}
	m.Answer = []dns.RR{rr}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAnswersExpire: a cached answer is used for its TTL, and kept for another hour (RFC 8767).
func TestAnswersExpire(t *testing.T) {
	g := NewWithT(t)
	c := newCache(1 << 20)
	q := asked("www.example.org.")
	at := func(d time.Duration) state {
		_, s := c.find(q, noon.Add(d))
		return s
	}
	ttl := func(d time.Duration) uint32 {
		e, s := c.find(q, noon.Add(d))
		m, err := e.message(s, noon.Add(d))
		g.Expect(err).NotTo(HaveOccurred())
		return m.Answer[0].Header().Ttl
	}
	g.Expect(at(0)).To(Equal(unknown))
	c.fail(q, named("a"), noon)
	g.Expect(at(time.Second)).To(Equal(failed))
	g.Expect(at(failedFor)).To(Equal(unknown))

	c.store(q, named("a"), packed(t, 60), time.Minute, noon)
	g.Expect(at(0)).To(Equal(fresh))
	g.Expect(ttl(0)).To(BeEquivalentTo(60))
	g.Expect(ttl(59 * time.Second)).To(BeEquivalentTo(1))
	g.Expect(at(time.Minute)).To(Equal(stale))
	g.Expect(ttl(time.Minute)).To(BeEquivalentTo(30))
	c.fail(q, named("b"), noon.Add(time.Minute))
	g.Expect(at(time.Minute + time.Second)).To(Equal(staleNow))
	g.Expect(at(time.Minute + failedFor)).To(Equal(stale))
	g.Expect(at(time.Hour + 59*time.Second)).To(Equal(stale))
	g.Expect(at(time.Hour + time.Minute)).To(Equal(unknown))
	g.Expect(c.answers.Used()).To(BeZero())

	c.store(q, named("a"), packed(t, 7*24*3600), maxTTL, noon)
	g.Expect(ttl(0)).To(BeEquivalentTo(3600), "a long TTL is cut")
}

// TestCacheIsBounded: a VM that fills the cache displaces its own answers. The size of the cache never exceeds its limit.
func TestCacheIsBounded(t *testing.T) {
	g := NewWithT(t)
	const limit = 256 << 10
	c := newCache(limit)
	c.store(asked("other.example.org."), named("other"), make([]byte, 300), time.Hour, noon)
	random := rand.New(rand.NewPCG(1, 1))
	lost := 0
	for i := range 10_000 {
		lost += c.store(asked(fmt.Sprintf("%d.example.org.", i)), named("flood"), make([]byte, random.IntN(maxCached)), time.Hour, noon)
		sum := 0
		if i%100 == 0 {
			for q, h := range c.entries {
				sum += len(h.Value.wire) + len(q.name) + entryBytes
			}
			g.Expect(sum).To(Equal(c.answers.Used()))
		}
		g.Expect(c.answers.Used()).To(BeNumerically("<=", limit))
	}
	g.Expect(lost).To(Equal(10_001 - len(c.entries)))
	_, s := c.find(asked("other.example.org."), noon)
	g.Expect(s).To(Equal(fresh))
	_, s = c.find(asked("9999.example.org."), noon)
	g.Expect(s).To(Equal(fresh))
	c.resize(1 << 10)
	g.Expect(c.answers.Used()).To(BeNumerically("<=", 1<<10))
}

func TestWhatIsCached(t *testing.T) {
	soa := "example.org. 300 IN SOA ns.example.org. root.example.org. 1 2 3 4 60"
	for _, c := range []struct {
		why           string
		rcode         int
		rrtype        uint16
		answer, other string
		change        func(*dns.Msg)
		want          time.Duration
	}{
		{why: "an address", rrtype: dns.TypeA, answer: "www.example.org. 60 IN A 192.0.2.1", want: time.Minute},
		{why: "the shortest TTL counts", rrtype: dns.TypeA, answer: "www.example.org. 20 IN CNAME a.example.org.\na.example.org. 60 IN A 192.0.2.1", want: 20 * time.Second},
		{why: "a long TTL is cut", rrtype: dns.TypeA, answer: "www.example.org. 86400 IN A 192.0.2.1", want: time.Hour},
		{why: "TTL 0", rrtype: dns.TypeA, answer: "www.example.org. 0 IN A 192.0.2.1"},
		{why: "an alias that leads to nothing", rrtype: dns.TypeA, answer: "www.example.org. 20 IN CNAME a.example.org."},
		{why: "the same with SOA", rrtype: dns.TypeA, answer: "www.example.org. 20 IN CNAME a.example.org.", other: soa, want: 20 * time.Second},
		{why: "no such name", rcode: dns.RcodeNameError, rrtype: dns.TypeA, other: soa, want: 5 * time.Minute},
		{why: "no such name, without SOA", rcode: dns.RcodeNameError, rrtype: dns.TypeA},
		{why: "no such type", rrtype: dns.TypeMX, other: soa, want: 5 * time.Minute},
		{why: "refused", rcode: dns.RcodeRefused, rrtype: dns.TypeA},
		{why: "truncated", rrtype: dns.TypeA, answer: "www.example.org. 60 IN A 192.0.2.1", change: func(m *dns.Msg) { m.Truncated = true }},
	} {
		m := new(dns.Msg).SetQuestion("www.example.org.", c.rrtype)
		m.Response, m.Rcode = true, c.rcode
		for text, section := range map[string]*[]dns.RR{c.answer: &m.Answer, c.other: &m.Ns} {
			for line := range strings.SplitSeq(text, "\n") {
				if line == "" {
					continue
				}
				rr, err := dns.NewRR(line)
				if err != nil {
					t.Fatal(err)
				}
				*section = append(*section, rr)
			}
		}
		if c.change != nil {
			c.change(m)
		}
		if got := lifetime(m, noon); got != c.want {
			t.Errorf("%s: %s, want %s", c.why, got, c.want)
		}
	}
}

// TestBytesOfTheCache: the metric shows the size of the cache, even after a view got other clients.
func TestBytesOfTheCache(t *testing.T) {
	g := NewWithT(t)
	up := newResolver(t, "192.0.2.1", false)
	n := local(network.UpstreamManagement)
	n.DNS.Views = []network.View{{Name: "one", Clients: dnsnames.Prefixes("127.0.0.1/32")}, {Name: "two", Clients: dnsnames.Prefixes("127.0.0.2/32")}}
	h, at := served(t, n, resolving(up.at))
	g.Expect(exchangeFrom("127.0.0.1", at, "www.example.org.").Answer).To(HaveLen(1))
	bytes := func() float64 { return gauge(t, h.metrics.Gauge(metrics.DNSCacheBytes), "one") }
	g.Eventually(bytes).Should(BeNumerically(">", entryBytes))
	n.DNS.Views = []network.View{{Name: "one", Clients: dnsnames.Prefixes("127.0.0.2/32")}, {Name: "two", Clients: dnsnames.Prefixes("127.0.0.1/32")}}
	h.Serve(n)
	g.Expect(bytes()).To(BeZero())
	g.Expect(exchangeFrom("127.0.0.2", at, "www.example.org.").Answer).To(HaveLen(1))
	g.Eventually(bytes).Should(BeNumerically(">", entryBytes))
	h.Serve(local(network.UpstreamNone))
	left := make(chan prometheus.Metric, 10)
	h.metrics.Gauge(metrics.DNSCacheBytes).Collect(left)
	g.Expect(left).To(BeEmpty())
}
