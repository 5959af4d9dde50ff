package reported_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// TestEdgesReachNoEndpoint: what nodes need is waited for if no edge that serves reaches it. Else each edge is impaired.
func TestEdgesReachNoEndpoint(t *testing.T) {
	n := vlan100()
	n.Primary, n.Backends = true, []network.Backend{
		{Name: "kube-apiserver:6443", Service: network.APIService, Port: 6443}, {Name: "oauth-openshift:6443", Service: network.OAuthService, Port: 6443}}
	one := reported.EdgeReport{Edge: 1, DarkBackends: []string{"kube-apiserver:6443", "oauth-openshift:6443", "former:1"}}
	two := reported.EdgeReport{Edge: 2, DarkBackends: []string{"kube-apiserver:6443"}}
	causes := func(serving int, all ...reported.EdgeReport) (out []string) {
		for _, p := range reported.EdgesReachNoEndpoint(n, serving, all) {
			out = append(out, string(p.Severity)+" "+string(p.Cause)+" "+p.Args["service"].String()+p.Args["edge"].String()+p.Args["backends"].String())
		}
		return out
	}
	g := NewWithT(t)
	g.Expect(causes(2, one, two)).To(Equal([]string{"Waiting NoEdgeReachesEndpoint kube-apiserver", "Warning EdgeReachesNoEndpoint 1oauth-openshift:6443"}))
	g.Expect(causes(2, one)).To(Equal([]string{"Warning EdgeReachesNoEndpoint 1kube-apiserver:6443, oauth-openshift:6443"}), "edge 2 has not reported")
	g.Expect(causes(2, one, reported.EdgeReport{Edge: 2})).To(HaveExactElements(HavePrefix("Warning")), "edge 2 reaches it")
	slow := two
	slow.Level = reported.LevelReaches
	g.Expect(causes(2, one, slow)).To(HaveEach(HavePrefix("Warning")), "edge 2 reaches the API server, which is too slow for health checks")
	g.Expect(causes(0)).To(BeEmpty())
	n.Primary = false
	g.Expect(causes(2, one, two)).To(HaveEach(HavePrefix("Warning")), "no VM boots from it")
}

// TestProxyARP: a host that answers for all addresses has none of them. Another cluster's
// edge, which has three of them, is a conflict.
func TestProxyARP(t *testing.T) {
	const router, edge = "02:00:00:00:00:01", "02:00:00:00:00:02"
	n := vlan100()
	answers := func(mac string, all ...netip.Addr) []reported.UsedAddress {
		var out []reported.UsedAddress
		for _, a := range all {
			out = append(out, reported.UsedAddress{Address: a, MAC: mac})
		}
		return out
	}
	ours := []netip.Addr{n.NextHopVIP, n.ServiceVIP, n.Edges[0].Address}
	proxied := answers(router, slices.Concat(ours, reported.Controls(n))...)

	t.Run("keeps nothing waiting, and is told of", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(reported.ConflictingWith(n, proxied)).To(BeEmpty())
		ps := reported.InUseByOthers(n, proxied)
		g.Expect(ps).To(HaveExactElements(And(HaveField("Reason", problem.AddressInUse), HaveField("Blocks()", false), WithTransform(message, ContainSubstring("Router "+router+" uses proxy ARP")))))
	})
	t.Run("and one is in use", func(t *testing.T) {
		g := NewWithT(t)
		both := append(slices.Clone(proxied), answers(edge, n.NextHopVIP)...)
		g.Expect(reported.ConflictingWith(n, both)).To(Equal(answers(edge, n.NextHopVIP)))
		g.Expect(reported.InUseByOthers(n, both).Blocking()).To(BeTrue())
	})
	t.Run("another cluster's edge", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(reported.ConflictingWith(n, answers(edge, ours...))).To(HaveLen(3))
		g.Expect(reported.InUseByOthers(n, answers(edge, ours...)).Blocking()).To(BeTrue())
	})
	t.Run("a host with one more address", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(reported.ConflictingWith(n, answers(edge, slices.Concat(ours, reported.Controls(n)[1:])...))).To(HaveLen(3))
	})
	t.Run("addresses that running VMs have are not checked", func(t *testing.T) {
		NewWithT(t).Expect(reported.InUseByOthers(n, answers(edge, reported.Controls(n)[1:]...))).To(BeEmpty())
	})
}

// TestControls: they are distinct host addresses in the CIDR, and no edge's.
func TestControls(t *testing.T) {
	for _, cidr := range []string{"192.168.100.0/24", "192.168.100.0/28", "192.168.100.0/29", "192.168.100.4/30", "192.168.100.4/31", "192.168.100.4/32", "10.0.0.0/8", "0.0.0.0/0"} {
		g := NewWithT(t)
		n := vlan100()
		n.CIDR = netip.MustParsePrefix(cidr)
		seen := map[netip.Addr]bool{n.NextHopVIP: true, n.ServiceVIP: true, n.Edges[0].Address: true, n.CIDR.Addr(): true, netip.MustParseAddr("192.168.100.255"): true}
		for _, a := range reported.Controls(n) {
			g.Expect(n.CIDR.Contains(a)).To(BeTrue(), cidr)
			g.Expect(seen[a]).To(BeFalse(), "%s of %s", a, cidr)
			seen[a] = true
		}
		if n.CIDR.Bits() <= 28 {
			g.Expect(reported.Controls(n)).To(HaveLen(3), cidr)
		}
	}
}

// TestEdgesOpenNoPort: ports that an edge cannot open are named, if the plan still has them.
func TestEdgesOpenNoPort(t *testing.T) {
	g := NewWithT(t)
	n := network.Network{Name: "clusters.vlan100", Access: network.Access{
		Port: network.AccessPort, Destinations: []network.AccessDestination{{Name: "nodes", Port: 22, Listen: 2222}},
		LoadBalancers: &network.BalancedAccess{Here: true, Services: []network.BalancedService{{Name: "a", Ports: []uint16{31080, 31443}}}},
	}}
	ps := reported.EdgesOpenNoPort(n, []reported.EdgeReport{{Edge: 1, ClosedPorts: []uint16{2222, 3128, 31443, 31999}}, {Edge: 2, ClosedPorts: []uint16{31999}}})
	g.Expect(ps).To(HaveExactElements(HaveField("Cause", problem.EdgeOpensNoPort)))
	g.Expect(ps[0].Args).To(And(HaveKeyWithValue("edge", HaveExactElements("1")), HaveKeyWithValue("ports", HaveExactElements("2222", "3128", "31443"))))
	var read reported.EdgeReport
	g.Expect(json.Unmarshal(reported.EdgeReport{ClosedPorts: []uint16{9, 8, 7, 6, 5, 4, 3, 2, 1, 1}}.JSON(), &read)).To(Succeed())
	g.Expect(read.ClosedPorts).To(Equal([]uint16{1, 2, 3, 4, 5, 6, 7, 8}))
}
