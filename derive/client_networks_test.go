package derive_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// behindGateway is a network with a gateway and these client networks, and the management cluster
// and the hosted cluster that its edges and VMs need.
func behindGateway(clients ...string) given {
	in := isolated(network.Settings{ClientNetworks: prefixesOf(clients...)})
	in.Cluster.Domain = "blue.example.com"
	in.Networks[0].Gateway = netip.MustParseAddr("192.168.100.1")
	in.Reserved = []network.ReservedDestination{
		{What: "node worker-1", Prefix: netip.MustParsePrefix("10.0.0.11/32"), Node: true, Required: true},
		{What: "the management cluster's pods", Prefix: netip.MustParsePrefix("10.128.0.0/14")},
		{What: "pods or Services of the management cluster", Prefix: netip.MustParsePrefix("10.9.0.9/32")},
	}
	in.InHostedCluster = []network.ReservedDestination{{What: "the pod network", Prefix: netip.MustParsePrefix("10.132.0.0/14"), Required: true}}
	return in
}

// TestClientNetworks: edges get a route to each client network, unless edges or VMs would lose a destination that they need. A problem
// names what is left out, and the others are served.
func TestClientNetworks(t *testing.T) {
	published := func(in *given) {
		in.Endpoints = append(in.Endpoints, network.Endpoint{Name: network.APIService, Port: 6443, Match: network.MatchAny,
			Addresses: addressesOf("10.7.0.5"), Backend: network.Backend{Name: "kube-apiserver:6443", Service: network.APIService, Port: 6443}})
	}
	for what, c := range map[string]struct {
		clients string
		change  func(*given)
		cause   problem.Cause
		words   string
	}{
		"an office":                     {"10.9.0.0/16", nil, "", ""},
		"one host":                      {"198.51.100.7/32", nil, "", ""},
		"an address of no use to edges": {"10.9.0.8/30", nil, "", ""},
		"a cloud's metadata service":    {"100.64.0.0/10", nil, "", ""},
		"the network itself":            {"192.168.0.0/16", nil, problem.ClientNetworkOverlaps, "CIDR 192.168.100.0/24"},
		"a node":                        {"10.0.0.0/24", nil, problem.ClientNetworkOverlaps, "node worker-1 (10.0.0.11)"},
		"pods":                          {"10.130.4.0/24", nil, problem.ClientNetworkOverlaps, "pods (10.128.0.0/14)"},
		"pods of the hosted cluster":    {"10.132.0.0/16", nil, problem.ClientNetworkOverlaps, "the pod network (10.132.0.0/14) of the hosted cluster"},
		"the loopback interface":        {"127.0.0.0/8", nil, problem.ClientNetworkOverlaps, "special-purpose block"},
		"an address that edges hold":    {"10.7.0.0/24", published, "", ""},
		"no gateway":                    {"10.9.0.0/16", func(in *given) { in.Networks[0].Gateway = netip.Addr{} }, problem.ClientNetworksWithoutGateway, "Set annotation gateway"},
		"a network that only has DHCP":  {"10.9.0.0/16", func(in *given) { in.Networks[0].Primary = false }, problem.ClientNetworksOnSecondary, "do not boot from it"},
		"a network of OVN-Kubernetes":   {"10.9.0.0/16", func(in *given) { in.Networks[0].Attachment.Kind = "ovn-k8s-cni-overlay" }, problem.ClientNetworksOnOVN, "masquerade"},
		"a bridge, of which edges have a": {"10.9.0.0/16", func(in *given) {
			in.Networks[0].Attachment.Kind, in.Networks[0].Attachment.EdgeNADConfig = "bridge", "{}"
		}, "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			in := behindGateway(c.clients, "172.18.0.0/16", "172.18.5.0/24")
			if c.change != nil {
				c.change(&in)
			}
			plan, problems := derived(in)
			g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
			g.Expect(plan.Validate()).To(Succeed())
			n := plan.Networks[0]
			want := []string{"172.18.0.0/16 via 192.168.100.1"}
			switch c.cause {
			case "":
				want = append(want, c.clients+" via 192.168.100.1")
			case problem.ClientNetworkOverlaps:
			default:
				want = nil
			}
			var got []string
			for _, r := range n.ClientRoutes() {
				got = append(got, r.String())
			}
			g.Expect(got).To(ConsistOf(want))
			about := HaveField("Keys", ContainElement("client-networks"))
			if c.cause == "" {
				g.Expect(problems).NotTo(ContainElement(about))
				return
			}
			g.Expect(problems).To(ContainElement(And(about, HaveField("Cause", c.cause), WithTransform(message, ContainSubstring(c.words)))))
		})
	}
}

