package derive_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// balancing is a Request that opens the load balancers, and these entries, of a cluster with these ones.
func balancing(all []network.LoadBalancer, entries ...network.AccessEntry) given {
	in := opening(append(entries, network.AccessEntry{Destination: network.AccessLoadBalancers})...)
	in.LoadBalancers = all
	return in
}

// web is a load balancer with these TCP ports.
func web(name string, targets ...uint16) network.LoadBalancer {
	s := network.LoadBalancer{Service: name, HostedService: "shop/" + name}
	for i, target := range targets {
		s.Ports = append(s.Ports, network.LoadBalancerPort{Protocol: "TCP", Port: uint16(80 + i), Target: target})
	}
	return s
}

// led are the Services of a plan that forward to edges, with their ports, by network.
func led(p network.Plan) map[string]map[string][]uint16 {
	out := map[string]map[string][]uint16{}
	for _, n := range p.Networks {
		if n.Access.LoadBalancers == nil {
			continue
		}
		out[n.Attachment.Name] = map[string][]uint16{}
		for _, s := range n.Access.LoadBalancers.Services {
			out[n.Attachment.Name][s.Name] = s.Ports
		}
	}
	return out
}

// TestEachLoadBalancer: a load balancer that cannot forward to edges has a problem that names it. The others forward to edges.
func TestEachLoadBalancer(t *testing.T) {
	udp := web("udp", 31053)
	udp.Ports[0].Protocol = "UDP"
	both := web("both", 31080)
	both.Ports = append(both.Ports, network.LoadBalancerPort{Protocol: "UDP", Port: 443, Target: 31443})
	six, dual, foreign := web("six", 31080), web("dual", 31080), web("foreign", 31080)
	six.NoIPv4, six.IPv6, dual.IPv6, foreign.Leads = true, true, true, network.LeadsElsewhere
	hidden := web("hidden", 31080)
	hidden.SourcesHidden = true
	unallocated, reserved := web("a", 10250, 31080), web("a", 22) // The API server defaults targetPort 0 to the port.
	unallocated.Ports[0].Port, reserved.Ports[0].Port = 10250, 22
	passthrough := network.LoadBalancer{Service: "default-ingress-passthrough-service-x", Ports: []network.LoadBalancerPort{{Protocol: "TCP", Port: 443, Target: 31443}}}
	for what, c := range map[string]struct {
		all     []network.LoadBalancer
		entries []network.AccessEntry
		want    map[string][]uint16
		cause   problem.Cause
		says    string
	}{
		"none":                               {},
		"TCP":                                {all: []network.LoadBalancer{web("a", 31080, 31443)}, want: map[string][]uint16{"a": {31080, 31443}}},
		"UDP":                                {all: []network.LoadBalancer{udp}, cause: problem.LoadBalancerNotTCP, says: "udp (shop/udp in the hosted cluster)"},
		"TCP and UDP":                        {all: []network.LoadBalancer{both}, want: map[string][]uint16{"both": {31080}}, cause: problem.LoadBalancerNotTCP, says: "UDP ports 443"},
		"no node port":                       {all: []network.LoadBalancer{web("a", 0)}, cause: problem.LoadBalancerPortInvalid, says: "Port 80 of Service a (shop/a in the hosted cluster) has no node port from 30000 to 32767"},
		"the kubelet's port":                 {all: []network.LoadBalancer{unallocated}, want: map[string][]uint16{"a": {31080}}, cause: problem.LoadBalancerPortInvalid, says: "Port 10250 of Service a"},
		"the port of ssh":                    {all: []network.LoadBalancer{reserved}, cause: problem.LoadBalancerPortInvalid, says: "Port 22 of Service a"},
		"the first node port, and the last":  {all: []network.LoadBalancer{web("a", 30000, 32767)}, want: map[string][]uint16{"a": {30000, 32767}}},
		"before the first, behind the last":  {all: []network.LoadBalancer{web("a", 29999, 32768, 31080)}, want: map[string][]uint16{"a": {31080}}, cause: problem.LoadBalancerPortInvalid, says: "Port 81"},
		"a port of edges":                    {all: []network.LoadBalancer{web("a", 9753, 31080)}, want: map[string][]uint16{"a": {31080}}, cause: problem.LoadBalancerPortInvalid, says: "Port 80"},
		"a port of an entry":                 {all: []network.LoadBalancer{web("a", 31080)}, entries: []network.AccessEntry{to("nodes", 22, 31080)}, cause: problem.LoadBalancerPortInUse, says: "31080=nodes:22"},
		"a port of another one":              {all: []network.LoadBalancer{web("b", 31080), web("a", 31080)}, want: map[string][]uint16{"a": {31080}}, cause: problem.LoadBalancerPortShared, says: "b (shop/b"},
		"two of one guest Service":           {all: []network.LoadBalancer{{Service: "a", HostedService: "x/y", Ports: web("", 31080).Ports}, {Service: "b", HostedService: "x/y", Ports: web("", 31080).Ports}}, want: map[string][]uint16{"a": {31080}, "b": {31080}}},
		"IPv6 only":                          {all: []network.LoadBalancer{six}, cause: problem.LoadBalancerOnlyIPv6, says: "IPv6 addresses only"},
		"ranges of clients that are hidden":  {all: []network.LoadBalancer{hidden}, cause: problem.LoadBalancerSourcesHidden, says: "externalTrafficPolicy: Local"},
		"IPv4 and IPv6":                      {all: []network.LoadBalancer{dual}, want: map[string][]uint16{"dual": {31080}}, cause: problem.LoadBalancerIPv6},
		"a selector of others":               {all: []network.LoadBalancer{foreign}, cause: problem.LoadBalancerOfOthers},
		"the ingress":                        {all: []network.LoadBalancer{passthrough}, entries: []network.AccessEntry{to("apps", 443, 0)}, want: map[string][]uint16{passthrough.Service: {31443}}},
		"the ingress, without the word apps": {all: []network.LoadBalancer{passthrough}, cause: problem.IngressLoadBalancerToAdd},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			in := balancing(append([]network.LoadBalancer{web("zzz", 32000)}, c.all...), c.entries...)
			plan, problems := derived(in)
			g.Expect(plan.Validate()).To(Succeed())
			g.Expect(problems.Blocking()).To(BeFalse())
			want := map[string][]uint16{"zzz": {32000}}
			for name, ports := range c.want {
				want[name] = ports
			}
			g.Expect(led(plan)).To(Equal(map[string]map[string][]uint16{"vlan": want}))
			g.Expect(said(problems)).To(And(ContainSubstring("Anyone who reaches a load balancer"), ContainSubstring("management-access-accounts do not apply")))
			if c.cause != "" {
				g.Expect(problems).To(ContainElement(HaveField("Cause", c.cause)))
				g.Expect(said(problems)).To(ContainSubstring(c.says))
			}
			again, _ := after(in, plan)
			g.Expect(again).To(Equal(plan))
		})
	}
}

