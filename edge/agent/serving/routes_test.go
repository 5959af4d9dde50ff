package serving_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
)

// routes are those of a pod on OVN-Kubernetes with a second interface.
func routes(more ...device.Route) serving.Routes {
	return serving.Routes{Snapshot: device.Snapshot{
		Name:      "net1",
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.168.100.3/32"), netip.MustParsePrefix("203.0.113.7/32")},
		Routes: append([]device.Route{
			to("eth0", "0.0.0.0/0", 0), to("eth0", "10.128.0.0/14", 0), to("eth0", "10.128.2.0/23", 0),
			to("net1", "192.168.100.0/24", 0), to("net1", "172.30.0.0/16", 100), to("eth0", "172.30.0.0/16", 50),
		}, more...),
	}}
}

func to(name, prefix string, metric int) device.Route {
	return device.Route{Device: name, To: netip.MustParsePrefix(prefix), Metric: metric}
}

func at(what, address string) network.ReservedDestination {
	a := netip.MustParseAddr(address)
	return network.ReservedDestination{What: what, Prefix: network.Host(a)}
}

func TestCutOff(t *testing.T) {
	n := network.Network{Name: "clusters.vlan100", CIDR: netip.MustParsePrefix("192.168.100.0/24"), ClientNetworks: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}}
	everything := serving.Routes{Snapshot: device.Snapshot{Name: "net1", Routes: []device.Route{to("net1", "0.0.0.0/0", 0)}}}
	for name, c := range map[string]struct {
		routes        serving.Routes
		address, says string
	}{
		"through the default route": {routes(), "172.30.0.10", ""},
		"another pod":               {routes(), "10.128.7.7", ""},
		"inside the CIDR":           {routes(), "192.168.100.77", "CIDR 192.168.100.0/24 of network clusters.vlan100 on net1 contains 192.168.100.77 (the resolver), which is unreachable: choose another CIDR for the network"},
		"next to the CIDR":          {routes(), "192.168.101.77", ""},
		"edge address":              {routes(), "203.0.113.7", "network clusters.vlan100 assigns 203.0.113.7 to the edge, so the resolver is unreachable: publish the endpoint at an address other than 203.0.113.7"},
		"the lower metric wins":     {routes(), "172.30.0.1", ""},
		"a further route":           {routes(to("net1", "172.30.0.0/16", 10)), "172.30.0.1", "route 172.30.0.0/16 sends packets for 172.30.0.1 (the resolver) to net1, the device of network clusters.vlan100, so it is unreachable: remove the route from the NetworkAttachmentDefinition"},
		"a client network":          {routes(to("net1", "10.9.0.0/16", 0)), "10.9.0.10", "client network 10.9.0.0/16 of network clusters.vlan100 contains 10.9.0.10 (the resolver), which is unreachable: set annotation client-networks to smaller networks"},
		"a longer route":            {routes(to("eth0", "192.168.100.77/32", 0)), "192.168.100.77", ""},
		"no routes":                 {serving.Routes{}, "192.168.100.77", ""},
		"default route on the network": {everything, "10.96.0.10",
			"route 0.0.0.0/0 sends packets for 10.96.0.10 (the resolver) to net1, the device of network clusters.vlan100, so it is unreachable: remove the route from the NetworkAttachmentDefinition"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := c.routes.CutOff(n, "net1", at("the API server", "10.128.2.9"), at("the resolver", c.address))
			if len(c.routes.Routes) == 1 {
				g.Expect(err).To(MatchError(And(ContainSubstring("the API server"), ContainSubstring(c.says))), "the error names each destination")
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

// TestCutOffWithARealKernel: the CIDR of the network covers the Services.
func TestCutOffWithARealKernel(t *testing.T) {
	g := NewWithT(t)
	vlan, pods := netns.NewSegment(t), netns.NewSegment(t)
	e := netns.New(t)
	vlan.Attach(t, e, "net1", "", "10.96.0.4/16", "203.0.113.7/32")
	pods.Attach(t, e, "eth0", "", "10.128.0.2/24")
	e.Route(t, "0.0.0.0/0", "10.128.0.1")
	n := network.Network{Name: "clusters.vlan100", CIDR: netip.MustParsePrefix("10.96.0.0/16")}
	cutOff := func(p network.ReservedDestination) (err error) {
		e.Do(t, func() {
			var s device.Snapshot
			if s, err = device.Read("net1"); err == nil {
				err = serving.Routes{Snapshot: s}.CutOff(n, "net1", p)
			}
		})
		return err
	}
	g.Expect(cutOff(at("the resolver", "10.96.0.10"))).To(MatchError(ContainSubstring("10.96.0.0/16 of network clusters.vlan100")))
	g.Expect(cutOff(at("the API server", "203.0.113.7"))).To(MatchError(ContainSubstring("assigns 203.0.113.7 to the edge")))
	g.Expect(cutOff(at("a pod of kube-apiserver", "10.128.0.9"))).To(Succeed())
	g.Expect(cutOff(at("the resolver", "10.97.0.10"))).To(Succeed())
	e.Route(t, "10.97.0.0/16", "10.96.0.1")
	g.Expect(cutOff(at("the resolver", "10.97.0.10"))).To(MatchError(ContainSubstring("route 10.97.0.0/16")))
}
