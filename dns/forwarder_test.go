package dns

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/cldmnky/oooi/dns/shares"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
)

// gauge is the value of the gauge that has these labels.
func gauge(t *testing.T, v *prometheus.GaugeVec, labels ...string) float64 {
	t.Helper()
	var m dto.Metric
	if err := v.WithLabelValues(labels...).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetGauge().GetValue()
}

// exchange asks for the A records of a name, and returns the answer.
func exchange(t *testing.T, at netip.AddrPort, transport, name string) *dns.Msg {
	t.Helper()
	c := dns.Client{Net: transport, Timeout: longest}
	m, _, err := c.Exchange(new(dns.Msg).SetQuestion(name, dns.TypeA), at.String())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ageBy makes h see a later time.
func ageBy(h *Handler, d time.Duration) { setNow(h, func() time.Time { return time.Now().Add(d) }) }

// setNow gives h another clock.
func setNow(h *Handler, now func() time.Time) {
	f := h.serving.Load().forwarder
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = now
}

// others are the questions that are not probes.
func (r *resolver) others() (out []string) {
	for _, q := range r.questions() {
		if q.Question[0].Qtype != dns.TypeNS {
			out = append(out, q.Question[0].Name)
		}
	}
	return out
}

// TestEqualQuestionsAreAskedOnce: while an answer is awaited, no client makes the server ask again.
func TestEqualQuestionsAreAskedOnce(t *testing.T) {
	g := NewWithT(t)
	up := newResolver(t, "192.0.2.1", false)
	up.pause = make(chan struct{})
	h, at := served(t, local(network.UpstreamManagement), resolving(up.at))
	h.serving.Load().forwarder.upstream.giveUp = longest
	var asking sync.WaitGroup
	answers := make(chan *dns.Msg, 80)
	for i := range cap(answers) {
		asking.Go(func() {
			c := dns.Client{Net: "tcp", Timeout: longest}
			if m, _, err := c.Exchange(new(dns.Msg).SetQuestion([]string{"www.", "WWW."}[i%2]+"example.org.", dns.TypeA), at.String()); err == nil {
				answers <- m
			}
		})
	}
	waiting := func() int {
		f := h.serving.Load().forwarder
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.waiting.Used()
	}
	g.Eventually(waiting).Should(Equal(cap(answers)))
	g.Expect(len(up.others())).To(BeNumerically("<=", leastAttempts), "a question is repeated after a while")
	close(up.pause)
	asking.Wait()
	g.Expect(answers).To(HaveLen(cap(answers)))
	for range cap(answers) {
		m := <-answers
		g.Expect(m.Answer).To(HaveLen(1))
		g.Expect(m.Answer[0].Header().Name).To(Equal(m.Question[0].Name), "each client gets the name as it wrote it")
	}
	g.Eventually(waiting).Should(BeZero())
}

// TestStaleAnswers: while all upstreams are silent, clients get answers that expired within the last hour, with a TTL of
// 30 s (RFC 8767). Once the upstreams are known to be dead, no client waits for them.
func TestStaleAnswers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	one, two := newResolver(t, "192.0.2.1", false), newResolver(t, "192.0.2.1", false)
	h, at := served(t, local(network.UpstreamManagement), resolving(one.at, two.at))
	m := exchange(t, at, "udp", "www.example.org.")
	g.Expect(m.Answer[0].Header().Ttl).To(BeEquivalentTo(60))
	one.silent.Store(true)
	two.silent.Store(true)
	ageBy(h, 2*time.Minute)
	m = exchange(t, at, "udp", "www.example.org.")
	g.Expect(m.Answer).To(HaveLen(1), m.String())
	g.Expect(m.Answer[0].Header().Ttl).To(BeEquivalentTo(30))
	g.Eventually(h.serving.Load().forwarder.upstream.down).Should(BeTrue())
	asked := func() string { return counted(t, h.metrics.Counter(metrics.DNSUpstreamQuestions)) }
	g.Eventually(func() (failed float64) {
		for _, r := range []*resolver{one, two} {
			var m dto.Metric
			g.Expect(h.metrics.Counter(metrics.DNSUpstreamQuestions).WithLabelValues(r.at.String(), "failed").Write(&m)).To(Succeed())
			failed += m.GetCounter().GetValue()
		}
		return failed
	}).Should(BeEquivalentTo(leastAttempts), "the question before has ended")
	before := asked()
	for _, transport := range []string{"udp", "tcp"} {
		m = exchange(t, at, transport, "www.example.org.")
		g.Expect(m.Answer).To(HaveLen(1))
		g.Expect(m.Answer[0].Header().Ttl).To(BeEquivalentTo(30))
	}
	m = exchange(t, at, "udp", "other.example.org.")
	g.Expect(m.Rcode).To(Equal(dns.RcodeServerFailure))
	g.Expect(m.RecursionAvailable).To(BeTrue())
	g.Expect(asked()).To(Equal(before), "a dead server is only probed, and no client waits for it")
	ageBy(h, 62*time.Minute)
	m = exchange(t, at, "udp", "www.example.org.")
	g.Expect(m.Rcode).To(Equal(dns.RcodeServerFailure), "after an hour")
	// A question is counted after its answer is sent.
	g.Eventually(answeredBy(t, h)).Should(ContainSubstring("by=stale rcode=NOERROR view=vms 3"))

	two.silent.Store(false)
	g.Eventually(h.serving.Load().forwarder.upstream.down).Should(BeFalse())
	g.Eventually(func() uint32 {
		m := exchange(t, at, "udp", "www.example.org.")
		if len(m.Answer) == 0 {
			return 0
		}
		return m.Answer[0].Header().Ttl
	}, longest, "200ms").Should(BeEquivalentTo(60), "the failure is remembered for five seconds")
	g.Expect(gauge(t, h.metrics.Gauge(metrics.DNSUpstreamUp), one.at.String())).To(BeZero())
	g.Expect(gauge(t, h.metrics.Gauge(metrics.DNSUpstreamUp), two.at.String())).To(BeEquivalentTo(1))
}

