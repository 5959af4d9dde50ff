package derive_test

import (
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// opening is a Request for one network, 10.1.0.0/24, that opens entries.
func opening(entries ...network.AccessEntry) given {
	in := asking(2, onVLAN("vlan", "10.1.0.0/24", "cidr"))
	in.Cluster.ControlPlaneNamespace = "clusters-blue"
	in.Access = network.AccessRequest{Entries: entries, Apps: network.Record{Name: "*.apps.blue.example.com"}}
	return in
}

// to is an entry of annotation management-access with the addresses that package hcp finds for it.
func to(destination string, port, listen uint16, addresses ...string) network.AccessEntry {
	e := network.AccessEntry{Destination: destination, Port: port, Listen: listen}
	for _, a := range addresses {
		e.Addresses = append(e.Addresses, netip.MustParseAddr(a))
	}
	return e
}

// ingress is the endpoint of *.apps at VMs.
func ingress(port uint16, b network.Backend) network.Endpoint {
	e := named("apps", "*.Apps.blue.example.com.", port, network.MatchServerName)
	e.Origin, e.Backend = network.OriginApps, b
	e.Backend.Kind = network.BackendVMs
	return e
}

// addrs are addresses in their order.
func addrs(all ...string) []netip.Addr { return to("", 0, 0, all...).Addresses }

// said is the text of problems.
func said(problems problem.Problems) string {
	var out []string
	for _, p := range problems {
		out = append(out, message(p))
	}
	return strings.Join(out, "\n")
}

// accessCauses are the causes of the problems about access, without what is open.
func accessCauses(problems problem.Problems) []problem.Cause {
	var out []problem.Cause
	for _, p := range problems {
		if p.Reason == problem.AccessRefused {
			out = append(out, p.Cause)
		}
	}
	return out
}

// TestEachEntryOfAccess: an entry is open at a host of a network, or has a problem that says why not. Another entry stays.
func TestEachEntryOfAccess(t *testing.T) {
	router := network.Backend{Name: "router:443", Service: "router", Port: 443, TargetPort: 30443}
	for what, c := range map[string]struct {
		entry  network.AccessEntry
		change func(*given)
		want   network.AccessDestination
		cause  problem.Cause
	}{
		"VMs":             {entry: to("nodes", 10250, 0), want: network.AccessDestination{Name: "nodes", Port: 10250}},
		"VMs, a port":     {entry: to("nodes", 10250, 250), want: network.AccessDestination{Name: "nodes", Port: 10250, Listen: 250}},
		"an address":      {entry: to("10.1.0.20", 22, 0, "10.1.0.20"), want: network.AccessDestination{Name: "10.1.0.20", Port: 22, Addresses: addrs("10.1.0.20")}},
		"a record":        {entry: to("db", 22, 0, "10.1.0.21", "10.1.0.20", "198.51.100.7"), want: network.AccessDestination{Name: "db", Port: 22, Addresses: addrs("10.1.0.20", "10.1.0.21")}},
		"a router":        {entry: to("10.1.0.1", 22, 0, "10.1.0.1"), change: func(in *given) { in.Networks[0].Gateway = netip.MustParseAddr("10.1.0.1") }, want: network.AccessDestination{Name: "10.1.0.1", Port: 22, Addresses: addrs("10.1.0.1")}},
		"no record":       {entry: to("db", 22, 0), cause: problem.AccessNameUnknown},
		"outside":         {entry: to("10.2.0.20", 22, 0, "10.2.0.20"), cause: problem.AccessOutsideNetworks},
		"a metadata host": {entry: to("169.254.169.254", 80, 0, "169.254.169.254"), cause: problem.AccessOutsideNetworks},
		"loopback":        {entry: to("db", 80, 0, "127.0.0.1"), cause: problem.AccessOutsideNetworks},
		"next-hop VIP":    {entry: to("10.1.0.2", 22, 0, "10.1.0.2"), cause: problem.AccessToEdge},
		"service VIP":     {entry: to("10.1.0.3", 53, 0, "10.1.0.3"), cause: problem.AccessToEdge},
		"an edge":         {entry: to("10.1.0.4", 22, 0, "10.1.0.4"), cause: problem.AccessToEdge},
		"the second edge": {entry: to("10.1.0.5", 22, 0, "10.1.0.5"), cause: problem.AccessToEdge},
		"published": {entry: to("db", 6443, 0, "203.0.113.7"), change: func(in *given) {
			in.Endpoints = []network.Endpoint{{Name: "kube-apiserver", Addresses: addrs("203.0.113.7"), Port: 6443, Match: network.MatchAny, Backend: network.Backend{Name: "a:1", Service: "a", Port: 1}}}
		}, cause: problem.AccessToEdge},
		"the network":      {entry: to("10.1.0.0", 22, 0, "10.1.0.0"), cause: problem.AccessToNoHost},
		"broadcast":        {entry: to("10.1.0.255", 22, 0, "10.1.0.255"), cause: problem.AccessToNoHost},
		"CONNECT":          {entry: to("nodes", 22, 3128), cause: problem.AccessPortInUse},
		"metrics":          {entry: to("nodes", 22, 9753), cause: problem.AccessPortInUse},
		"a port, a token":  {entry: to("nodes", 22, 22), change: func(in *given) { in.Access.Accounts = []string{"a/b"} }, cause: problem.AccessPortWithoutToken},
		"one port twice":   {entry: to("nodes", 22, 22), change: func(in *given) { in.Access.Entries = append(in.Access.Entries, to("10.1.0.20", 80, 22, "10.1.0.20")) }, cause: problem.AccessPortRepeated},
		"no leases":        {entry: to("nodes", 22, 0), change: func(in *given) { in.Networks[0].Settings.Services = []network.Service{network.ServiceDNS} }, cause: problem.AccessNeedsLeases},
		"no VM boots here": {entry: to("nodes", 22, 0), change: func(in *given) { in.Networks[0].Primary = false }, cause: problem.AccessNoNetwork},
		"no ingress":       {entry: to("apps", 443, 0), cause: problem.AccessIngressUnknown},
		"no domain":        {entry: to("apps", 443, 0), change: func(in *given) { in.Access.Apps = network.Record{} }, cause: problem.AccessIngressUnknown},
		"another port": {entry: to("apps", 80, 0), change: func(in *given) { in.Endpoints = []network.Endpoint{ingress(443, router)} },
			cause: problem.AccessIngressUnknown},
		"the ingress at pods": {entry: to("apps", 443, 0), change: func(in *given) {
			e := ingress(443, router)
			e.Backend.Kind = network.BackendPods
			in.Endpoints = []network.Endpoint{e}
		}, cause: problem.AccessIngressUnknown},
		"the ingress at node ports": {entry: to("apps", 443, 0), change: func(in *given) { in.Endpoints = []network.Endpoint{ingress(443, router)} },
			want: network.AccessDestination{Name: "apps", Port: 443, Names: []string{"*.apps.blue.example.com"}, TargetPort: 30443}},
		"the ingress at host ports": {entry: to("apps", 443, 0), change: func(in *given) {
			in.Endpoints = []network.Endpoint{ingress(443, network.Backend{Name: "vms:8443", Port: 8443})}
		}, want: network.AccessDestination{Name: "apps", Port: 443, Names: []string{"*.apps.blue.example.com"}, TargetPort: 8443}},
		"the ingress at its load balancer": {entry: to("apps", 443, 0), change: func(in *given) {
			e := ingress(443, router)
			e.LoadBalancer = netip.MustParseAddr("10.1.0.30")
			in.Endpoints = []network.Endpoint{e}
		}, want: network.AccessDestination{Name: "apps", Port: 443, Names: []string{"*.apps.blue.example.com"}, Addresses: addrs("10.1.0.30")}},
		"the ingress at the user's address": {entry: to("apps", 443, 0), change: func(in *given) { in.Access.Apps.Addresses = addrs("10.1.0.31") },
			want: network.AccessDestination{Name: "apps", Port: 443, Names: []string{"*.apps.blue.example.com"}, Addresses: addrs("10.1.0.31")}},
		"the ingress behind the gateway": {entry: to("apps", 443, 0), change: func(in *given) { in.Access.Apps.Addresses = addrs("198.51.100.8") },
			cause: problem.AccessOutsideNetworks},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			stays := to("10.1.0.99", 99, 0, "10.1.0.99")
			in := opening(stays, c.entry)
			if c.change != nil {
				c.change(&in)
			}
			plan, problems := derived(in)
			g.Expect(plan.Validate()).To(Succeed())
			g.Expect(problems.Blocking()).To(BeFalse())
			want := []network.AccessDestination{{Name: "10.1.0.99", Port: 99, Addresses: addrs("10.1.0.99")}}
			if c.cause == "" {
				g.Expect(accessCauses(problems)).To(BeEmpty())
				want = append(want, c.want)
			} else {
				g.Expect(accessCauses(problems)).To(ContainElement(c.cause))
				g.Expect(said(problems)).To(ContainSubstring(c.entry.String()), "the problem names the entry")
			}
			g.Expect(plan.Networks[0].Access.Destinations).To(ConsistOf(want))
			g.Expect(plan.Networks[0].DHCP.Named).To(Or(BeEmpty(), ContainElement(netip.MustParseAddr("10.1.0.99"))), "no new VM gets an address that is open")
		})
	}
}