// TestLoadBalancersTooMany: a problem names the limit that leaves Services out, and these Services.
func TestLoadBalancersTooMany(t *testing.T) {
	g := NewWithT(t)
	several := func(name string, services, ports int, first uint16) (out []network.LoadBalancer) {
		for i := range services {
			targets := make([]uint16, ports)
			for j := range targets {
				targets[j] = first + uint16(i*ports+j)
			}
			out = append(out, web(fmt.Sprintf("%s%03d", name, i+1), targets...))
		}
		return out
	}
	left := func(all ...network.LoadBalancer) (services int, limits []string) {
		plan, problems := derived(balancing(all))
		g.Expect(plan.Validate()).To(Succeed())
		for _, p := range problems {
			if p.Cause == problem.LoadBalancersTooMany {
				limits = append(limits, p.Args["services"].String()+": "+p.Args["most"].String())
			}
		}
		return len(led(plan)["vlan"]), limits
	}
	services, limits := left(several("a", 256, 2, 30000)...)
	g.Expect(services).To(Equal(256))
	g.Expect(limits).To(BeEmpty())
	services, limits = left(several("a", 257, 1, 30000)...)
	g.Expect(services).To(Equal(256))
	g.Expect(limits).To(ConsistOf("shop/a257: 256 Services"))
	services, limits = left(append(several("a", 3, 200, 30000), web("b", 32000))...)
	g.Expect(services).To(Equal(3), "a smaller one fits")
	g.Expect(limits).To(ConsistOf("shop/a003: 512 node ports"))
	_, limits = left(slices.Concat(several("a", 1, 200, 30000), several("b", 1, 400, 31000), several("c", 300, 1, 32000))...)
	g.Expect(limits).To(ConsistOf("shop/b001: 512 node ports", MatchRegexp(`^shop/c256, .*, 33 more: 256 Services$`)))
	_, problems := derived(balancing(several("a", 257, 1, 30000)))
	g.Expect(said(problems)).To(And(ContainSubstring("(shop/a257) do not forward to edges, because the limit for all load balancers together is 256 Services"), Not(ContainSubstring("0 more"))))
}

