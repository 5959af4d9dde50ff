package access

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/patience"
)

// TestSlowCallers: a caller that does not send its request in time is answered or closed.
func TestSlowCallers(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newSite(t, func(s *site) { s.limits.request = 2 * time.Second })
	status, _ := s.response(s.caller(s.at, "CONNECT "))
	g.Expect(status).To(Equal(408))
	_, err := s.caller(s.at, "").Read(make([]byte, 1))
	g.Expect(err).To(Equal(io.EOF))
	g.Eventually(func() string { return s.metric("oooi_access_requests_total") }).Should(Equal("slow 2"))
	s = newSite(t, nil)
	_ = s.caller(s.at, "CONN").Close()
	g.Eventually(func() string { return s.metric("oooi_access_requests_total") }).Should(Equal("abandoned 1"))
}

// TestLimits: each limit has an answer of its own, and the caller with most waits longest.
func TestLimits(t *testing.T) {
	g, s := NewWithT(t), newSite(t, func(s *site) { s.limits.waitingCaller, s.limits.tunnels, s.limits.waiting = 4, 4, 4 })
	s.vm("192.168.100.50:10250", echo)
	from := func(ip, text string) *net.TCPConn {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}).Dial("tcp4", s.at)
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = c.Close() })
		_, err = io.WriteString(c, text)
		g.Expect(err).NotTo(HaveOccurred())
		return c.(*net.TCPConn)
	}
	const request = "CONNECT worker-1:10250 HTTP/1.1\r\nHost: x\r\n\r\n"
	asked := func(ip string) string {
		c := from(ip, request)
		status, body := s.response(c)
		if status != 200 {
			_ = c.Close()
		}
		return strings.TrimSpace(fmt.Sprint(status, " ", body))
	}
	g.Expect([]string{asked("127.0.0.2"), asked("127.0.0.2")}).To(Equal([]string{"200", "200"}))
	const share = "503 the caller already has its share of the edge's tunnels"
	g.Expect(asked("127.0.0.2")).To(Equal(share))
	g.Expect([]string{asked("127.0.0.3"), asked("127.0.0.3"), asked("127.0.0.4")}).To(Equal([]string{"200", share, "200"}))
	g.Expect(asked("127.0.0.5")).To(Equal(share), "all four are in use, and each caller has its part")
	s.CutAll()
	g.Eventually(func() string { return s.metric("oooi_access_tunnels") }).Should(BeEmpty())
	g.Expect(asked("127.0.0.2")).To(Equal("200"))
	g.Eventually(func() string { return s.metric("oooi_access_waiting") }).Should(BeEmpty(), "refused callers wait until they have gone")

	quiet := from("127.0.0.5", "CONN")
	closed := make(chan error, 10)
	for range cap(closed) {
		c := from("127.0.0.6", "CONN")
		go func() { _, err := c.Read(make([]byte, 1)); closed <- err }()
	}
	for range cap(closed) - 3 {
		g.Eventually(closed, patience.Limit).Should(Receive(HaveOccurred()))
	}
	_, err := io.WriteString(quiet, strings.TrimPrefix(request, "CONN"))
	g.Expect(err).NotTo(HaveOccurred())
	status, _ := s.response(quiet)
	g.Expect(status).To(Equal(200), "a caller with one connection keeps it")
	g.Eventually(func() string { return s.metric("oooi_access_waiting") }).Should(Equal("3"))
}

// TestAFloodOfOneCaller: a caller opens connections without end. None of another caller waits behind them.
func TestAFloodOfOneCaller(t *testing.T) {
	var w waiting
	now := time.Now()
	add := func(from string) (evicted, ok bool) {
		c := &call{from: netip.MustParseAddrPort(from), since: now}
		lost, ok := w.add(c, maxWaiting, maxWaitingCaller, now.Add(-requestGrace))
		return lost != nil, ok
	}
	for i := range 10_000 {
		if _, ok := add(fmt.Sprintf("10.128.0.11:%d", 1024+i)); !ok {
			t.Fatalf("all others wait behind connection %d", i)
		}
	}
	for i := range maxWaitingCaller / 2 {
		if evicted, ok := add(fmt.Sprintf("10.128.0.12:%d", 1024+i)); evicted || !ok {
			t.Fatalf("connection %d of another caller: evicted %v, at once %v", i, evicted, ok)
		}
	}
}

