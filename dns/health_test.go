package dns

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dns/shares"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
	"github.com/cldmnky/oooi/test/dnsnames"
)

// exchangeFrom is exchange for a client with an address of its own. Nil: no answer.
func exchangeFrom(client string, at netip.AddrPort, name string) *dns.Msg {
	c := dns.Client{Timeout: longest, Dialer: &net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(client)}}}
	m, _, _ := c.Exchange(new(dns.Msg).SetQuestion(name, dns.TypeA), at.String())
	return m
}

// TestLostRoutesKeepAnswers: the cache survives the loss of the routes to all upstream servers, and a change of the plan that does not
// change these servers. Expired answers are served in exactly this case.
func TestLostRoutesKeepAnswers(t *testing.T) {
	g := NewWithT(t)
	up := newResolver(t, "192.0.2.1", false)
	h, at := served(t, local(network.UpstreamManagement), resolving(up.at))
	g.Expect(exchange(t, at, "udp", "www.example.org.").Answer).To(HaveLen(1))
	up.silent.Store(true)
	h.Serve(local(network.UpstreamManagement), up.at)
	ageBy(h, 2*time.Minute)
	m := exchange(t, at, "udp", "www.example.org.")
	g.Expect(m.Rcode).To(Equal(dns.RcodeSuccess), m.String())
	g.Expect(m.Answer).To(HaveLen(1))
	g.Expect(m.Answer[0].Header().Ttl).To(BeEquivalentTo(staleTTL))
	g.Expect(exchange(t, at, "udp", "other.example.org.").Rcode).To(Equal(dns.RcodeServerFailure))
	g.Expect(gauge(t, h.metrics.Gauge(metrics.DNSUpstreamUp), up.at.String())).To(BeZero())

	n := local(network.UpstreamManagement)
	n.DNS.Views[0].Clients = dnsnames.Prefixes("127.0.0.0/8", "10.9.0.0/16")
	h.Serve(n, up.at)
	g.Expect(exchange(t, at, "udp", "www.example.org.").Answer).To(HaveLen(1), "another client network")
	g.Expect(up.others()).To(HaveEach("www.example.org."), "a server without a route is not asked")

	up.silent.Store(false)
	h.Serve(n)
	g.Expect(gauge(t, h.metrics.Gauge(metrics.DNSUpstreamUp), up.at.String())).To(BeEquivalentTo(1))
	g.Expect(exchange(t, at, "udp", "www.example.org.").Answer[0].Header().Ttl).To(BeEquivalentTo(60))
}

// TestServersThatDropProbes: a server that does not answer queries for the root, as some filters demand, counts as alive while it answers
// others. A VM that queries names which the server cannot resolve does not change that.
func TestServersThatDropProbes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	up := newResolver(t, "192.0.2.1", false)
	up.rootless.Store(true)
	up.deaf.Store(new("dead.example."))
	h, at := served(t, local(network.UpstreamManagement), resolving(up.at))
	// The first probe gets no answer. A busy machine has as long for that of the second one.
	h.serving.Load().forwarder.upstream.probeTime = giveUp / 2
	down := func() bool { return h.serving.Load().forwarder.upstream.down() }
	g.Expect(exchangeFrom("127.0.0.1", at, "www.example.org.").Answer).To(HaveLen(1))
	for i := range 2 { // Each takes as long as two probes.
		g.Expect(exchangeFrom("127.0.0.2", at, fmt.Sprintf("%d.dead.example.", i)).Rcode).To(Equal(dns.RcodeServerFailure))
		g.Expect(down()).To(BeFalse())
	}
	g.Expect(exchangeFrom("127.0.0.1", at, "www2.example.org.").Answer).To(HaveLen(1))

	up.silent.Store(true)
	exchangeFrom("127.0.0.2", at, "3.dead.example.")
	g.Eventually(down).Should(BeTrue())
	up.silent.Store(false)
	g.Eventually(func() int {
		exchangeFrom("127.0.0.2", at, "4.dead.example.")
		return len(exchangeFrom("127.0.0.1", at, "www3.example.org.").Answer)
	}).Should(Equal(1))
}

// TestServerThatNeverAnsweredAProbe: a server that was silent when the edge started still gets queries of clients, so it counts as alive
// once it answers one.
func TestServerThatNeverAnsweredAProbe(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	up := newResolver(t, "192.0.2.1", false)
	up.rootless.Store(true)
	up.silent.Store(true)
	h, at := served(t, local(network.UpstreamManagement), resolving(up.at))
	exchange(t, at, "udp", "www.example.org.")
	g.Eventually(h.serving.Load().forwarder.upstream.down).Should(BeTrue())
	up.silent.Store(false)
	g.Eventually(h.serving.Load().forwarder.upstream.down).Should(BeFalse())
}

func named(mac string) shares.Client { return shares.Client{MAC: mac} }

// TestSampleOfQuestions: during a flood, the sample of queries still contains those of known VMs, at most one of each VM.
func TestSampleOfQuestions(t *testing.T) {
	g := NewWithT(t)
	s := newSample()
	s.add(shares.Client{MAC: "vm", Known: true}, asked("first.example.org."))
	s.add(shares.Client{MAC: "vm", Known: true}, asked("www.example.org."))
	for i := range 1000 {
		s.add(named(fmt.Sprint(i)), asked("dead.example."))
	}
	g.Expect(s.questions()).To(HaveLen(sampled))
	g.Expect(s.questions()).To(ContainElement(asked("www.example.org.")))
	g.Expect(s.questions()).NotTo(ContainElement(asked("first.example.org.")))
}
