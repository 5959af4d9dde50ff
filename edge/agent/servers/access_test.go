package servers

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
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
	v := inforce.View{Cluster: network.Cluster{Domain: "Blue.example.com."}, Network: fakes.Blue(), Edge: fakes.Blue().Edges[1]}
	g.Expect(policyOf(v).Domains).To(Equal([]string{"blue.example.com"}))
	g.Expect(policyOf(v).Edge).To(Equal(netip.MustParseAddr("192.168.100.5")))
	v.Network.DHCP.DomainName = "vms.example.com"
	g.Expect(policyOf(v).Domains).To(Equal([]string{"vms.example.com", "blue.example.com"}))
}
