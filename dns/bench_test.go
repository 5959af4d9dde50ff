package dns

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/dns/answers"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/dnsnames"
)

// BenchmarkServeDNS is one answer to a question that is not plain, with its
// packing, without the sockets.
func BenchmarkServeDNS(b *testing.B) {
	n := dnsnames.Blue(network.UpstreamNone)
	h := NewHandler(NewMetrics(prometheus.NewRegistry()), Options{VMs: dnsnames.Workers})
	h.Serve(n)
	for _, name := range []string{"api.blue.example.com.", "oauth.apps.blue.example.com.", "nothing.blue.example.com."} {
		b.Run(name, func(b *testing.B) {
			wire, err := new(dns.Msg).SetQuestion(name, dns.TypeA).SetEdns0(answers.BufferSize, false).Pack()
			if err != nil {
				b.Fatal(err)
			}
			w := newWriter(netip.MustParseAddr("192.168.100.20"))
			b.ReportAllocs()
			before := cpu(b)
			for b.Loop() {
				var m dns.Msg
				if err := m.Unpack(wire); err != nil {
					b.Fatal(err)
				}
				h.ServeDNS(w, &m)
			}
			b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkPacket is one answer from packet to packet, as the socket gives it. The rest of what an answer costs is the
// kernel's.
func BenchmarkPacket(b *testing.B) {
	h := NewHandler(NewMetrics(prometheus.NewRegistry()), Options{VMs: dnsnames.Workers})
	h.Serve(dnsnames.Blue(network.UpstreamNone))
	client, out := netip.MustParseAddr("192.168.100.20"), make([]byte, 0, answers.BufferSize)
	for _, name := range []string{"api.blue.example.com.", "oauth.apps.blue.example.com.", "nothing.blue.example.com.", "20.100.168.192.in-addr.arpa."} {
		kind := dns.TypeA
		if name[0] == '2' {
			kind = dns.TypePTR
		}
		b.Run(name, func(b *testing.B) {
			wire, err := new(dns.Msg).SetQuestion(name, kind).SetEdns0(answers.BufferSize, false).Pack()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if h.answer(client, wire, out, false) == nil {
					b.Fatal("not answered")
				}
			}
		})
	}
}

// cpu is what this process has used of all cores: what an answer costs, however
// busy the machine is.
func cpu(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkServerUDP is one answer over the loopback device: the server, its
// sockets and the client's half, all in this process.
func BenchmarkServerUDP(b *testing.B) {
	_, at := served(b, local(network.UpstreamNone), Options{})
	c, err := net.Dial("udp", at.String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	question, err := new(dns.Msg).SetQuestion("api.blue.example.com.", dns.TypeA).Pack()
	if err != nil {
		b.Fatal(err)
	}
	answer := make([]byte, answers.BufferSize)
	before := cpu(b)
	for b.Loop() {
		if _, err := c.Write(question); err != nil {
			b.Fatal(err)
		}
		if n, err := c.Read(answer); err != nil || n <= len(question) {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}
