package controllers

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// TestServicesRollNoEdge: with the word loadbalancers, edges have container access, and no Service that comes or goes changes their pods.
func TestServicesRollNoEdge(t *testing.T) {
	g := NewWithT(t)
	_, plan := storyThere(t, "load-balancers", func(*gather.World) {})
	n := plan.Networks[0]
	template := func(n network.Network) string {
		return desired.Hash(desired.EdgePod(n, n.Edges[0], testOptions.Release, "x"))
	}
	before := template(n)
	for _, services := range [][]network.BalancedService{nil, {{Name: "a", Ports: []uint16{1}}}} {
		for _, here := range []bool{true, false} {
			n.Access.LoadBalancers = &network.BalancedAccess{Here: here, Services: services}
			g.Expect(template(n)).To(Equal(before))
		}
	}
	n.Access = network.Access{LoadBalancers: &network.BalancedAccess{}}
	g.Expect(template(n)).To(Equal(before), "nothing but load balancers is open")
	g.Expect(desired.EdgePod(n, n.Edges[0], testOptions.Release, "x").Spec.Containers).To(ContainElement(HaveField("Name", wire.Access)))
	n.Access = network.Access{}
	g.Expect(template(n)).NotTo(Equal(before))
	var names []string
	for _, c := range desired.EdgePod(n, n.Edges[0], testOptions.Release, "x").Spec.Containers {
		names = append(names, c.Name)
	}
	g.Expect(names).NotTo(ContainElement(wire.Access))
}

// TestAnyoneReachesLoadBalancers: the NetworkPolicy admits everyone to the ports of load balancers, and to no others. If one has ranges of
// clients, these get in.
func TestAnyoneReachesLoadBalancers(t *testing.T) {
	g := NewWithT(t)
	_, plan := storyThere(t, "load-balancers", func(*gather.World) {})
	all := plan.Networks[0].Access.Balanced()
	g.Expect(all).NotTo(BeEmpty())
	rules := desired.AccessPolicy(plan).Spec.Ingress
	g.Expect(rules).To(HaveLen(2))
	g.Expect(rules[1].From).To(BeEmpty())
	var open []uint16
	for _, p := range rules[1].Ports {
		open = append(open, uint16(p.Port.IntVal))
	}
	g.Expect(open).To(Equal(all))
	g.Expect(rules[0].From).To(HaveLen(1))

	some := netip.MustParsePrefix("192.0.2.0/24")
	plan.Networks[0].Access.LoadBalancers.Services = []network.BalancedService{
		{Name: "a", Ports: []uint16{31001}, Sources: []netip.Prefix{some}},
		{Name: "b", Ports: []uint16{31002}},
		{Name: "c", Ports: []uint16{31003}, Sources: []netip.Prefix{some}},
		{Name: "d", Ports: []uint16{31004}, Sources: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), some}},
	}
	found := map[string][]int32{}
	for _, rule := range desired.AccessPolicy(plan).Spec.Ingress[1:] {
		from := ""
		for _, p := range rule.From {
			from += *p.IPBlock.CIDR + " "
		}
		for _, p := range rule.Ports {
			found[from] = append(found[from], p.Port.IntVal)
		}
	}
	g.Expect(found).To(Equal(map[string][]int32{"": {31002}, "192.0.2.0/24 ": {31001, 31003}, "10.0.0.0/8 192.0.2.0/24 ": {31004}}))
	plan.Networks[0].Access = network.Access{LoadBalancers: &network.BalancedAccess{Here: true}}
	g.Expect(desired.AccessPolicy(plan)).To(BeNil())
}
