package agent

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/source"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/access"
)

// TestAccessSockets: plain ports are on the cluster network only, and not open with accounts.
func TestAccessSockets(t *testing.T) {
	g := NewWithT(t)
	a := network.Access{Port: 3128, Destinations: []network.AccessDestination{{Name: "nodes", Port: 22, Listen: 2222}, {Name: "nodes", Port: 10250}}}
	at := func(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
	g.Expect(accessSockets(a, "eth0")).To(Equal([]accessSocket{
		{"eth0", at("0.0.0.0:3128"), 0}, {"lo", at("127.0.0.1:3128"), 0}, {"eth0", at("0.0.0.0:2222"), 2222},
	}))
	a.Accounts = []string{"backup/tool"}
	g.Expect(accessSockets(a, "eth0")).To(HaveLen(2))
	a.LoadBalancers = &network.BalancedAccess{Here: true, Services: []network.BalancedService{{Name: "a", Ports: []uint16{31080, 31443}}, {Name: "b", Ports: []uint16{31443}}}}
	g.Expect(accessSockets(a, "eth0")[2:]).To(Equal([]accessSocket{{"eth0", at("0.0.0.0:31080"), 31080}, {"eth0", at("0.0.0.0:31443"), 31443}}), "no token is asked for")
	g.Expect(accessSockets(network.Access{LoadBalancers: a.LoadBalancers}, "eth0")).To(HaveLen(2), "no port of HTTP CONNECT")
}

// TestPortsAreReported: the ports of load balancers that are open, and those for callers that are not.
func TestPortsAreReported(t *testing.T) {
	g := NewWithT(t)
	var got, closed []uint16
	a := Access{Report: func(balanced, failed []uint16) { got, closed = balanced, failed }}
	socket := func(device string, port uint16, listen uint16) accessSocket {
		return accessSocket{device, netip.AddrPortFrom(netip.IPv4Unspecified(), port), listen}
	}
	a.report([]uint16{31080, 31443, 31999}, map[accessSocket]func(){socket("eth0", 31443, 31443): nil, socket("eth0", 31080, 31080): nil, socket("eth0", 2222, 2222): nil, socket("lo", 3128, 0): nil},
		map[accessSocket]string{socket("eth0", 31999, 31999): "in use", socket("eth0", 3128, 0): "in use", socket("lo", 3128, 0): "in use"})
	g.Expect(got).To(Equal([]uint16{31080, 31443}))
	g.Expect(closed).To(Equal([]uint16{3128, 31999}), "the port on lo serves port-forwards only")
	(&Access{}).report(nil, nil, nil)
}

// TestPolicyOf: VMs have names in the domain that DHCP gives them, and in that of the cluster.
func TestPolicyOf(t *testing.T) {
	g := NewWithT(t)
	v := source.View{Cluster: network.Cluster{Domain: "Blue.example.com."}, Network: blue(), Edge: blue().Edges[1]}
	g.Expect(policyOf(v).Domains).To(Equal([]string{"blue.example.com"}))
	g.Expect(policyOf(v).Edge).To(Equal(netip.MustParseAddr("192.168.100.5")))
	v.Network.DHCP.DomainName = "vms.example.com"
	g.Expect(policyOf(v).Domains).To(Equal([]string{"vms.example.com", "blue.example.com"}))
}

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
	l.take(&l.refused, failureLines, caller(1).Addr(), time.Now().Add(lineWindow))
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
	for _, limit := range l.limits() {
		l.take(limit, allLines, pod.Addr(), time.Now().Add(lineWindow))
	}
	g.Expect(count(`"what":"tunnels of load balancers","lines":4000`)).To(Equal(1))
	g.Expect(count(`"what":"refused callers of load balancers","lines":4900`)).To(Equal(1))
}