// TestNamesThatUpstreamsCannotResolve: a VM that asks for names whose own servers are dead makes no resolver count as
// dead.
func TestNamesThatUpstreamsCannotResolve(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	up := newResolver(t, "192.0.2.1", false)
	up.deaf.Store(new("dead.example."))
	h, at := served(t, local(network.UpstreamManagement), resolving(up.at))
	h.serving.Load().forwarder.upstream.probeTime = longest
	var asking sync.WaitGroup
	for i := range 5 {
		asking.Go(func() {
			m := exchange(t, at, "udp", fmt.Sprintf("%d.dead.example.", i))
			if m.Rcode != dns.RcodeServerFailure {
				t.Error(dns.RcodeToString[m.Rcode])
			}
		})
	}
	asking.Wait()
	m := exchange(t, at, "udp", "www.example.org.")
	g.Expect(m.Answer).To(HaveLen(1))
	g.Expect(h.serving.Load().forwarder.upstream.down()).To(BeFalse())
}

// TestFailuresAreRemembered: failures are cached for 5 s (RFC 9520), with the flag RA.
func TestFailuresAreRemembered(t *testing.T) {
	g := NewWithT(t)
	up := newResolver(t, "192.0.2.1", false)
	up.rcode.Store(dns.RcodeServerFailure)
	h, at := served(t, local(network.UpstreamManagement), resolving(up.at))
	start := time.Now()
	setNow(h, func() time.Time { return start })
	for range 3 {
		m := exchange(t, at, "udp", "www.example.org.")
		g.Expect(m.Rcode).To(Equal(dns.RcodeServerFailure))
		g.Expect(m.RecursionAvailable).To(BeTrue())
		up.rcode.Store(dns.RcodeSuccess)
	}
	setNow(h, func() time.Time { return start.Add(failedFor) })
	m := exchange(t, at, "udp", "www.example.org.")
	g.Expect(m.Answer).To(HaveLen(1))

	up.rcode.Store(dns.RcodeServerFailure)
	ageBy(h, 10*time.Minute)
	m = exchange(t, at, "udp", "www.example.org.")
	g.Expect(m.Answer).To(HaveLen(1), "an answer that expired is better than SERVFAIL")
}

