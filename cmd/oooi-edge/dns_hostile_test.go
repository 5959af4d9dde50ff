package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"
	"golang.org/x/net/ipv4"

	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// TestMemoryOfDNS: a VM asks for many long answers. The server stays far below the limit of its container, and another VM
// is answered meanwhile: never later than a quarter of the long answers.
func TestMemoryOfDNS(t *testing.T) {
	const questions, workers = 6000, 24
	g := NewWithT(t)
	w := newHostileWorld(t)
	text := &dns.TXT{Hdr: dns.RR_Header{Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 3600}}
	for range 240 {
		text.Txt = append(text.Txt, strings.Repeat("x", 255))
	}
	w.upstream(t, dns.HandlerFunc(func(rw dns.ResponseWriter, r *dns.Msg) {
		m := new(dns.Msg).SetReply(r)
		if _, udp := rw.RemoteAddr().(*net.UDPAddr); udp && r.Question[0].Qtype == dns.TypeTXT {
			m.Truncated = true
		} else if r.Question[0].Qtype == dns.TypeTXT {
			rr := *text
			rr.Hdr.Name = r.Question[0].Name
			m.Answer = []dns.RR{&rr}
		}
		_ = rw.WriteMsg(m)
	}))
	before, _, err := programs.Memory(w.pid)
	g.Expect(err).NotTo(HaveOccurred())

	start := time.Now()
	var asking sync.WaitGroup
	var next, answered atomic.Int32
	for range workers {
		asking.Go(func() {
			c, err := dialDNS(t, w.machine, "tcp")
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close() }()
			for i := next.Add(1); i <= int32(questions); {
				_ = c.SetDeadline(time.Now().Add(patience.Limit))
				if err := c.WriteMsg(new(dns.Msg).SetQuestion(fmt.Sprintf("%d.example.org.", i), dns.TypeTXT)); err != nil {
					t.Error(err)
					return
				}
				m, err := c.ReadMsgHeader(nil)
				if err != nil {
					t.Error(err)
					return
				}
				if len(m) > 60_000 {
					answered.Add(1)
					i = next.Add(1)
				} // Else it was refused for now: it asks again, as clients do.
			}
		})
	}
	done, stop := context.WithCancel(context.Background())
	go func() { asking.Wait(); stop() }()
	most := int32(0) // Long answers while the other VM waits for one.
	c, err := dialDNS(t, w.other, "udp")
	g.Expect(err).NotTo(HaveOccurred())
	for done.Err() == nil {
		had := answered.Load()
		_ = c.SetDeadline(time.Now().Add(patience.Limit))
		g.Expect(c.WriteMsg(new(dns.Msg).SetQuestion("api.blue.example.com.", dns.TypeA))).To(Succeed())
		_, err := c.ReadMsg()
		g.Expect(err).NotTo(HaveOccurred())
		most = max(most, answered.Load()-had)
	}
	now, peak, err := programs.Memory(w.pid)
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("%d answers of 60 KB in %s: %d MiB before, %d MiB now, peak %d MiB, at most %d while the other VM waits",
		answered.Load(), time.Since(start).Round(time.Millisecond), before>>20, now>>20, peak>>20, most)
	g.Expect(answered.Load()).To(BeEquivalentTo(questions))
	g.Expect(peak).To(BeNumerically("<", 160<<20))
	g.Expect(most).To(BeNumerically("<", questions/4))
}

