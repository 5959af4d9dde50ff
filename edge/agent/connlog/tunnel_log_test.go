package connlog

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/access"
	"github.com/cldmnky/oooi/network"
)

// TestTunnelLogIsLimited: a caller that floods neither fills the log nor takes the lines of another one. What is left out is counted, and
// probes of ports take no line.
func TestTunnelLogIsLimited(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	l := NewTunnelLog(slog.New(slog.NewJSONHandler(&out, nil)))
	caller := func(last byte) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 128, 0, last}), 40000)
	}
	refused := func(last byte, why access.Reason) {
		l.Refused(access.Refused{Caller: caller(last), Asked: "worker-1:23", Refusal: &access.Refusal{Status: 403, Why: why}})
	}
	for range 5000 {
		refused(1, access.NotOpen)
		refused(3, access.Abandoned)
		l.Ended(access.Tunnel{Caller: caller(1), Account: "backup/tool", Asked: "worker-1:22", Took: time.Second, End: access.Closed})
	}
	refused(2, access.NotOpen)
	l.Ended(access.Tunnel{Caller: caller(2), Listen: 2222, End: access.Closed})
	count := func(text string) int { return strings.Count(out.String(), text) }
	g.Expect(count(`"msg":"caller refused","caller":"10.128.0.1:40000","asked":"worker-1:23","status":403`)).To(Equal(20))
	g.Expect(count(`"msg":"caller refused","caller":"10.128.0.2:`)).To(Equal(1))
	g.Expect(count(`"caller":"10.128.0.3:`)).To(BeZero())
	g.Expect(count(`"msg":"tunnel ended","caller":"10.128.0.1:40000","account":"backup/tool"`)).To(Equal(200))
	g.Expect(count(`"msg":"tunnel ended","caller":"10.128.0.2:40000","port":2222`)).To(Equal(1))
	l.refused.take(caller(1).Addr(), failureLines, time.Now().Add(lineWindow))
	g.Expect(out.String()).To(ContainSubstring(`"what":"refused callers","lines":4980`))
}

// TestLoadBalancersHideNoTunnel: connections through load balancers, ended or refused, take no line of pods of the management cluster.
func TestLoadBalancersHideNoTunnel(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	l := NewTunnelLog(slog.New(slog.NewJSONHandler(&out, nil)))
	client := func(i int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}), 40000)
	}
	for i := range 5000 {
		l.Ended(access.Tunnel{Caller: client(i), Listen: 30443, Target: access.Target{Name: network.AccessLoadBalancers, Port: 30443}, End: access.Closed})
		l.Refused(access.Refused{Caller: client(i), Listen: 30443, LoadBalancer: true, Refusal: &access.Refusal{Why: access.ShareLimit}})
	}
	pod := netip.MustParseAddrPort("10.128.0.9:40000")
	l.Ended(access.Tunnel{Caller: pod, Account: "backup/tool", Asked: "worker-1:22", Target: access.Target{Name: "nodes", Port: 22}, End: access.Closed})
	l.Refused(access.Refused{Caller: pod, Account: "backup/other", Refusal: &access.Refusal{Status: 403, Why: access.AccountRefused}})
	count := func(text string) int { return strings.Count(out.String(), text) }
	g.Expect(count(`"msg":"tunnel ended","caller":"203.0.113.`)).To(Equal(1000))
	g.Expect(count(`"msg":"caller refused","caller":"203.0.113.`)).To(Equal(100))
	g.Expect(count(`"msg":"tunnel ended","caller":"10.128.0.9:40000","account":"backup/tool"`)).To(Equal(1))
	g.Expect(count(`"msg":"caller refused","caller":"10.128.0.9:40000","account":"backup/other"`)).To(Equal(1))
	for _, limit := range []*lineLimit{&l.balancedEnded, &l.balancedRefused} {
		limit.turn(time.Now().Add(lineWindow))
	}
	g.Expect(count(`"what":"tunnels of load balancers","lines":4000`)).To(Equal(1))
	g.Expect(count(`"what":"refused callers of load balancers","lines":4900`)).To(Equal(1))
}