// TestClientNetworksChangeNothingElse: the annotation changes neither what VMs get nor the addresses of a network with VMs. Without the
// annotation, the plan does not change.
func TestClientNetworksChangeNothingElse(t *testing.T) {
	g := NewWithT(t)
	before, _ := derived(behindGateway())
	g.Expect(string(before.JSON())).NotTo(ContainSubstring("clientNetworks"))

	in := behindGateway("10.9.0.0/16")
	in.InUse = []string{before.Networks[0].Name}
	now, problems := after(in, before)
	g.Expect(problems.Blocking()).To(BeFalse())
	n := now.Networks[0]
	g.Expect(n.ClientNetworks).To(Equal(prefixesOf("10.9.0.0/16")), "it takes effect while VMs run")
	g.Expect(n.DNS.Views[0]).To(Equal(before.Networks[0].DNS.Views[0]))
	n.ClientNetworks, n.DNS = nil, before.Networks[0].DNS
	g.Expect(n).To(Equal(before.Networks[0]))

	removed, _ := after(func() given { in.Networks[0].Settings.ClientNetworks = nil; return in }(), now)
	g.Expect(removed).To(Equal(before))
}

// TestHostsBeyondGetNamesOnly: hosts in client networks, and those that the gateway masquerades, only resolve names. In the cluster's
// domain, they get NXDOMAIN for names that do not exist, so that their DNS server does not try another server.
func TestHostsBeyondGetNamesOnly(t *testing.T) {
	const gateway = "192.168.100.1/32"
	for what, c := range map[string]struct {
		change func(*given)
		want   []netip.Prefix
	}{
		"a gateway":                    {func(*given) {}, prefixesOf(gateway)},
		"a gateway with networks":      {func(in *given) { in.Networks[0].Settings.ClientNetworks = prefixesOf("10.9.0.0/16") }, prefixesOf(gateway, "10.9.0.0/16")},
		"a gateway of OVN-Kubernetes":  {func(in *given) { in.Networks[0].Attachment.Kind = "ovn-k8s-cni-overlay" }, prefixesOf(gateway)},
		"no gateway":                   {func(in *given) { in.Networks[0].Gateway = netip.Addr{} }, nil},
		"a network that only has DHCP": {func(in *given) { in.Networks[0].Primary = false }, nil},
	} {
		t.Run(what, func(t *testing.T) {
			g, in := NewWithT(t), behindGateway()
			in.Networks[0].Settings.Services = network.AllServices()
			c.change(&in)
			plan, problems := derived(in)
			g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
			views := plan.Networks[0].DNS.Views
			if c.want == nil {
				g.Expect(len(views)).To(BeNumerically("<=", 1))
				return
			}
			g.Expect(views).To(HaveLen(2))
			g.Expect(views[0].Zones).To(BeEmpty(), "VMs may have other names of the domain from the resolver")
			g.Expect(views[1]).To(Equal(network.View{Name: "clients", Clients: c.want, Zones: []string{"blue.example.com"},
				Records: views[0].Records, OwnNamesOnly: true}))
		})
	}
}

// TestUpstreamBehindTheGateway: edges reach a DNS server in a client network through the gateway, and not through the pod network. So it
// needs no permission.
func TestUpstreamBehindTheGateway(t *testing.T) {
	g := NewWithT(t)
	server := netip.MustParseAddrPort("10.9.0.53:53")
	for clients, way := range map[string]network.Way{"10.9.0.0/16": network.ThroughGateway, "10.8.0.0/16": network.ThroughPods} {
		in := behindGateway(clients)
		in.Networks[0].Settings.Upstreams = &network.Upstreams{Mode: network.UpstreamServers, Servers: []netip.AddrPort{server}}
		in.Permissions.Upstreams = []netip.Prefix{}
		plan, problems := derived(in)
		n := plan.Networks[0]
		g.Expect(n.Reach().FromEdge(server.Addr())).To(Equal(way))
		refused := ContainElement(HaveField("Cause", problem.UpstreamNotPermitted))
		if way == network.ThroughGateway {
			g.Expect(problems).NotTo(Or(refused, ContainElement(HaveField("Cause", problem.UpstreamsNotByGateway))))
			g.Expect(n.UpstreamServers()).To(HaveExactElements(server))
		} else {
			g.Expect(problems).To(refused)
			g.Expect(n.UpstreamServers()).To(BeEmpty())
		}
	}
}
