package dns

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
	"github.com/cldmnky/oooi/network/resolvconf"
	"github.com/cldmnky/oooi/test/dnsnames"
)

// A resolver is an upstream that answers every A question with one address and
// remembers what it was asked. Unlike a real one it never recurses, and knows
// no name that does not exist.
type resolver struct {
	at      netip.AddrPort
	address net.IP
	// cut makes it answer by TCP only.
	cut   bool
	rcode atomic.Int32
	// rootless makes it drop questions for the root's servers.
	rootless atomic.Bool
	// silent makes it answer nothing, pause holds answers back.
	silent atomic.Bool
	pause  chan struct{}
	// deaf has a domain whose names it does not answer. Nil: none.
	deaf atomic.Pointer[string]
	// delay of answers in nanoseconds, and how many equal records they have. Zero: one.
	delay, records atomic.Int64
	// ttl of answers. Zero: 60.
	ttl atomic.Uint32

	mu    sync.Mutex
	asked []*dns.Msg
}

func newResolver(t testing.TB, address string, cut bool) *resolver {
	t.Helper()
	at := ownAddress()
	l, err := net.Listen("tcp4", at.String())
	if err != nil {
		t.Fatal(err)
	}
	p, err := net.ListenPacket("udp4", at.String())
	if err != nil {
		t.Fatal(err)
	}
	r := &resolver{at: at, address: net.ParseIP(address), cut: cut}
	for _, s := range []*dns.Server{{PacketConn: p, Handler: r}, {Listener: l, Handler: r}} {
		go s.ActivateAndServe()
	}
	t.Cleanup(func() { l.Close(); p.Close() })
	return r
}

func (r *resolver) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	r.mu.Lock()
	r.asked = append(r.asked, q)
	r.mu.Unlock()
	root := q.Question[0].Name == "." && r.rootless.Load()
	if deaf := r.deaf.Load(); root || r.silent.Load() || deaf != nil && dns.IsSubDomain(*deaf, q.Question[0].Name) {
		return
	}
	if r.pause != nil {
		<-r.pause
	}
	<-time.After(time.Duration(r.delay.Load()))
	m := new(dns.Msg).SetRcode(q, int(r.rcode.Load()))
	m.Authoritative, m.RecursionAvailable = true, true
	if _, udp := w.RemoteAddr().(*net.UDPAddr); r.cut && udp {
		m.Truncated = true
	} else if m.Rcode == dns.RcodeSuccess {
		m.Compress = true
		for range cmp.Or(r.records.Load(), 1) {
			m.Answer = append(m.Answer, &dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: cmp.Or(r.ttl.Load(), 60)}, A: r.address})
		}
	}
	if opt := q.IsEdns0(); opt != nil {
		m.SetEdns0(4096, opt.Do())
	}
	w.WriteMsg(m)
}