// TestLoadBalancerSources: the plan contains the source ranges of each load balancer.
func TestLoadBalancerSources(t *testing.T) {
	g := NewWithT(t)
	restricted, ranges := web("b", 31443), []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	restricted.Sources = ranges
	plan, _ := derived(balancing([]network.LoadBalancer{web("a", 31080), restricted}))
	g.Expect(plan.Networks[0].Access.LoadBalancers.Services).To(HaveExactElements(HaveField("Sources", BeEmpty()), HaveField("Sources", ranges)))
}

// TestLoadBalancersOpenNothingElse: the entry loadbalancers opens neither HTTP CONNECT nor a Service, with or without accounts. Edges run
// the access proxy even without load balancers.
func TestLoadBalancersOpenNothingElse(t *testing.T) {
	g := NewWithT(t)
	in := balancing(nil)
	in.Access.Accounts, in.Access.Namespaces = []string{"a/b"}, []string{"a"}
	plan, _ := derived(in)
	a := plan.Networks[0].Access
	g.Expect(plan.Validate()).To(Succeed())
	g.Expect(opensAccess(plan)).To(BeFalse())
	g.Expect(a.Port).To(BeZero())
	g.Expect(a.HasProxy()).To(BeTrue())
	g.Expect(a.Balanced()).To(BeEmpty())
	in.Networks[0].Settings.Services = []network.Service{network.ServiceDNS}
	plan, problems := derived(in)
	g.Expect(plan.Networks[0].Access.HasProxy()).To(BeFalse())
	g.Expect(accessCauses(problems)).To(Equal([]problem.Cause{problem.AccessNeedsLeases}))
	in = opening(to("nodes", 22, 0))
	in.LoadBalancers = []network.LoadBalancer{web("a", 31080)}
	plan, _ = derived(in)
	g.Expect(plan.Networks[0].Access.LoadBalancers).To(BeNil())
}

// TestLoadBalancersStay: load balancers do not move to a network without VMs. They move if only another network has VMs.
func TestLoadBalancersStay(t *testing.T) {
	g := NewWithT(t)
	here := func(p network.Plan) string {
		for _, n := range p.Networks {
			if b := n.Access.LoadBalancers; b != nil && b.Here {
				return n.Attachment.Name
			}
		}
		return ""
	}
	in := balancing([]network.LoadBalancer{web("a", 31080)})
	first, _ := derived(in)
	g.Expect(here(first)).To(Equal("vlan"))
	in.Networks = append(in.Networks, onVLAN("a-new", "10.2.0.0/24", "cidr"))
	both, _ := after(in, first)
	g.Expect(here(both)).To(Equal("vlan"), "a new network comes first by its name")
	for _, n := range both.Networks {
		g.Expect(n.Access.HasProxy()).To(BeTrue(), "edges of both have the container")
	}
	in.InUse = []string{"a.vlan"}
	again, _ := derived(in)
	g.Expect(here(again)).To(Equal("vlan"), "also if nothing is known of before")
	in.InUse = []string{"a.a-new"}
	moved, _ := after(in, both)
	g.Expect(here(moved)).To(Equal("a-new"), "VMs are on the new one only")
	in.InUse = []string{"a.vlan", "a.a-new"}
	back, _ := after(in, moved)
	g.Expect(here(back)).To(Equal("a-new"), "it does not flip")
	in.InUse = nil
	empty, _ := after(in, moved)
	g.Expect(here(empty)).To(Equal("a-new"))
}

