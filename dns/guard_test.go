package dns

import (
	"log/slog"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
	"github.com/cldmnky/oooi/test/programs"
)

func panics(t *testing.T, h *Handler) float64 {
	var m dto.Metric
	NewWithT(t).Expect(h.metrics.Counter(metrics.DNSPanics).WithLabelValues().Write(&m)).To(Succeed())
	return m.GetCounter().GetValue()
}

// TestPanics: a panic in one query ends neither the process nor other queries. It is counted, and only some panics are logged. The client
// gets SERVFAIL, and the query releases all that it held.
func TestPanics(t *testing.T) {
	for name, transport := range map[string]string{"by UDP": "udp", "by TCP": "tcp"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			up := newResolver(t, "192.0.2.1", false)
			up.pause = make(chan struct{})
			var inExchange, inFlight atomic.Bool
			o, log := resolving(up.at), &programs.Output{}
			o.Log = slog.New(slog.NewTextHandler(log, nil))
			o.Dialer.Control = func(string, string, syscall.RawConn) error {
				if inExchange.Load() {
					panic("injected")
				}
				return nil
			}
			h, at := served(t, local(network.UpstreamManagement), o)
			f := h.serving.Load().forwarder
			f.mu.Lock()
			f.now = func() time.Time {
				if inFlight.Load() {
					panic("injected")
				}
				return time.Now()
			}
			f.mu.Unlock()
			inExchange.Store(true)
			g.Expect(exchange(t, at, transport, "www.example.org.").Rcode).To(Equal(dns.RcodeServerFailure))
			inExchange.Store(false)
			first := panics(t, h)
			g.Expect(first).To(BeNumerically(">=", 1))
			g.Expect(log.Count("panic while answering a query")).To(Equal(1))

			answered := make(chan *dns.Msg, 1)
			go func() { answered <- exchange(t, at, transport, "www2.example.org.") }()
			g.Eventually(func() int { return len(up.others()) }).Should(BeNumerically(">=", 1))
			inFlight.Store(true)
			close(up.pause)
			g.Expect((<-answered).Rcode).To(Equal(dns.RcodeServerFailure))
			inFlight.Store(false)
			g.Expect(panics(t, h)).To(BeNumerically(">", first))
			g.Eventually(func() int {
				f.mu.Lock()
				defer f.mu.Unlock()
				return f.waiting.Used() + f.large.Used() + len(f.flights)
			}).Should(BeZero())
			g.Expect(exchange(t, at, transport, "www3.example.org.").Answer).To(HaveLen(1))
		})
	}
}