// TestAccessOfTwoNetworks: an entry for VMs is opened on each network that VMs boot from, and an entry for an address on the network that
// contains the address.
func TestAccessOfTwoNetworks(t *testing.T) {
	g := NewWithT(t)
	storage := onVLAN("storage", "10.2.0.0/24", "cidr")
	storage.Primary = false
	in := opening(to("nodes", 22, 0), to("nas", 3260, 0, "10.2.0.9"))
	in.Networks = append(in.Networks, onVLAN("zzz", "10.3.0.0/24", "cidr"), storage)
	in.Access.Namespaces, in.Access.Accounts = []string{"b", "a", "b"}, []string{"b/b", "a/a"}
	plan, problems := derived(in)
	g.Expect(accessCauses(problems)).To(BeEmpty())
	open := map[string][]string{}
	for i, n := range plan.Networks {
		g.Expect(n.Access.Namespaces).To(Equal([]string{"a", "b"}))
		g.Expect(n.Access.Accounts).To(Equal([]string{"a/a", "b/b"}))
		g.Expect(n.Access.Audience).To(Equal("oooi-access.clusters-blue"))
		for _, d := range n.Access.Destinations {
			open[plan.AccessService(i)] = append(open[plan.AccessService(i)], d.String())
		}
	}
	g.Expect(open).To(Equal(map[string][]string{"oooi-access": {"nodes:22"}, "oooi-access-a-zzz": {"nodes:22"}, "oooi-access-a-storage": {"nas:3260"}}))
	g.Expect(said(problems)).To(And(ContainSubstring("oooi-access.clusters-blue"), ContainSubstring("nas:3260"), ContainSubstring("clusters-blue, a, b"), ContainSubstring("a/a, b/b")))
}

