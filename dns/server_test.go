package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
	"github.com/cldmnky/oooi/test/dnsnames"
	waiting "github.com/cldmnky/oooi/test/patience"
)

// longest is how long clients wait for an answer that must come.
const longest = waiting.Limit

// local is blue for clients on the loopback device.
func local(mode network.UpstreamMode) network.Network {
	n := dnsnames.Blue(mode)
	n.DNS.Views[0].Clients = dnsnames.Prefixes("127.0.0.0/8")
	return n
}

// ports counts those that ownAddress returned.
var ports atomic.Uint32

// ownAddress is on the loopback device, free by UDP and TCP, and stays free: no other process has the address, and the kernel
// chooses higher ports.
func ownAddress() netip.AddrPort {
	pid := os.Getpid()
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, byte(64 + pid>>16), byte(pid >> 8), byte(pid)}), uint16(20_000+(uint32(pid)+ports.Add(1))%10_000))
}

// served runs a server on the loopback device until the test ends, and returns
// its handler and where it listens, by UDP and TCP.
func served(t testing.TB, n network.Network, o Options) (*Handler, netip.AddrPort) {
	t.Helper()
	var lc net.ListenConfig
	ctx, cancel := context.WithCancel(context.Background())
	at := ownAddress()
	l, err := lc.Listen(ctx, "tcp4", at.String())
	if err != nil {
		t.Fatal(err)
	}
	var p []*net.UDPConn
	lc.Control = func(_, _ string, c syscall.RawConn) error {
		var set error
		err := c.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		return errors.Join(err, set)
	}
	for range Sockets {
		c, err := lc.ListenPacket(ctx, "udp4", at.String())
		if err != nil {
			t.Fatal(err)
		}
		p = append(p, c.(*net.UDPConn))
	}
	h := NewHandler(NewMetrics(prometheus.NewRegistry()), o)
	h.Serve(n)
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, h, p, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return h, at
}

