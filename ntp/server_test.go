package ntp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/facebook/time/ntp/protocol"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/patience"
)

// newTestServer is a server of 192.168.100.0/24 with a clock in state s.
func newTestServer(t testing.TB, s State) *Server {
	t.Helper()
	return newServerOf(t, "192.168.100.0/24", func() (State, error) { return s, nil })
}

func newServerOf(t testing.TB, cidr string, clock Clock) *Server {
	t.Helper()
	s := NewServer(clock, NewMetrics(prometheus.NewRegistry(), clock))
	s.Serve(network.Network{CIDR: netip.MustParsePrefix(cidr)})
	return s
}

// serve runs s on the loopback device until the test ends. Its address is dialed.
func serve(t testing.TB, s *Server) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, c) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	d, err := net.DialUDP("udp4", nil, c.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// exchange asks once, and returns the answer.
func exchange(t testing.TB, c *net.UDPConn, question []byte) protocol.Packet {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(patience.Limit)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(question); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 2*largest)
	n, err := c.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	p, err := protocol.BytesToPacket(b[:n])
	if err != nil || n != protocol.PacketSizeBytes {
		t.Fatal(n, err)
	}
	return *p
}

// counted is how many datagrams had an outcome.
func counted(t testing.TB, s *Server, o outcome) float64 {
	t.Helper()
	var m dto.Metric
	if err := s.metrics.questions[o].Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

func TestWhoIsAnswered(t *testing.T) {
	s := newTestServer(t, State{Synchronized: true})
	for client, want := range map[string]outcome{
		"192.168.100.20": answered, "192.168.100.254": answered,
		"192.168.100.255": foreign, "192.168.100.0": foreign, "192.168.101.1": foreign, "10.9.0.1": foreign, "fe80::1": foreign,
	} {
		b, got := s.answer(NewLimiter(), asked(), netip.MustParseAddr(client), start, start)
		NewWithT(t).Expect(got).To(Equal(want), client)
		NewWithT(t).Expect(b != nil).To(Equal(want == answered), client)
	}
	b, _ := NewServer(s.clock, s.metrics).answer(NewLimiter(), asked(), vm, start, start)
	NewWithT(t).Expect(b).To(BeNil(), "a server without a network")
}

func TestWithoutATimeToTell(t *testing.T) {
	for why, clock := range map[string]Clock{
		"no program disciplines the clock": func() (State, error) { return State{}, nil },
		"the clock cannot be read":         func() (State, error) { return State{Synchronized: true}, errors.New("not permitted") },
	} {
		t.Run(why, func(t *testing.T) {
			g := NewWithT(t)
			b, got := newServerOf(t, "192.168.100.0/24", clock).answer(NewLimiter(), asked(), vm, start, start)
			g.Expect(got).To(Equal(unsynchronized))
			g.Expect(b[0] >> 6).To(Equal(byte(3)))
			g.Expect(b[1]).To(BeZero())
			g.Expect(string(b[12:16])).To(Equal("INIT"))
		})
	}
}

// TestServerTellsTheTime: what a client computes from the answer is that both clocks are one.
func TestServerTellsTheTime(t *testing.T) {
	g := NewWithT(t)
	s := newServerOf(t, "127.0.0.0/8", func() (State, error) { return State{Synchronized: true}, nil })
	c := serve(t, s)
	q := protocol.Packet{Settings: 4<<3 | modeClient}
	begin := time.Now()
	q.TxTimeSec, q.TxTimeFrac = protocol.Time(begin)
	b, err := q.Bytes()
	g.Expect(err).NotTo(HaveOccurred())
	p := exchange(t, c, b)
	end := time.Now()
	received, sent := protocol.Unix(p.RxTimeSec, p.RxTimeFrac), protocol.Unix(p.TxTimeSec, p.TxTimeFrac)
	g.Expect(received).To(BeTemporally(">=", begin, time.Microsecond))
	g.Expect(sent).To(BeTemporally(">=", received))
	g.Expect(end).To(BeTemporally(">=", sent))
	g.Eventually(func() float64 { return counted(t, s, answered) }, patience.Limit, "1ms").Should(BeEquivalentTo(1))
}

// TestTimeOfReceipt is the kernel's: a question that waited for the processor arrived when it did.
func TestTimeOfReceipt(t *testing.T) {
	g := NewWithT(t)
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	g.Expect(err).NotTo(HaveOccurred())
	defer c.Close()
	g.Expect(stampReceived(c)).To(Succeed())
	d, err := net.DialUDP("udp4", nil, c.LocalAddr().(*net.UDPAddr))
	g.Expect(err).NotTo(HaveOccurred())
	defer d.Close()
	asks := time.Now()
	_, err = d.Write(asked())
	g.Expect(err).NotTo(HaveOccurred())
	b, control := make([]byte, largest), make([]byte, 128)
	_, n, _, _, err := c.ReadMsgUDPAddrPort(b, control)
	g.Expect(err).NotTo(HaveOccurred())
	late := time.Now().Add(time.Minute)
	g.Expect(receivedAt(control[:n], late)).To(And(BeTemporally(">=", asks, time.Microsecond), BeTemporally("<=", time.Now())))
	g.Expect(receivedAt(nil, late)).To(Equal(late))
	g.Expect(receivedAt(control[:n/2], late)).To(Equal(late))
	early := asks.Add(-time.Hour)
	g.Expect(receivedAt(control[:n], early)).To(Equal(early), "the clock was set back since")
}

// TestModesInSilence: nothing but questions is answered, and the next question is.
func TestModesInSilence(t *testing.T) {
	g := NewWithT(t)
	c := serve(t, newServerOf(t, "127.0.0.0/8", func() (State, error) { return State{Synchronized: true}, nil }))
	for _, mode := range []byte{0, 1, 2, 4, 5, 6, 7} {
		for version := range byte(8) {
			_, err := c.Write(append(first(0, version, mode), make([]byte, 420)...))
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	for n := range protocol.PacketSizeBytes {
		_, err := c.Write(asked()[:n])
		g.Expect(err).NotTo(HaveOccurred())
	}
	last := first(0, 3, modeClient)
	g.Expect(exchange(t, c, last).Settings).To(Equal(uint8(3<<3|modeServer)), "the only answer is the last question's")
}

func TestMetricsOfTheClock(t *testing.T) {
	g := NewWithT(t)
	r, s, unread := prometheus.NewRegistry(), State{}, error(nil)
	NewMetrics(r, func() (State, error) { return s, unread })
	value := func(name string) float64 {
		families, err := r.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		for _, f := range families {
			if f.GetName() == name {
				return f.GetMetric()[0].GetGauge().GetValue()
			}
		}
		t.Fatal("no metric " + name)
		return 0
	}
	g.Expect(value("oooi_ntp_clock_synchronized")).To(BeZero())
	s = State{Synchronized: true, MaxError: 1500 * time.Microsecond}
	g.Expect(value("oooi_ntp_clock_synchronized")).To(BeEquivalentTo(1))
	g.Expect(value("oooi_ntp_clock_max_error_seconds")).To(Equal(0.0015))
	s, unread = State{}, errors.New("not permitted")
	g.Expect(value("oooi_ntp_clock_synchronized")).To(BeZero())
	g.Expect(value("oooi_ntp_clock_max_error_seconds")).To(BeEquivalentTo(16), "it does not look like a perfect clock")
}