// TestBurstOfQuestions: 1,000 questions that arrive while the server does not run, as if they came in one instant, are all
// answered. No privilege is needed for their buffers.
func TestBurstOfQuestions(t *testing.T) {
	g := NewWithT(t)
	w := newHostileWorld(t)
	w.machine.SetNeighbour(t, "eth0", blueService, w.edge.MAC(t, "net1"), true) // Few packets wait for an answer to ARP.
	const sockets, each = 40, 25
	var conns []*net.UDPConn
	var batches [][]ipv4.Message
	for i := range sockets {
		c, err := dialDNS(t, w.machine, "udp")
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = c.Close() }()
		conns = append(conns, c.Conn.(*net.UDPConn))
		var batch []ipv4.Message
		for j := range each {
			m := new(dns.Msg).SetQuestion("api.blue.example.com.", dns.TypeA)
			m.Id = uint16(i*each + j)
			b, err := m.Pack()
			g.Expect(err).NotTo(HaveOccurred())
			batch = append(batch, ipv4.Message{Buffers: [][]byte{b}})
		}
		batches = append(batches, batch)
	}
	g.Expect(syscall.Kill(w.pid, syscall.SIGSTOP)).To(Succeed())
	for i, c := range conns {
		sent, err := ipv4.NewPacketConn(c).WriteBatch(batches[i], 0)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(sent).To(Equal(each))
	}
	g.Expect(syscall.Kill(w.pid, syscall.SIGCONT)).To(Succeed())
	start := time.Now()
	var answered atomic.Int32
	var reading sync.WaitGroup
	for _, c := range conns {
		reading.Go(func() {
			_ = c.SetReadDeadline(time.Now().Add(patience.Limit))
			for b := make([]byte, 512); ; {
				if _, err := c.Read(b); err != nil {
					return
				}
				if answered.Add(1); answered.Load() == sockets*each {
					for _, other := range conns {
						_ = other.SetReadDeadline(time.Now())
					}
				}
			}
		})
	}
	reading.Wait()
	t.Logf("%d of %d questions were answered after %s", answered.Load(), sockets*each, time.Since(start))
	g.Expect(answered.Load()).To(BeEquivalentTo(sockets * each))
}

// TestFloodOfOneVM: a VM with 20 addresses has all connections open that it gets, asks for names that upstream
// servers cannot resolve, and sends questions as fast as it can. Another VM still gets its answers.
func TestFloodOfOneVM(t *testing.T) {
	g := NewWithT(t)
	w := newHostileWorld(t)
	w.upstream(t, dns.HandlerFunc(func(rw dns.ResponseWriter, r *dns.Msg) {
		if dns.IsSubDomain("dead.example.", r.Question[0].Name) {
			return
		}
		_ = rw.WriteMsg(addressed(r))
	}))
	addresses := []string{"192.168.100.20"}
	for i := range 19 {
		addresses = append(addresses, fmt.Sprintf("192.168.100.%d", 30+i))
		w.machine.Address(t, "eth0", addresses[i+1]+"/24")
	}
	ctx, stop := context.WithCancel(t.Context())
	var hostile sync.WaitGroup
	defer func() { stop(); hostile.Wait() }()
	for i := range 2200 {
		c, err := w.from(ctx, t, addresses[i%len(addresses)], "tcp")
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = c.Close() }()
		hostile.Go(func() { keepOpen(ctx, c) })
	}
	var flooded atomic.Int64
	for i, a := range addresses {
		c, err := w.from(ctx, t, a, "udp")
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = c.Close() }()
		hostile.Go(func() { // Names that keep upstream questions waiting.
			for n := range pace(ctx, 4*time.Millisecond) {
				b, _ := new(dns.Msg).SetQuestion(fmt.Sprintf("%d.%d.dead.example.", n, i), dns.TypeA).Pack()
				_, _ = c.Write(b)
			}
		})
	}
	c, err := w.from(ctx, t, addresses[0], "udp")
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = c.Close() }()
	hostile.Go(func() {
		batch := make([]ipv4.Message, 64)
		for i := range batch {
			b, _ := new(dns.Msg).SetQuestion("api.blue.example.com.", dns.TypeA).Pack()
			batch[i].Buffers = [][]byte{b}
		}
		p := ipv4.NewPacketConn(c.(*net.UDPConn))
		for range pace(ctx, time.Millisecond) {
			sent, _ := p.WriteBatch(batch, 0)
			flooded.Add(int64(sent))
		}
	})
	w.othersAreAnswered(t, &flooded)
}

