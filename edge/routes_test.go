package edge_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
)

// What kernels print: a pod on OVN-Kubernetes with a second interface, whose
// network is larger than the one of its plan should be.
const routeTable = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT                                                       
eth0	00000000	0102800A	0003	0	0	0	00000000	0	0	0                                                                               
eth0	0000800A	0102800A	0003	0	0	0	0000FCFF	0	0	0                                                                                
eth0	0002800A	00000000	0001	0	0	0	00FEFFFF	0	0	0                                                                               
net1	0064A8C0	00000000	0001	0	0	0	00FFFFFF	0	0	0                                                                               
net1	00001EAC	0264A8C0	0003	0	0	100	0000FFFF	0	0	0                                                                               
eth0	00001EAC	0102800A	0003	0	0	50	0000FFFF	0	0	0                                                                               
*	00001FAC	00000000	0201	0	0	0	0000FFFF	0	0	0                                                                               
`

func at(what, address string) network.ReservedDestination {
	a := netip.MustParseAddr(address)
	return network.ReservedDestination{What: what, Prefix: netip.PrefixFrom(a, a.BitLen())}
}

func TestCutOff(t *testing.T) {
	n := network.Network{Name: "clusters.vlan100", CIDR: netip.MustParsePrefix("192.168.100.0/24")}
	held := []netip.Addr{netip.MustParseAddr("192.168.100.3"), netip.MustParseAddr("203.0.113.7")}
	for name, c := range map[string]struct {
		table, address, says string
	}{
		"by the default route":     {routeTable, "172.30.0.10", ""},
		"another pod":              {routeTable, "10.128.7.7", ""},
		"inside the CIDR":          {routeTable, "192.168.100.77", "192.168.100.0/24 of network clusters.vlan100, which is on net1, holds 192.168.100.77 (the resolver) too, so that can't be reached: choose another CIDR for the network"},
		"beside the CIDR":          {routeTable, "192.168.101.77", ""},
		"held":                     {routeTable, "203.0.113.7", "network clusters.vlan100 has the edge hold 203.0.113.7 itself, so the resolver can't be reached: publish what is at 203.0.113.7 elsewhere"},
		"of two routes the better": {routeTable, "172.30.0.1", ""},
		"a route that is refused":  {routeTable, "172.31.0.1", ""},
		"a further route":          {routeTable + "net1\t00001EAC\t0264A8C0\t0003\t0\t0\t10\t0000FFFF\t0\t0\t0\n", "172.30.0.1", "the route to 172.30.0.0/16 sends what is for 172.30.0.1 (the resolver) to net1, the device of network clusters.vlan100, so that can't be reached: take the route out of the network attachment definition"},
		"a longer route":           {routeTable + "eth0\t4D64A8C0\t0102800A\t0007\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n", "192.168.100.77", ""},
		"no routes":                {"", "192.168.100.77", ""},
		"not a table":              {"hello\nnet1 x y z a b c d e\n", "192.168.100.77", ""},
		"everything by the network": {"net1\t00000000\t0264A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n", "10.96.0.10",
			"the route to 0.0.0.0/0 sends what is for 10.96.0.10 (the resolver) to net1, the device of network clusters.vlan100, so that can't be reached: take the route out of the network attachment definition"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := edge.ParseRoutes(c.table, held...).CutOff(n, "net1", at("the API server", "10.128.2.9"), at("the resolver", c.address))
			if c.table[:min(4, len(c.table))] == "net1" {
				g.Expect(err).To(MatchError(And(ContainSubstring("the API server"), ContainSubstring(c.says))), "each is named")
				return
			}
			if c.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(c.says))
		})
	}
}

// TestCutOffByARealKernel: an edge whose network swallows the Services.
func TestCutOffByARealKernel(t *testing.T) {
	g := NewWithT(t)
	vlan, pods := netns.NewSegment(t), netns.NewSegment(t)
	e := netns.New(t)
	vlan.Attach(t, e, "net1", "", "10.96.0.4/16", "203.0.113.7/32")
	pods.Attach(t, e, "eth0", "", "10.128.0.2/24")
	e.Route(t, "0.0.0.0/0", "10.128.0.1")
	n := network.Network{Name: "clusters.vlan100", CIDR: netip.MustParsePrefix("10.96.0.0/16")}
	cutOff := func(p network.ReservedDestination) (err error) {
		e.Do(t, func() {
			var r edge.Routes
			if r, err = edge.ReadRoutes("/", "net1"); err == nil {
				err = r.CutOff(n, "net1", p)
			}
		})
		return err
	}
	g.Expect(cutOff(at("the resolver", "10.96.0.10"))).To(MatchError(ContainSubstring("10.96.0.0/16 of network clusters.vlan100")))
	g.Expect(cutOff(at("the API server", "203.0.113.7"))).To(MatchError(ContainSubstring("hold 203.0.113.7 itself")))
	g.Expect(cutOff(at("a pod of kube-apiserver", "10.128.0.9"))).To(Succeed())
	g.Expect(cutOff(at("the resolver", "10.97.0.10"))).To(Succeed())
	e.Route(t, "10.97.0.0/16", "10.96.0.1")
	g.Expect(cutOff(at("the resolver", "10.97.0.10"))).To(MatchError(ContainSubstring("the route to 10.97.0.0/16")))
}