func (r *resolver) questions() []*dns.Msg {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

// resolving is a pod whose resolvers are these servers. A plan names no server on the loopback
// device: edges do not dial it.
func resolving(servers ...netip.AddrPort) Options {
	return Options{Resolver: resolvconf.File{Servers: servers}}
}

func TestUpstreamIsAskedForTheRest(t *testing.T) {
	g := NewWithT(t)
	up := newResolver(t, "192.0.2.1", false)
	h, at := served(t, local(network.UpstreamManagement), resolving(up.at))
	got := dig(t, at, "+ednsopt=65001:0102", "+norecurse", "+bufsize=4096", "WWW.example.org", "A")
	g.Expect(got).To(And(ContainSubstring("status: NOERROR"), ContainSubstring("flags: qr ra;"),
		ContainSubstring("WWW.example.org. 60 IN A 192.0.2.1"), ContainSubstring("udp: 1232")))
	asked := up.questions()[0]
	g.Expect(asked.RecursionDesired).To(BeTrue())
	g.Expect(asked.IsEdns0().Option).To(BeEmpty(), "options go no further than to us")
	g.Expect(asked.IsEdns0().UDPSize()).To(BeEquivalentTo(1232))

	g.Expect(dig(t, at, "www.example.org", "A")).To(ContainSubstring("IN A 192.0.2.1"))
	g.Eventually(answeredBy(t, h)).Should(Equal("by=cache rcode=NOERROR view=vms 1\nby=upstream rcode=NOERROR view=vms 1"))
	g.Expect(dig(t, at, "api.blue.example.com", "A")).To(And(ContainSubstring("flags: qr aa rd ra;"), ContainSubstring("192.168.100.3")))
	g.Expect(dig(t, at, "nothing.blue.example.com", "A")).To(ContainSubstring("status: NXDOMAIN"))
	g.Expect(dig(t, at, "-x", "192.168.100.77")).To(ContainSubstring("status: NXDOMAIN"))
	g.Expect(dig(t, at, "example.org", "AXFR")).To(ContainSubstring("Transfer failed"))
	g.Expect(up.others()).To(HaveEach("www.example.org."), "names of the plan are not forwarded")
}

// answeredBy counts the answers by their source. A question that a slow resolver gets twice has one answer.
func answeredBy(t *testing.T, h *Handler) func() string {
	return func() string { return counted(t, h.metrics.Counter(metrics.DNSQuestions)) }
}

func TestResolverOfThePod(t *testing.T) {
	g := NewWithT(t)
	up := newResolver(t, "192.0.2.1", false)
	_, at := served(t, local(network.UpstreamManagement), Options{Resolver: resolvconf.File{Servers: []netip.AddrPort{up.at}}})
	g.Expect(dig(t, at, "kubernetes.default.svc.cluster.local")).To(ContainSubstring("status: NXDOMAIN"))
	g.Expect(dig(t, at, "-x", "10.1.2.3")).To(ContainSubstring("status: NXDOMAIN"))
	g.Expect(up.questions()).To(BeEmpty())
	g.Expect(dig(t, at, "www.example.org")).To(ContainSubstring("IN A 192.0.2.1"))
}

// TestCachesArePerView: a cached answer of one view is not used for another.
func TestCachesArePerView(t *testing.T) {
	g := NewWithT(t)
	up := newResolver(t, "192.0.2.1", false)
	n := local(network.UpstreamManagement)
	n.DNS.Views = []network.View{
		{Name: "one", Clients: dnsnames.Prefixes("127.0.0.1/32")},
		{Name: "two", Clients: dnsnames.Prefixes("127.0.0.2/32")},
	}
	h, at := served(t, n, resolving(up.at))
	askAll := func() {
		for range 2 {
			for _, client := range []string{"127.0.0.1", "127.0.0.2"} {
				g.Expect(dig(t, at, "-b", client, "www.example.org")).To(ContainSubstring("IN A 192.0.2.1"))
			}
		}
	}
	const each = "by=cache rcode=NOERROR view=one %[1]d\nby=cache rcode=NOERROR view=two %[1]d\nby=upstream rcode=NOERROR view=one %[2]d\nby=upstream rcode=NOERROR view=two %[2]d"
	askAll()
	g.Eventually(answeredBy(t, h)).Should(Equal(fmt.Sprintf(each, 1, 1)))
	h.Serve(n)
	askAll()
	g.Eventually(answeredBy(t, h)).Should(Equal(fmt.Sprintf(each, 3, 1)), "an equal plan keeps each view its own cache")
	swapped := local(network.UpstreamManagement)
	swapped.DNS.Views = []network.View{
		{Name: "one", Clients: dnsnames.Prefixes("127.0.0.2/32")},
		{Name: "two", Clients: dnsnames.Prefixes("127.0.0.1/32")},
	}
	h.Serve(swapped)
	askAll()
	g.Eventually(answeredBy(t, h)).Should(Equal(fmt.Sprintf(each, 4, 2)), "clients that came from another view get a new one")
}

// TestCacheOutlivesPlans: the cache survives a new plan with the same upstream servers, and no other one.
func TestCacheOutlivesPlans(t *testing.T) {
	g := NewWithT(t)
	up, other := newResolver(t, "192.0.2.1", false), newResolver(t, "192.0.2.2", false)
	h, at := served(t, local(network.UpstreamManagement), resolving(up.at))
	g.Expect(dig(t, at, "www.example.org")).To(ContainSubstring("IN A 192.0.2.1"))
	n := local(network.UpstreamManagement)
	n.DNS.Views[0].Records = nil
	h.Serve(n)
	g.Expect(dig(t, at, "www.example.org")).To(ContainSubstring("IN A 192.0.2.1"))
	g.Eventually(answeredBy(t, h)).Should(Equal("by=cache rcode=NOERROR view=vms 1\nby=upstream rcode=NOERROR view=vms 1"))
	h.options.Resolver = resolving(other.at).Resolver
	h.Serve(local(network.UpstreamManagement))
	g.Expect(dig(t, at, "www.example.org")).To(ContainSubstring("IN A 192.0.2.2"))
	h.Serve(local(network.UpstreamNone))
	g.Expect(dig(t, at, "www.example.org")).To(ContainSubstring("status: REFUSED"))
}

// TestSilentServer: if a server is silent, the next one gets the query as well, and from then on the next one is tried first.
func TestSilentServer(t *testing.T) {
	g := NewWithT(t)
	silent, err := net.ListenPacket("udp4", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	defer silent.Close()
	dead := silent.LocalAddr().(*net.UDPAddr).AddrPort()
	up := newResolver(t, "192.0.2.1", false)
	h, at := served(t, local(network.UpstreamManagement), resolving(dead, up.at))
	for i := range 3 {
		g.Expect(dig(t, at, fmt.Sprintf("www%d.example.org", i))).To(ContainSubstring("IN A 192.0.2.1"))
	}
	g.Expect(counted(t, h.metrics.Counter(metrics.DNSUpstreamQuestions))).To(MatchRegexp("outcome=NOERROR server=%s [3-9]", up.at))
	g.Eventually(func() float64 { return gauge(t, h.metrics.Gauge(metrics.DNSUpstreamUp), dead.String()) }).Should(BeZero())
	g.Eventually(func() float64 { return gauge(t, h.metrics.Gauge(metrics.DNSUpstreamUp), up.at.String()) }).Should(BeEquivalentTo(1))
}

// TestServersThatRefuse: if a server refuses, the next one is asked. If all refuse, the client gets the refusal.
func TestServersThatRefuse(t *testing.T) {
	g := NewWithT(t)
	bad, up := newResolver(t, "192.0.2.1", false), newResolver(t, "192.0.2.2", false)
	bad.rcode.Store(dns.RcodeServerFailure)
	_, at := served(t, local(network.UpstreamManagement), resolving(bad.at, up.at))
	g.Expect(dig(t, at, "www.example.org")).To(ContainSubstring("IN A 192.0.2.2"))
	up.rcode.Store(dns.RcodeRefused)
	bad.rcode.Store(dns.RcodeRefused)
	g.Expect(dig(t, at, "www2.example.org")).To(ContainSubstring("status: REFUSED"))
	up.rcode.Store(dns.RcodeNameError)
	g.Expect(dig(t, at, "www3.example.org")).To(ContainSubstring("status: NXDOMAIN"))
}

func TestNoServerAnswers(t *testing.T) {
	g := NewWithT(t)
	h, at := served(t, local(network.UpstreamManagement), resolving(ownAddress()))
	g.Expect(dig(t, at, "www.example.org")).To(And(ContainSubstring("status: SERVFAIL"), ContainSubstring("flags: qr rd ra;")))
	g.Eventually(answeredBy(t, h)).Should(Equal("by=upstream rcode=SERVFAIL view=vms 1"))
}

func TestLongUpstreamAnswersComeByTCP(t *testing.T) {
	g := NewWithT(t)
	up := newResolver(t, "192.0.2.1", true)
	_, at := served(t, local(network.UpstreamManagement), resolving(up.at))
	g.Expect(dig(t, at, "www.example.org")).To(ContainSubstring("IN A 192.0.2.1"))
	g.Expect(up.others()).To(HaveEach("www.example.org."))
}

// TestForgedAnswers: an answer to another query is ignored.
func TestForgedAnswers(t *testing.T) {
	q := new(dns.Msg).SetQuestion("www.example.org.", dns.TypeA)
	good := new(dns.Msg).SetReply(q)
	for why, change := range map[string]func(*dns.Msg){
		"id":          func(m *dns.Msg) { m.Id++ },
		"name":        func(m *dns.Msg) { m.Question[0].Name = "www.example.net." },
		"type":        func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeAAAA },
		"no question": func(m *dns.Msg) { m.Question = nil },
		"a question":  func(m *dns.Msg) { m.Response = false },
	} {
		forged := good.Copy()
		change(forged)
		if belongs(q, forged) {
			t.Errorf("an answer with another %s is taken", why)
		}
	}
	good.Question[0].Name = "WWW.example.org."
	if !belongs(q, good) {
		t.Error("the answer is not taken")
	}
}

// TestPlansChangeUnderLoad: while plans are replaced, every query is answered completely from one plan. Answers come from a new plan soon
// after it was set.
func TestPlansChangeUnderLoad(t *testing.T) {
	g := NewWithT(t)
	plans := []network.Network{local(network.UpstreamNone), local(network.UpstreamNone)}
	plans[1].DNS.Views[0].Records = []network.Record{{Name: "api.blue.example.com", Addresses: dnsnames.Addresses("192.168.100.4")}}
	h, at := served(t, plans[0], Options{VMs: dnsnames.Workers})
	const clients, changes = 8, 200
	var asking sync.WaitGroup
	failures := make(chan string, clients)
	seen, done := [2]atomic.Int32{}, atomic.Bool{}
	for c := range clients {
		transport := []string{"udp", "tcp"}[c%2]
		asking.Go(func() {
			conn, err := dns.Dial(transport, at.String())
			if err != nil {
				failures <- err.Error()
				return
			}
			defer conn.Close()
			client := dns.Client{Net: transport, Timeout: longest}
			for !done.Load() {
				r, _, err := client.ExchangeWithConn(new(dns.Msg).SetQuestion("api.blue.example.com.", dns.TypeA), conn)
				switch {
				case err != nil:
					failures <- err.Error()
					return
				case len(r.Answer) == 1 && strings.HasSuffix(r.Answer[0].String(), "192.168.100.3"):
					seen[0].Add(1)
				case len(r.Answer) == 1 && strings.HasSuffix(r.Answer[0].String(), "192.168.100.4"):
					seen[1].Add(1)
				default:
					failures <- r.String()
					return
				}
			}
		})
	}
	defer done.Store(true)
	for i := range changes {
		before := seen[i%2].Load()
		h.Serve(plans[i%2])
		g.Eventually(seen[i%2].Load, longest, "1ms").Should(BeNumerically(">=", before+clients), "change %d", i)
	}
	done.Store(true)
	asking.Wait()
	close(failures)
	for f := range failures {
		t.Error(f)
	}
}

// TestUpstreamIsAskedByItsDevice: the dialer's Control binds every socket to the device, for UDP and TCP.
func TestUpstreamIsAskedByItsDevice(t *testing.T) {
	g := NewWithT(t)
	up := newResolver(t, "192.0.2.1", true)
	for _, c := range []struct{ device, want string }{
		{"lo", "IN A 192.0.2.1"},
		{"no-such-device", "status: SERVFAIL"},
	} {
		var sockets atomic.Int32
		bind := func(_, _ string, conn syscall.RawConn) error {
			sockets.Add(1)
			var bound error
			err := conn.Control(func(fd uintptr) { bound = unix.BindToDevice(int(fd), c.device) })
			return errors.Join(err, bound)
		}
		o := resolving(up.at)
		o.Dialer.Control = bind
		_, at := served(t, local(network.UpstreamManagement), o)
		g.Expect(dig(t, at, "www.example.org")).To(ContainSubstring(c.want))
		g.Expect(sockets.Load()).NotTo(BeZero())
	}
}