// TestIngressOfLedServices: edges find the VMs of the ingress by DHCP leases while the EndpointSlices of its Service contain edges, and
// until HyperShift has written the VMs there again.
func TestIngressOfLedServices(t *testing.T) {
	g := NewWithT(t)
	router := ingress(443, network.Backend{Name: "router:443", Service: "router", Port: 443, TargetPort: 30443})
	s := web("router", 30443)
	in := balancing([]network.LoadBalancer{s}, to("apps", 443, 0))
	in.Endpoints = []network.Endpoint{router}
	byLease := func(p network.Plan) bool {
		g.Expect(p.Networks[0].Backends).To(HaveLen(1))
		return p.Networks[0].Backends[0].ByLease
	}
	open, _ := derived(in)
	g.Expect(byLease(open)).To(BeTrue())

	// HyperShift makes the Service again.
	in.LoadBalancers, in.Endpoints, in.Waiting = nil, nil, []string{"apps"}
	gone, _ := after(in, open)
	g.Expect(gone.Networks[0].Access).To(Equal(open.Networks[0].Access), "edges stay behind it")
	g.Expect(byLease(gone)).To(BeTrue())
	in.Waiting = nil
	ended, _ := after(in, gone)
	g.Expect(ended.Networks[0].Access.Balanced()).To(BeEmpty())

	closed := opening()
	closed.Endpoints = []network.Endpoint{router}
	s.Leads = network.LeadsToEdges
	closed.LoadBalancers = []network.LoadBalancer{s}
	plan, _ := after(closed, open)
	g.Expect(byLease(plan)).To(BeTrue(), "it is not given back yet")
	s.Leads = network.LeadsToVMs
	closed.LoadBalancers = []network.LoadBalancer{s}
	plan, _ = after(closed, plan)
	g.Expect(byLease(plan)).To(BeTrue(), "it has no endpoints")
	s.Endpoints = true
	closed.LoadBalancers = []network.LoadBalancer{s}
	plan, _ = after(closed, plan)
	g.Expect(byLease(plan)).To(BeFalse())
	plan, _ = derived(closed)
	g.Expect(byLease(plan)).To(BeFalse())
}

// TestLoadBalancersToNoRoute: without the entry loadbalancers, a hint names load balancers, unless there may be a route to the VMs.
func TestLoadBalancersToNoRoute(t *testing.T) {
	g := NewWithT(t)
	hints := func(change func(*given)) problem.Problems {
		in := opening()
		in.LoadBalancers = []network.LoadBalancer{web("b", 31080), web("a", 31081)}
		change(&in)
		_, problems := derived(in)
		var out problem.Problems
		for _, p := range problems {
			if p.Reason == problem.LoadBalancersUnreachable {
				out = append(out, p)
			}
		}
		return out
	}
	g.Expect(said(hints(func(*given) {}))).To(ContainSubstring("(shop/a, shop/b) forward"))
	g.Expect(hints(func(in *given) { in.Networks[0].Gateway = netip.MustParseAddr("10.1.0.1") })).To(BeEmpty())
	g.Expect(hints(func(in *given) { in.Networks[0].Primary = false })).To(BeEmpty())
	g.Expect(hints(func(in *given) { in.LoadBalancers = nil })).To(BeEmpty())
	g.Expect(said(hints(func(in *given) { in.LoadBalancers[0].Addresses = addrs("10.1.0.40") }))).To(ContainSubstring("(shop/a) forward"))
	g.Expect(hints(func(in *given) { in.Access.Entries = []network.AccessEntry{{Destination: network.AccessLoadBalancers}} })).To(BeEmpty())
}
