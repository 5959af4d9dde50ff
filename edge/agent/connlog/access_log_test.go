package connlog

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/cldmnky/oooi/envoy/accesslog"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
)

// from is a connection that a VM's name was refused on.
func from(source string) accesslog.Connection {
	return accesslog.Connection{
		Source: netip.AddrPortFrom(netip.MustParseAddr(source), 40000), Address: netip.MustParseAddrPort("192.168.100.3:443"),
		ServerName: "x\"\n.example.com", Flags: "NR", Duration: 1500 * time.Millisecond,
	}
}

// TestAccessLogIsLimited: a VM that floods neither fills the log nor takes the lines of another VM, and
// what is left out is counted.
func TestAccessLogIsLimited(t *testing.T) {
	for level, want := range map[network.AccessLog]struct{ one, all int }{
		network.AccessLogFailures: {20, 100}, network.AccessLogAll: {200, 1000}, "": {20, 100},
	} {
		t.Run(string(level), func(t *testing.T) {
			g := NewWithT(t)
			var out bytes.Buffer
			a := countedAccessLog(&out, func() network.AccessLog { return level })
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			lines := func(source string) int { return strings.Count(out.String(), `"source":"`+source+`:`) }
			for range 50_000 {
				a.ended(from("192.168.100.20"), now)
			}
			a.ended(from("192.168.100.21"), now.Add(lineWindow-1))
			g.Expect(lines("192.168.100.20")).To(Equal(want.one))
			g.Expect(lines("192.168.100.21")).To(Equal(1))
			for i := range 50_000 {
				a.ended(from(netip.AddrFrom4([4]byte{192, 168, byte(i >> 8), byte(i)}).String()), now)
			}
			g.Expect(strings.Count(out.String(), "\n")).To(Equal(want.all))
			var dropped dto.Metric
			g.Expect(a.Connections.WithLabelValues("dropped").Write(&dropped)).To(Succeed())
			g.Expect(dropped.GetCounter().GetValue()).To(BeEquivalentTo(100_001 - want.all))

			a.ended(from("192.168.100.20"), now.Add(lineWindow))
			g.Expect(lines("192.168.100.20")).To(Equal(want.one + 1))
			g.Expect(out.String()).To(ContainSubstring(`"what":"connections","lines":` + jsonOf(100_001-want.all)))
		})
	}
}

// countedAccessLog is an access log that writes to out.
func countedAccessLog(out io.Writer, level func() network.AccessLog) *AccessLog {
	a := NewAccessLog(slog.New(slog.NewJSONHandler(out, nil)), level)
	a.Connections = metrics.Register(prometheus.NewRegistry(), metrics.Proxy).Counter(metrics.ProxyAccessLogConnections)
	return a
}

// TestResetsTakeNoLinesOfFailures: VMs whose programs exit by a reset do not use up the lines.
func TestResetsTakeNoLinesOfFailures(t *testing.T) {
	for level, want := range map[network.AccessLog]int{network.AccessLogFailures: 1, network.AccessLogAll: 201, "": 1, network.AccessLogNone: 0} {
		t.Run(string(level), func(t *testing.T) {
			g := NewWithT(t)
			var out bytes.Buffer
			a := countedAccessLog(&out, func() network.AccessLog { return level })
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			reset := from("192.168.100.20")
			reset.Flags, reset.Sent = "UR", 2668
			for range 200 {
				a.ended(reset, now)
			}
			a.ended(from("192.168.100.21"), now)
			g.Expect(strings.Count(out.String(), "\n")).To(Equal(want))
		})
	}
}

// TestAccessLogIsJSON: each line is one object, whatever a VM sends.
func TestAccessLogIsJSON(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	a := countedAccessLog(&out, func() network.AccessLog { return "" })
	a.Ended(from("192.168.100.20"))
	var line map[string]any
	g.Expect(json.Unmarshal(out.Bytes(), &line)).To(Succeed())
	delete(line, "time")
	g.Expect(line).To(Equal(map[string]any{
		"level": "INFO", "msg": "connection ended", "source": "192.168.100.20:40000", "address": "192.168.100.3:443", "serverName": "x\"\n.example.com",
		"backend": "", "upstream": "", "received": 0.0, "sent": 0.0, "seconds": 1.5, "flags": "NR",
	}))
}

func jsonOf(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