// TestLocalhost: queries for localhost are never forwarded (RFC 6761 section 6.3).
func TestLocalhost(t *testing.T) {
	t.Parallel()
	up := newResolver(t, "192.0.2.1", false)
	for _, mode := range []network.UpstreamMode{network.UpstreamManagement, network.UpstreamNone} {
		_, at := served(t, local(mode), resolving(up.at))
		for question, want := range map[string]string{
			"localhost A":            "localhost. 30 IN A 127.0.0.1",
			"LocalHost AAAA":         "LocalHost. 30 IN AAAA ::1",
			"a.b.localhost A":        "a.b.localhost. 30 IN A 127.0.0.1",
			"localhost MX":           "localhost. 5 IN SOA",
			"-x 127.0.0.1":           "1.0.0.127.in-addr.arpa. 30 IN PTR localhost.",
			"-x ::1":                 "IN PTR localhost.",
			"notlocalhost.example A": "",
		} {
			got := dig(t, at, strings.Fields(question)...)
			if want == "" && mode == network.UpstreamManagement {
				want = "192.0.2.1"
			}
			if !strings.Contains(got, want) || want != "" && !strings.Contains(got, "status: NOERROR") {
				t.Errorf("%s: want %s, got %s", question, want, got)
			}
		}
	}
	for _, name := range up.others() {
		if name != "notlocalhost.example." {
			t.Errorf("upstream was asked for %s", name)
		}
	}
}

// TestLongAnswersByTCPOnly: over UDP, a client gets a truncated answer, and so repeats the query over TCP. A truncated answer uses no
// memory of the cache.
func TestLongAnswersByTCPOnly(t *testing.T) {
	g := NewWithT(t)
	up := newResolver(t, "192.0.2.1", true)
	h, at := served(t, local(network.UpstreamManagement), resolving(up.at))
	m := exchange(t, at, "udp", "www.example.org.")
	g.Expect(m.Truncated).To(BeTrue())
	m = exchange(t, at, "tcp", "www.example.org.")
	g.Expect(m.Truncated).To(BeFalse())
	g.Expect(m.Answer).To(HaveLen(1))
	f := h.serving.Load().forwarder
	g.Eventually(func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.large.Used() + f.waiting.Used() + len(f.flights)
	}).Should(BeZero())
}

// TestSlowUpstream: while the upstream needs longer than a client waits, the client gets the answer that expired, and the
// next one gets the new answer.
func TestSlowUpstream(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	up := newResolver(t, "192.0.2.1", false)
	h, at := served(t, local(network.UpstreamManagement), resolving(up.at))
	exchange(t, at, "udp", "www.example.org.")
	up.delay.Store(int64(3 * time.Second))
	ageBy(h, 2*time.Minute)
	m := exchange(t, at, "udp", "www.example.org.")
	g.Expect(m.Answer[0].Header().Ttl).To(BeEquivalentTo(staleTTL))
	g.Eventually(func() uint32 {
		m := exchange(t, at, "udp", "www.example.org.")
		return m.Answer[0].Header().Ttl
	}, longest, "500ms").Should(BeEquivalentTo(60))
}

// TestCachedAnswersTakeWhatIsCounted: an answer with many equal names uses no more memory than is counted for it.
func TestCachedAnswersTakeWhatIsCounted(t *testing.T) {
	g := NewWithT(t)
	up := newResolver(t, "192.0.2.1", false)
	up.records.Store(50)
	h, at := served(t, local(network.UpstreamManagement), resolving(up.at))
	m := exchange(t, at, "tcp", strings.Repeat(strings.Repeat("a", 59)+".", 4)+"org.")
	g.Expect(m.Answer).To(HaveLen(50))
	f := h.serving.Load().forwarder
	f.mu.Lock()
	defer f.mu.Unlock()
	held, counted := 0, 0
	for _, c := range f.caches {
		counted += c.answers.Used()
		for _, e := range c.entries {
			held += cap(e.Value.wire)
		}
	}
	g.Expect(held).To(BeNumerically(">", 0))
	g.Expect(held).To(BeNumerically("<=", counted+counted/8))
}

// TestFlightOutlivesItsView: if a view gets other clients while a query is in progress, the answer is cached for no client.
func TestFlightOutlivesItsView(t *testing.T) {
	g := NewWithT(t)
	u := NewUpstream([]netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:9")}, make([]net.Dialer, 1), NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler))
	defer u.retire(nil)
	s := newForwarder(u, u.metrics)
	s.setViews(map[string]bool{"vlan": true})
	k := flightKey{"vlan", question{name: "www.example.org.", rrtype: dns.TypeA}, "udp"}
	former, _ := s.join(k, shares.Client{MAC: "02:00:00:00:00:01"}, func() {})
	s.setViews(map[string]bool{"vlan": false})
	next, _ := s.join(k, shares.Client{MAC: "02:00:00:00:00:02"}, func() {})
	g.Expect(next).NotTo(BeIdenticalTo(former))
	<-former.done
	s.mu.Lock()
	defer s.mu.Unlock()
	g.Expect(former.cache).NotTo(BeIdenticalTo(s.caches["vlan"]))
}
