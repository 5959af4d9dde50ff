package dns

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/dns/answers"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/dnsnames"
	"github.com/cldmnky/oooi/test/golden"
)

// A writer is the client's end of a question by UDP: it keeps what was sent and
// sends nothing.
type writer struct {
	client *net.UDPAddr
	sent   *dns.Msg
	octets int
}

func newWriter(client netip.Addr) *writer {
	return &writer{client: net.UDPAddrFromAddrPort(netip.AddrPortFrom(client, 5353))}
}

func (w *writer) LocalAddr() net.Addr  { return w.client }
func (w *writer) RemoteAddr() net.Addr { return w.client }
func (w *writer) WriteMsg(m *dns.Msg) error {
	b, err := m.Pack()
	w.sent, w.octets = m, len(b)
	return err
}
func (w *writer) Write(b []byte) (int, error) { return len(b), nil }
func (w *writer) Close() error                { return nil }
func (w *writer) TsigStatus() error           { return nil }
func (w *writer) TsigTimersOnly(bool)         {}
func (w *writer) Hijack()                     {}

// TestStories: the answers that the VMs of each story get from the handler, with one VM on the first address of the range.
func TestStories(t *testing.T) {
	for _, story := range golden.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			b := story.Read(t, "plan.json")
			if b == nil {
				story.Check(t, "dns.txt", nil)
				return
			}
			var p network.Plan
			if err := json.Unmarshal(b, &p); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for _, n := range p.Networks {
				if !slices.Contains(n.Services, network.ServiceDNS) {
					fmt.Fprintf(&out, "# network %s: DNS is not ours\n", n.Name)
					continue
				}
				asks := n.DHCP.Range.First
				if !asks.IsValid() { // another server assigns addresses
					asks = n.CIDR.Addr().Next()
				}
				fmt.Fprintf(&out, "# network %s, asked by %s\n", n.Name, asks)
				machine := dnsnames.Leases{asks: "machine-1"}
				h := NewHandler(NewMetrics(prometheus.NewRegistry()), Options{VMs: machine})
				h.Serve(n)
				for _, q := range questions(t, p.Cluster, n) {
					fmt.Fprintf(&out, "\n%s %s\n", q.Name, dns.TypeToString[q.Qtype])
					w := newWriter(asks)
					h.ServeDNS(w, &dns.Msg{Question: []dns.Question{q}})
					h.forwarding.Load().Wait()
					r := answers.Reply{Rcode: w.sent.Rcode, Answer: w.sent.Answer, Authority: w.sent.Ns}
					fmt.Fprintln(&out, "   ", strings.ReplaceAll(dnsnames.Text(r, true), "\n", "\n    "))
				}
			}
			story.Check(t, "dns.txt", []byte(out.String()))
		})
	}
}

// questions are what a VM asks of n, and what it should not learn.
func questions(t *testing.T, c network.Cluster, n network.Network) []dns.Question {
	var out []dns.Question
	add := func(name string, types ...uint16) {
		for _, typ := range types {
			out = append(out, dns.Question{Name: dns.Fqdn(name), Qtype: typ, Qclass: dns.ClassINET})
		}
	}
	for _, v := range n.DNS.Views {
		for _, r := range v.Records {
			add(strings.Replace(r.Name, "*", "any.thing", 1), dns.TypeA, dns.TypeAAAA)
		}
	}
	if c.Domain != "" {
		add(c.Domain, dns.TypeA)
		add("nothing."+c.Domain, dns.TypeA)
		add("machine-1."+c.Domain, dns.TypeA, dns.TypeAAAA)
	}
	add("www.example.org", dns.TypeA)
	add("kubernetes.default.svc.cluster.local", dns.TypeA)
	for _, a := range []netip.Addr{n.ServiceVIP, n.DHCP.Range.First, n.DHCP.Range.Last} {
		if !a.IsValid() {
			continue
		}
		name, err := dns.ReverseAddr(a.String())
		if err != nil {
			t.Fatal(err)
		}
		add(name, dns.TypePTR)
	}
	return out
}