// dig asks as a VM would and returns what dig prints. Tests that need it
// fail without it: it is in every distribution.
func dig(t *testing.T, at netip.AddrPort, args ...string) string {
	t.Helper()
	args = append([]string{"@" + at.Addr().String(), "-p", port(at), "+tries=1", fmt.Sprintf("+time=%.f", longest.Seconds())}, args...)
	out, err := exec.Command("dig", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("dig %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

func port(at netip.AddrPort) string {
	_, p, _ := net.SplitHostPort(at.String())
	return p
}

func TestServerSaysToDig(t *testing.T) {
	_, at := served(t, local(network.UpstreamNone), Options{VMs: dnsnames.Workers})
	for _, c := range []struct {
		why, question string
		want, not     []string
	}{
		{why: "an address", question: "api.blue.example.com A",
			want: []string{"status: NOERROR", "flags: qr aa rd;", "api.blue.example.com. 30 IN A 192.168.100.3", "udp: 1232"}},
		{why: "the same by TCP", question: "+tcp api.blue.example.com A",
			want: []string{"status: NOERROR", "api.blue.example.com. 30 IN A 192.168.100.3", "(TCP)"}},
		{why: "case is kept", question: "aPi.BLUE.example.com A", want: []string{"aPi.BLUE.example.com. 30 IN A 192.168.100.3"}},
		{why: "no AAAA, with the SOA", question: "api.blue.example.com AAAA",
			want: []string{"status: NOERROR", "ANSWER: 0, AUTHORITY: 1", "blue.example.com. 5 IN SOA"}},
		{why: "NXDOMAIN, with the SOA", question: "nothing.blue.example.com A",
			want: []string{"status: NXDOMAIN", "flags: qr aa rd;", "blue.example.com. 5 IN SOA"}},
		{why: "a wildcard", question: "a.b.apps.blue.example.com A", want: []string{"a.b.apps.blue.example.com. 30 IN A 192.168.100.3"}},
		{why: "the rest is refused", question: "www.example.org A", want: []string{"status: REFUSED", "flags: qr rd;", "ANSWER: 0"}},
		{why: "a machine's name", question: "-x 192.168.100.20", want: []string{"20.100.168.192.in-addr.arpa. 30 IN PTR blue-abcde-fghij."}},
		{why: "another class", question: "version.bind CH TXT", want: []string{"status: REFUSED"}},
		{why: "ANY is small", question: "api.blue.example.com ANY", want: []string{"status: NOERROR", "ANSWER: 1"}},
		{why: "a transfer", question: "blue.example.com AXFR", want: []string{"Transfer failed"}},
		{why: "another opcode", question: "+opcode=2 +noedns blue.example.com", want: []string{"status: NOTIMP"}},
		{why: "NOTIFY", question: "+opcode=4 +noedns blue.example.com SOA", want: []string{"status: NOTIMP"}},
		{why: "no EDNS unless asked", question: "+noedns api.blue.example.com A", want: []string{"status: NOERROR"}, not: []string{"OPT PSEUDOSECTION"}},
		{why: "EDNS version 1", question: "+edns=1 +noednsnegotiation api.blue.example.com A", want: []string{"status: BADVERS", "version: 0"}},
		{why: "a large buffer is cut", question: "+bufsize=4096 api.blue.example.com A", want: []string{"udp: 1232"}},
		{why: "options that nobody knows", question: "+ednsopt=65001:0102 +cookie api.blue.example.com A", want: []string{"status: NOERROR"}, not: []string{"OPT=65001", "COOKIE"}},
		{why: "RD is echoed", question: "+norecurse api.blue.example.com A", want: []string{"flags: qr aa;"}},
		{why: "DO is echoed", question: "+dnssec api.blue.example.com A", want: []string{"flags: do;", "ANSWER: 1"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			g := NewWithT(t)
			got := dig(t, at, strings.Fields(c.question)...)
			for _, w := range c.want {
				g.Expect(got).To(ContainSubstring(w))
			}
			for _, w := range c.not {
				g.Expect(got).NotTo(ContainSubstring(w))
			}
		})
	}
}

// TestLongAnswers: an answer that does not fit is truncated over UDP, with the flag TC, and complete over TCP.
func TestLongAnswers(t *testing.T) {
	g := NewWithT(t)
	n := local(network.UpstreamNone)
	var many []netip.Addr
	for i := range 200 {
		many = append(many, netip.AddrFrom4([4]byte{192, 168, 101, byte(i)}))
	}
	n.DNS.Views[0].Records = append(n.DNS.Views[0].Records, network.Record{Name: "many.blue.example.com", Addresses: many})
	_, at := served(t, n, Options{})
	for _, c := range []struct {
		client dns.Client
		edns   uint16
		most   int
		cut    bool
	}{
		{dns.Client{Timeout: longest}, 0, 512, true},
		{dns.Client{UDPSize: 4096, Timeout: longest}, 4096, 1232, true},
		{dns.Client{Net: "tcp", Timeout: longest}, 0, 65535, false},
	} {
		m := new(dns.Msg)
		m.SetQuestion("many.blue.example.com.", dns.TypeA)
		if c.edns != 0 {
			m.SetEdns0(c.edns, false)
		}
		r, _, err := c.client.Exchange(m, at.String())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(r.Truncated).To(Equal(c.cut))
		r.Compress = true
		g.Expect(r.Len()).To(BeNumerically("<=", c.most))
		g.Expect(len(r.Answer) == len(many)).To(Equal(!c.cut))
	}
	g.Expect(dig(t, at, "many.blue.example.com", "A")).To(ContainSubstring("ANSWER: 200"))
}

func TestClientsInNoViewAreRefused(t *testing.T) {
	g := NewWithT(t)
	n := local(network.UpstreamNone)
	n.DNS.Views[0].Clients = dnsnames.Prefixes("127.0.0.9/32")
	_, at := served(t, n, Options{})
	g.Expect(dig(t, at, "api.blue.example.com")).To(ContainSubstring("status: REFUSED"))
	g.Expect(dig(t, at, "-b", "127.0.0.9", "api.blue.example.com")).To(ContainSubstring("status: NOERROR"))
}

// TestConnectionsByTCP: several questions on one connection, without waiting for
// answers, and many connections at the same time.
func TestConnectionsByTCP(t *testing.T) {
	g := NewWithT(t)
	_, at := served(t, local(network.UpstreamNone), Options{})
	var conns []*dns.Conn
	for range 100 {
		c, err := dns.Dial("tcp", at.String())
		g.Expect(err).NotTo(HaveOccurred())
		defer c.Close()
		conns = append(conns, c)
	}
	for _, c := range conns {
		g.Expect(c.SetDeadline(time.Now().Add(longest))).To(Succeed())
		for id := range uint16(3) {
			m := new(dns.Msg)
			m.SetQuestion("api.blue.example.com.", dns.TypeA)
			m.Id = id
			g.Expect(c.WriteMsg(m)).To(Succeed())
		}
		for id := range uint16(3) {
			r, err := c.ReadMsg()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.Id).To(Equal(id))
			g.Expect(r.Answer).To(HaveLen(1))
		}
	}
}

// TestMalformed: a packet that is not a query is refused or ignored, and the next query is answered.
func TestMalformed(t *testing.T) {
	g := NewWithT(t)
	_, at := served(t, local(network.UpstreamNone), Options{})
	c, err := net.Dial("udp", at.String())
	g.Expect(err).NotTo(HaveOccurred())
	defer c.Close()
	good, err := new(dns.Msg).SetQuestion("api.blue.example.com.", dns.TypeA).Pack()
	g.Expect(err).NotTo(HaveOccurred())
	for n := range good {
		_, err := c.Write(good[:n])
		g.Expect(err).NotTo(HaveOccurred())
	}
	two := new(dns.Msg).SetQuestion("api.blue.example.com.", dns.TypeA)
	two.Question = append(two.Question, two.Question[0])
	r, _, err := (&dns.Client{Timeout: longest}).Exchange(two, at.String())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Rcode).To(Equal(dns.RcodeFormatError))
	g.Expect(dig(t, at, "api.blue.example.com")).To(ContainSubstring("status: NOERROR"))
}

// TestRefusalsAreCheap: a message that is refused costs the same, whatever records it has.
func TestRefusalsAreCheap(t *testing.T) {
	cost := func(records int) float64 {
		m := new(dns.Msg).SetQuestion("api.blue.example.com.", dns.TypeA)
		for range records {
			m.Extra = append(m.Extra, &dns.NS{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeNS, Class: dns.ClassINET}, Ns: "api.blue.example.com."})
		}
		m.Compress = true
		b, err := m.Pack()
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(len(b)).To(BeNumerically("<", maxQuestion))
		return testing.AllocsPerRun(10, func() {
			if r, refusal := parse(b); r != nil || refusal.Rcode != dns.RcodeFormatError {
				t.Error("not refused")
			}
		})
	}
	NewWithT(t).Expect(cost(100)).To(Equal(cost(3)))
}

func TestMetricsCountAnswers(t *testing.T) {
	g := NewWithT(t)
	h, at := served(t, local(network.UpstreamNone), Options{})
	dig(t, at, "api.blue.example.com")
	dig(t, at, "nothing.blue.example.com")
	dig(t, at, "www.example.org")
	g.Eventually(func() string { return counted(t, h.metrics.Counter(metrics.DNSQuestions)) }).Should(Equal(
		"by=none rcode=REFUSED view=vms 1\nby=plan rcode=NOERROR view=vms 1\nby=plan rcode=NXDOMAIN view=vms 1"))
}

// counted is every counter above zero as "label=value ... count" lines, sorted.
func counted(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if m.GetCounter().GetValue() == 0 {
				continue
			}
			var words []string
			for _, l := range m.GetLabel() {
				words = append(words, l.GetName()+"="+l.GetValue())
			}
			lines = append(lines, fmt.Sprint(strings.Join(words, " "), " ", m.GetCounter().GetValue()))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