// TestFloodOverTCP: a VM keeps questions waiting in all its connections. Meanwhile another VM waits for few answers to them.
func TestFloodOverTCP(t *testing.T) {
	const connections = 600
	g := NewWithT(t)
	w := newHostileWorld(t)
	var batch []byte
	for range 64 {
		b, err := new(dns.Msg).SetQuestion("api.blue.example.com.", dns.TypeA).Pack()
		g.Expect(err).NotTo(HaveOccurred())
		batch = append(binary.BigEndian.AppendUint16(batch, uint16(len(b))), b...)
	}
	var all []syscall.RawConn
	for range connections {
		c, err := w.from(t.Context(), t, "192.168.100.20", "tcp")
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = c.Close() }()
		raw, err := c.(*net.TCPConn).SyscallConn()
		g.Expect(err).NotTo(HaveOccurred())
		all = append(all, raw)
	}
	ctx, stop := context.WithCancel(t.Context())
	var hostile sync.WaitGroup
	defer func() { stop(); hostile.Wait() }()
	var flooded atomic.Int64 // Bytes of answers. An answer has more than its question.
	hostile.Go(func() {      // Neither writes nor reads wait.
		sent, in := make([]int, connections), make([]byte, 64<<10)
		for ctx.Err() == nil {
			for i, c := range all {
				_ = c.Write(func(fd uintptr) bool {
					n, _ := syscall.Write(int(fd), batch[sent[i]:])
					sent[i] = (sent[i] + max(0, n)) % len(batch)
					return true
				})
				_ = c.Read(func(fd uintptr) bool {
					n, _ := syscall.Read(int(fd), in)
					flooded.Add(int64(max(0, n)))
					return true
				})
			}
		}
	})
	g.Eventually(flooded.Load).Should(BeNumerically(">", connections*len(batch)))
	var waited []int
	for range 20 {
		had := flooded.Load()
		g.Expect(w.ask(t, "udp", "api.blue.example.com.")).To(Succeed())
		waited = append(waited, int(flooded.Load()-had)/(len(batch)/64))
	}
	slices.Sort(waited)
	t.Logf("the other VM waits for %d answers, at most %d", waited[10], waited[19])
	g.Expect(waited[10]).To(BeNumerically("<", 50*connections))
}

// TestFloodOfForgedAddresses: a VM sends from addresses that no host has. The answers wait in the kernel, and the other
// VM does not.
func TestFloodOfForgedAddresses(t *testing.T) {
	g := NewWithT(t)
	w := newHostileWorld(t)
	w.upstream(t, dns.HandlerFunc(func(rw dns.ResponseWriter, r *dns.Msg) { _ = rw.WriteMsg(addressed(r)) }))
	w.machine.SetNeighbour(t, "eth0", blueService, w.edge.MAC(t, "net1"), true)
	w.machine.Sysctl(t, "net/ipv4/conf/eth0/arp_ignore", "8")
	ctx, stop := context.WithCancel(t.Context())
	var hostile sync.WaitGroup
	defer func() { stop(); hostile.Wait() }()
	var flooded atomic.Int64
	for i := range 150 {
		address := fmt.Sprintf("192.168.100.%d", 50+i)
		w.machine.Address(t, "eth0", address+"/24")
		c, err := w.from(ctx, t, address, "udp")
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = c.Close() }()
		b, _ := new(dns.Msg).SetQuestion("api.blue.example.com.", dns.TypeA).Pack()
		hostile.Go(func() {
			for range pace(ctx, 10*time.Millisecond) {
				_, _ = c.Write(b)
				flooded.Add(1)
			}
		})
	}
	w.othersAreAnswered(t, &flooded)
	g.Expect(w.edge.Neighbour(t, "net1", "192.168.100.60")).To(BeEmpty(), "the test is about hosts that do not answer ARP requests")
}