// TestAFloodOfManyCallers: 16 callers open connections without end. None of another caller waits behind them, and it keeps its part.
func TestAFloodOfManyCallers(t *testing.T) {
	g := NewWithT(t)
	var w waiting
	now := time.Now()
	add := func(pod, i int) (own bool) {
		c := &call{from: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 128, 0, byte(pod)}), uint16(i)), since: now}
		evicted, ok := w.add(c, maxWaiting, maxWaitingCaller, now.Add(-requestGrace))
		g.Expect(ok).To(BeTrue(), "all others wait behind connection %d of pod %d", i, pod)
		return evicted == c
	}
	for i := range 1_000 {
		for pod := range 16 {
			add(pod, i)
		}
	}
	for i := range maxWaiting / 18 {
		g.Expect(add(16, i)).To(BeFalse())
	}
	for i := range 1_000 {
		for pod := range 16 {
			add(pod, i)
		}
	}
	g.Expect(len(w.by[netip.MustParseAddr("10.128.0.16")])).To(Equal(maxWaiting / 18))
	g.Expect(w.count).To(Equal(maxWaiting))
}

// TestBurst: callers that come all at once, and send their request within their grace, are all served, with more of them than may wait.
func TestBurst(t *testing.T) {
	g, s := NewWithT(t), newSite(t, func(s *site) { s.limits.waiting, s.limits.grace = 3, patience.Limit })
	s.vm("192.168.100.50:10250", hello)
	var all []*net.TCPConn
	for i := range 100 {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i))}}
		c, err := d.Dial("tcp4", s.at)
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = c.Close() })
		_, err = io.WriteString(c, "CONNECT worker-1:10250 HTTP/1.1\r\nHost: x\r\n\r\n")
		g.Expect(err).NotTo(HaveOccurred())
		all = append(all, c.(*net.TCPConn))
	}
	for _, c := range all {
		status, _ := s.response(c)
		g.Expect(status).To(Equal(200))
	}
	g.Eventually(func() string { return s.metric("oooi_access_requests_total") }).Should(Equal("opened 100"), "a caller is counted after it has its answer")
}

// TestDial: of the addresses of a destination one refuses, and the caller gets the other one. If none answers, the caller gets an error.
func TestDial(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newSite(t, nil)
	s.vm("192.168.100.62:5432", hello)
	s.mu.Lock()
	s.vms["192.168.100.61:5432"] = "127.0.0.1:1" // It refuses.
	s.mu.Unlock()
	for range 5 {
		_, status, _ := s.connect("db.example.com:5432")
		g.Expect(status).To(Equal(200))
	}
	_, _, err := s.dialer.any(t.Context(), netip.MustParseAddr("192.168.100.4"), nil, s.isVM)
	g.Expect(err).To(MatchError(errNoAddress))
	_, status, body := newSite(t, func(s *site) { s.dialer.limit = time.Second }).connect("worker-1:10250")
	g.Expect(status).To(Equal(502))
	g.Expect(body).To(Equal("the destination does not answer: no answer within 1s\n"))
}

// TestStalledDestination: one that never reads stalls its own tunnel only, which is open to the end of the test.
func TestStalledDestination(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newSite(t, nil)
	s.vm("192.168.100.50:22", func(*net.TCPConn) { <-t.Context().Done() })
	s.vm("192.168.100.50:10250", echo)
	stalled, _, _ := s.connect("worker-1:22")
	_ = stalled.SetWriteDeadline(time.Now().Add(time.Second)) // It passes in any case.
	_, err := io.CopyN(stalled, zeros{}, 256<<20)
	g.Expect(err).To(MatchError(os.ErrDeadlineExceeded), "the buffers of all sockets are full")
	for range 20 {
		c, status, _ := s.connect("worker-1:10250")
		g.Expect(status).To(Equal(200))
		_, err := io.WriteString(c, "x")
		g.Expect(err).NotTo(HaveOccurred())
		_, err = io.ReadFull(c, make([]byte, 1))
		g.Expect(err).NotTo(HaveOccurred())
	}
}

// zeros is an endless file.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