// TestAccessOfNothing: without entries, no destination is opened, whatever other annotations are set. A hint names each of these
// annotations.
func TestAccessOfNothing(t *testing.T) {
	g := NewWithT(t)
	in := opening()
	in.Access.Namespaces, in.Access.Accounts = []string{"a"}, []string{"a/b"}
	plan, problems := derived(in)
	g.Expect(opensAccess(plan)).To(BeFalse())
	g.Expect(string(plan.JSON())).NotTo(ContainSubstring("access"))
	g.Expect(accessCauses(problems)).To(Equal([]problem.Cause{problem.AccessSettingUnused, problem.AccessSettingUnused}))
}

// TestAccessOfAnUnservedNetwork: an entry for an address on a network that is not served yet adds no problem to that of the network.
func TestAccessOfAnUnservedNetwork(t *testing.T) {
	g := NewWithT(t)
	in := opening(to("10.9.0.20", 22, 0, "10.9.0.20"))
	waiting := onVLAN("waiting", "10.9.0.0/24", "cidr")
	waiting.CIDR = netip.Prefix{}
	in.Networks = append(in.Networks, waiting)
	plan, problems := derived(in)
	g.Expect(opensAccess(plan)).To(BeFalse())
	g.Expect(accessCauses(problems)).To(BeEmpty())
}

// TestAccessClosesWithTheAnnotation: without the annotation, nothing is open, not even on a network that is retained as it runs.
func TestAccessClosesWithTheAnnotation(t *testing.T) {
	g := NewWithT(t)
	in := opening(to("nodes", 22, 0), to("nodes", 22, 0), to("nodes", 22, 22))
	open, _ := derived(in)
	g.Expect(open.Networks[0].Access.Destinations).To(HaveLen(1), "the same once, with its own port")
	in.Access = network.AccessRequest{}
	in.Wanted, in.Networks = []string{open.Networks[0].Name}, nil
	closed, _ := after(in, open)
	g.Expect(closed.Networks).To(HaveLen(1))
	g.Expect(opensAccess(closed)).To(BeFalse())
}

// TestAccessWithoutAnEntry: if no entry can be opened, edges keep an access proxy that opens nothing. So neither the mistake nor its
// correction recreates edges.
func TestAccessWithoutAnEntry(t *testing.T) {
	g := NewWithT(t)
	right, _ := derived(opening(to(network.AccessNodes, 10250, 0)))
	g.Expect(right.Networks[0].Access).To(And(HaveField("HasProxy()", true), HaveField("Opens()", true)))
	wrong, problems := derived(opening(to("noeds", 10250, 0)))
	g.Expect(wrong.Networks[0].Access).To(Equal(network.Access{Port: network.AccessPort, Destinations: []network.AccessDestination{}}))
	g.Expect(wrong.Networks[0].Access.HasProxy()).To(BeTrue())
	g.Expect(accessCauses(problems)).To(HaveLen(1))
	g.Expect(wrong.Validate()).To(Succeed())
	none, _ := derived(opening())
	g.Expect(none.Networks[0].Access).To(BeZero())
	balancers, _ := derived(opening(to(network.AccessLoadBalancers, 0, 0)))
	g.Expect(balancers.Networks[0].Access.Port).To(BeZero())
}
