package dns

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dns/answers"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/dnsnames"
)

// withPods is blue, with a ClusterIP for one of its names.
func withPods(mode network.UpstreamMode) network.Network {
	n := dnsnames.Blue(mode)
	n.DNS.Pods = network.View{
		Name: "pods", Clients: dnsnames.Prefixes("0.0.0.0/0"), OwnNamesOnly: true,
		Records: []network.Record{{Name: "api.blue.example.com", Addresses: dnsnames.Addresses("10.96.0.10")}},
	}
	return n
}

// TestPodsSayToDig: pods get ClusterIPs, and REFUSED for everything else. No name outside the view gets NXDOMAIN, because a stub domain
// also sends queries for names below its own to the server.
func TestPodsSayToDig(t *testing.T) {
	_, at := served(t, answers.ForPods(withPods(network.UpstreamManagement)), Options{})
	for _, c := range []struct {
		why, question string
		want          []string
	}{
		{"an address", "api.blue.example.com A", []string{"status: NOERROR", "flags: qr aa rd;", "api.blue.example.com. 30 IN A 10.96.0.10"}},
		{"the same by TCP", "+tcp api.blue.example.com A", []string{"api.blue.example.com. 30 IN A 10.96.0.10", "(TCP)"}},
		{"no AAAA, with the SOA", "api.blue.example.com AAAA", []string{"status: NOERROR", "ANSWER: 0, AUTHORITY: 1", "api.blue.example.com. 5 IN SOA"}},
		{"the same by TCP", "+tcp api.blue.example.com AAAA", []string{"status: NOERROR", "ANSWER: 0, AUTHORITY: 1"}},
		{"a name of VMs only", "oauth.apps.blue.example.com A", []string{"status: REFUSED", "ANSWER: 0, AUTHORITY: 0"}},
		{"a name below", "x.api.blue.example.com A", []string{"status: REFUSED"}},
		{"the domain", "blue.example.com A", []string{"status: REFUSED"}},
		{"a VM", "blue-abcde-fghij.blue.example.com A", []string{"status: REFUSED"}},
		{"a VM's address", "-x 192.168.100.20", []string{"status: REFUSED"}},
		{"localhost", "localhost A", []string{"status: REFUSED"}},
		{"an upstream's name", "www.example.org A", []string{"status: REFUSED", "flags: qr rd;"}},
		{"the health check of CoreDNS", "+norecurse . NS", []string{"status: REFUSED"}},
	} {
		t.Run(c.why+" "+c.question, func(t *testing.T) {
			got := dig(t, at, strings.Fields(c.question)...)
			for _, w := range c.want {
				NewWithT(t).Expect(got).To(ContainSubstring(w))
			}
		})
	}
}

// TestPodsAndVMsApart: pods get no address from the view of VMs, and VMs get none from that of pods.
func TestPodsAndVMsApart(t *testing.T) {
	g := NewWithT(t)
	n := withPods(network.UpstreamNone)
	for _, vs := range []answers.Views{answers.NewViews(n, nil), answers.NewViews(answers.ForPods(n), nil)} {
		for _, from := range dnsnames.Addresses("192.168.100.20", "10.128.0.1", "127.0.0.1") {
			v := vs.For(from)
			if v == nil {
				continue
			}
			r, _ := answers.Answer(v, nil, dns.Question{Name: "api.blue.example.com.", Qtype: dns.TypeA, Qclass: dns.ClassINET})
			want := "192.168.100.3"
			if v.Name() == "pods" {
				want = "10.96.0.10"
			}
			g.Expect(dnsnames.Text(r, true)).To(ContainSubstring(want))
		}
	}
	g.Expect(answers.ForPods(dnsnames.Blue(network.UpstreamServers)).DNS.Views).To(BeEmpty(), "pods are not answered")
}

// TestPodsShareByAddress: a source that sends queries for many pods, 100 at a time, gets all its answers. Another one gets its answers, as
// a resolver that tries again, while a third one sends more queries than the server can answer.
func TestPodsShareByAddress(t *testing.T) {
	g := NewWithT(t)
	_, at := served(t, answers.ForPods(withPods(network.UpstreamNone)), Options{})
	wire, err := new(dns.Msg).SetQuestion("api.blue.example.com.", dns.TypeA).Pack()
	g.Expect(err).NotTo(HaveOccurred())
	from := func(address string) *net.UDPConn {
		c, err := net.DialUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(address+":0")), net.UDPAddrFromAddrPort(at))
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	much := from("127.0.0.2")
	const many, atATime = 500, 100
	_ = much.SetReadBuffer(1 << 20)
	all, free := make(chan int), make(chan struct{}, atATime)
	go func() {
		defer close(all)
		buffer, answered := make([]byte, 512), map[string]bool{}
		_ = much.SetReadDeadline(time.Now().Add(longest))
		for len(answered) < many {
			if _, err := much.Read(buffer); err != nil {
				break
			}
			answered[fmt.Sprintf("%x", buffer[:2])] = true
			<-free
		}
		all <- len(answered)
	}()
	for i := range many {
		select {
		case free <- struct{}{}:
		case <-time.After(longest):
			t.Fatal("answers are missing")
		}
		_, err := much.Write(append([]byte{byte(i >> 8), byte(i)}, wire[2:]...))
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(<-all).To(Equal(many))
	buffer := make([]byte, 512)
	flood, floods := from("127.0.0.3"), sync.WaitGroup{}
	ctx, cancel := context.WithCancel(t.Context())
	floods.Go(func() {
		for ctx.Err() == nil {
			_, _ = flood.Write(wire)
		}
	})
	defer floods.Wait()
	defer cancel()
	little := from("127.0.0.4")
	asks := func(id byte) error { // It may read what answers an earlier try.
		_, err := little.Write(append([]byte{0, id}, wire[2:]...))
		g.Expect(err).NotTo(HaveOccurred())
		// What is lost is asked again, and counts.
		_ = little.SetReadDeadline(time.Now().Add(longest / 3))
		for buffer[1] = ^id; err == nil && buffer[1] != id; {
			_, err = little.Read(buffer)
		}
		return err
	}
	const questions = 200
	asked := 0
	for i := range questions {
		for answered := false; !answered; asked++ {
			answered = asks(byte(i)) == nil
			g.Expect(asked).To(BeNumerically("<", 20+i*3/2), "question %d: most are answered at the first try", i)
		}
	}
}
