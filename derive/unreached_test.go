package derive_test

import (
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// isolated is a network without a gateway, with these settings.
func isolated(set network.Settings) given {
	return asking(1, network.NetworkRequest{Attachment: network.Attachment{Namespace: "a", Name: "b"}, Primary: true,
		NodePools: []string{"workers"}, CIDR: netip.MustParsePrefix("192.168.100.0/24"), Settings: set})
}

func addressesOf(all ...string) []netip.Addr {
	var out []netip.Addr
	for _, a := range all {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

// TestAddressesThatVMsDoNotReach: if VMs do not reach an address that the user sets, a problem still reports that VMs lack its purpose.
func TestAddressesThatVMsDoNotReach(t *testing.T) {
	record := func(name string, at ...string) network.Settings {
		return network.Settings{Records: []network.Record{{Name: name, Addresses: addressesOf(at...)}}}
	}
	servers := network.Settings{Services: []network.Service{network.ServiceDHCP, network.ServiceProxy},
		Upstreams: &network.Upstreams{Mode: network.UpstreamServers, Servers: []netip.AddrPort{netip.MustParseAddrPort("8.8.8.8:53")}}}
	withoutNTP := network.Settings{NTPServers: addressesOf("8.8.8.8"), Services: []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceProxy}}
	apps := func(at string) given {
		in := isolated(network.Settings{})
		in.Apps = network.Record{Name: "*.apps.blue.example.com", Addresses: addressesOf(at)}
		return in
	}
	for what, c := range map[string]struct {
		in    given
		cause problem.Cause
		words string
	}{
		"public time server":    {isolated(network.Settings{NTPServers: addressesOf("8.8.8.8", "192.168.100.1")}), problem.TimeServersUnreachable, "time servers 8.8.8.8."},
		"time server at edges":  {isolated(network.Settings{NTPServers: addressesOf("192.168.100.4")}), problem.TimeServersUnreachable, "192.168.100.4"},
		"no time at edges":      {isolated(withoutNTP), problem.OnlyTimeServersUnreachable, "add ntp to annotation services"},
		"edges could tell it":   {isolated(network.Settings{NTPServers: addressesOf("8.8.8.8")}), problem.TimeServersUnreachable, "Remove annotation ntp-servers: edges"},
		"time by multicast":     {isolated(network.Settings{NTPServers: addressesOf("224.0.1.1")}), problem.TimeServersUnreachable, "224.0.1.1"},
		"apps elsewhere":        {apps("10.9.9.9"), problem.AppsAddressUnreachable, "10.9.9.9"},
		"apps at the broadcast": {apps("192.168.100.255"), problem.AppsAddressUnreachable, "192.168.100.255"},
		"record elsewhere":      {isolated(record("registry.example.com", "10.9.9.9")), problem.RecordsUnreachable, "registry.example.com=10.9.9.9"},
		"name server":           {isolated(servers), problem.NameServersUnreachable, "8.8.8.8"},
		"relay":                 {isolated(network.Settings{DHCPRelays: addressesOf("10.9.9.9", "192.168.100.1")}), problem.RelaysUnreachable, ": 10.9.9.9."},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			_, problems := derived(c.in)
			g.Expect(problems).To(ContainElement(And(HaveField("Cause", c.cause), WithTransform(message, And(ContainSubstring(c.words), ContainSubstring("192.168.100.0/24"))))))
			if c.cause == problem.RelaysUnreachable {
				return // Edges have no route to a relay agent behind the gateway either.
			}
			c.in.Networks[0].Gateway = netip.MustParseAddr("192.168.100.1")
			_, problems = derived(c.in)
			if c.words != "192.168.100.4" && c.words != "192.168.100.255" && c.words != "224.0.1.1" {
				g.Expect(problems).NotTo(ContainElement(HaveField("Cause", c.cause)), "the gateway leads there")
			}
		})
	}
}

// TestAddressesThatVMsReach: VMs reach addresses on their network, on another network that all of them are on, and inside the hosted
// cluster.
func TestAddressesThatVMsReach(t *testing.T) {
	g := NewWithT(t)
	in := isolated(network.Settings{NTPServers: addressesOf("192.168.100.1", "10.50.0.1"), DHCPRelays: addressesOf("192.168.100.1"), Records: []network.Record{
		{Name: "registry.example.com", Addresses: addressesOf("10.50.0.2")}, {Name: "one.example.com", Addresses: addressesOf("172.31.0.1")},
		{Name: "blocked.example.com", Addresses: addressesOf("0.0.0.0")}, {Name: "host.example.com", Addresses: addressesOf("192.168.100.9")}}})
	in.Networks = append(in.Networks, network.NetworkRequest{Attachment: network.Attachment{Namespace: "a", Name: "storage"},
		NodePools: []string{"other", "workers"}, CIDR: netip.MustParsePrefix("10.50.0.0/24")})
	in.InHostedCluster = []network.ReservedDestination{{What: "Services", Prefix: netip.MustParsePrefix("172.31.0.0/16"), Required: true, OfServices: true}}
	_, problems := derived(in)
	g.Expect(problems).To(HaveExactElements(And(HaveField("Cause", problem.AddressOfService), HaveField("Keys", []string{network.KeyRecords}), WithTransform(message, ContainSubstring("172.31.0.1")))))
	in.InHostedCluster[0].Prefix, in.Networks[0].Settings.Records[1].Addresses = netip.MustParsePrefix("172.30.0.0/16"), addressesOf("192.168.100.8")
	_, problems = derived(in)
	g.Expect(problems).To(BeEmpty())
	in.Networks[1].NodePools = []string{"other"}
	_, problems = derived(in)
	g.Expect(problems).To(ConsistOf(HaveField("Cause", problem.TimeServersUnreachable), HaveField("Cause", problem.RecordsUnreachable)), "these VMs are not on it")
	in.Networks[0].UnservedNetworks = true
	_, problems = derived(in)
	g.Expect(problems).To(BeEmpty(), "nothing is known of another network")
}

// TestAddressesInHostedCluster: nodes route addresses in the networks of their own cluster into it, even if they have a gateway. So they reach
// no host there. But a Service may have an address in the network of Services.
func TestAddressesInHostedCluster(t *testing.T) {
	at := func(a string) given {
		in := isolated(network.Settings{NTPServers: addressesOf(a), Records: []network.Record{{Name: "registry.example.com", Addresses: addressesOf(a)}}})
		in.Apps = network.Record{Name: "*.apps.blue.example.com", Addresses: addressesOf(a)}
		in.ProviderHosts = []netip.AddrPort{netip.MustParseAddrPort(a + ":443")}
		in.InHostedCluster = []network.ReservedDestination{{What: "the pod network", Prefix: netip.MustParsePrefix("10.132.0.0/14"), Required: true},
			{What: "the Service network", Prefix: netip.MustParsePrefix("172.31.0.0/16"), Required: true, OfServices: true}}
		return in
	}
	all := []problem.Cause{problem.TimeServersUnreachable, problem.IdentityProviderInHostedCluster, problem.AppsAddressUnreachable, problem.RecordsUnreachable}
	causes := func(in given) (out []problem.Cause) {
		_, problems := derived(in)
		for _, p := range problems {
			if slices.Contains(append(all, problem.AddressOfService), p.Cause) {
				out = append(out, p.Cause)
			}
		}
		return out
	}
	for _, gateway := range []netip.Addr{{}, netip.MustParseAddr("192.168.100.1")} {
		g := NewWithT(t)
		behind := func(in given) given {
			in.Networks[0].Gateway = gateway
			return in
		}
		g.Expect(causes(behind(at("10.133.0.5")))).To(ConsistOf(all))
		hint := problem.AddressOfService
		g.Expect(causes(behind(at("172.31.0.5")))).To(Equal([]problem.Cause{hint, hint, hint, hint}))
	}
}

// TestNameServersOfVMs: if edges run no DNS, VMs must reach one of the servers in annotation dns-upstreams: while they boot, and after their
// node has routes to the pods and Services of its cluster. Edges have published addresses, where no DNS server answers.
func TestNameServersOfVMs(t *testing.T) {
	serving := func(services []network.Service, servers ...string) given {
		in := isolated(network.Settings{Services: services})
		if len(servers) > 0 {
			in.Networks[0].Settings.Upstreams = upstreams(servers...).Upstreams
		}
		api := network.Endpoint{Name: network.APIService, Hosts: []string{"api.example.com"}, Addresses: addressesOf("203.0.113.10"), Port: 6443, Match: network.MatchAny,
			Backend: network.Backend{Kind: network.BackendPods, Name: "api", Service: "kube-apiserver", Port: 6443, ClusterIP: netip.MustParseAddr("10.96.0.9")}}
		in.Endpoints = []network.Endpoint{api}
		in.InHostedCluster = []network.ReservedDestination{{What: "the pod network", Prefix: netip.MustParsePrefix("10.132.0.0/14"), Required: true},
			{What: "the Service network", Prefix: netip.MustParsePrefix("172.31.0.0/16"), Required: true, OfServices: true}}
		return in
	}
	own, dhcp := []network.Service{network.ServiceDHCP, network.ServiceNTP, network.ServiceProxy}, []network.Service{network.ServiceDHCP}
	const missing, unreachable, inside problem.Cause = "NameServersMissing", "NameServersUnreachable", "NameServersInHostedCluster"
	for what, c := range map[string]struct {
		in                given
		isolated, gateway problem.Cause
	}{
		"edges":                           {in: serving(nil)},
		"none":                            {serving(own), missing, missing},
		"none, and no proxy":              {serving(dhcp), missing, missing},
		"on the network":                  {in: serving(own, "192.168.100.9:53")},
		"behind the gateway":              {serving(own, "198.51.100.9:53"), unreachable, ""},
		"an edge":                         {serving(own, "192.168.100.3:53"), unreachable, unreachable},
		"a published address":             {serving(own, "203.0.113.10:53"), unreachable, unreachable},
		"only over TLS":                   {serving(own, "192.168.100.9:853"), unreachable, unreachable},
		"a pod":                           {serving(own, "10.133.0.5:53"), unreachable, inside},
		"a Service":                       {serving(own, "172.31.0.10:53"), unreachable, inside},
		"a pod, and one on the network":   {in: serving(own, "10.133.0.5:53", "192.168.100.9:53")},
		"an edge, and one on the network": {in: serving(own, "203.0.113.10:53", "192.168.100.9:53")},
		"others run DHCP":                 {in: serving([]network.Service{network.ServiceProxy})},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			for gateway, want := range map[netip.Addr]problem.Cause{{}: c.isolated, netip.MustParseAddr("192.168.100.1"): c.gateway} {
				c.in.Networks[0].Gateway = gateway
				_, problems := derived(c.in)
				var got problem.Cause
				for _, p := range problems {
					if slices.Contains([]problem.Cause{missing, unreachable, inside}, p.Cause) {
						got = p.Cause
						g.Expect(p.Severity == problem.SeverityError).To(Equal(p.Cause != inside))
					}
				}
				g.Expect(got).To(Equal(want), gateway.String())
			}
		})
	}
	in := serving(own)
	in.Problems = problem.Problems{problem.New(problem.AnnotationUnreadable, problem.Subject{}, nil, network.KeyUpstreams)}
	_, problems := derived(in)
	NewWithT(t).Expect(problems).NotTo(ContainElement(HaveField("Cause", missing)), "the invalid value may name one")
}

// TestUpstreamOnTheNetwork: a DNS server on the network belongs to the user. It needs no permission, and reserved destinations of the
// management cluster in the same block do not matter.
func TestUpstreamOnTheNetwork(t *testing.T) {
	g := NewWithT(t)
	in := asksOf("192.168.100.1:53")
	in.Permissions.Upstreams = []netip.Prefix{}
	in.Reserved = []network.ReservedDestination{{What: "pods", Prefix: netip.MustParsePrefix("192.168.0.0/16")}}
	plan, problems := derived(in)
	g.Expect(problems).To(BeEmpty())
	want := []netip.AddrPort{netip.MustParseAddrPort("192.168.100.1:53")}
	g.Expect(plan.Networks[0].UpstreamServers()).To(Equal(want))
	g.Expect(derive.Restricted(plan, in.Reserved, in.Permissions).Networks[0].UpstreamServers()).To(Equal(want))
	for _, server := range []string{"192.168.100.3:53", "192.168.100.4:53", "192.168.100.0:53", "192.168.100.255:53"} {
		plan, problems = derived(asksOf(server))
		g.Expect(problems).To(HaveExactElements(And(HaveField("Cause", problem.UpstreamUnreachable), WithTransform(message, ContainSubstring(server)))))
		g.Expect(plan.Networks[0].DNS.Upstreams.Mode).To(Equal(network.UpstreamNone))
	}
}

// TestUpstreamIsVM: edges use a VM as upstream server for other names, as the user requests, and a problem warns the user.
func TestUpstreamIsVM(t *testing.T) {
	g := NewWithT(t)
	in := asksOf("192.168.100.20:53", "192.168.100.9:53")
	vm := netip.MustParseAddr("192.168.100.20")
	in.VMAddresses = []network.VMAddress{{VM: "blue-1", Network: "a.b", Address: vm}, {VM: "blue-2", Network: "a.c", Address: netip.MustParseAddr("192.168.100.9")}}
	plan, problems := derived(in)
	g.Expect(problems).To(HaveExactElements(And(HaveField("Cause", problem.UpstreamIsVM), WithTransform(message, ContainSubstring("VM blue-1")))))
	g.Expect(plan.Networks[0].UpstreamServers()).To(HaveLen(2))
}

// TestNamedAddressesInPool: no new VM gets an address to which the user has given a name. There is no hint about such an address if it is
// excluded or outside the pool.
func TestNamedAddressesInPool(t *testing.T) {
	g := NewWithT(t)
	in := isolated(network.Settings{Records: []network.Record{
		{Name: "registry.example.com", Addresses: addressesOf("192.168.100.60", "192.168.100.1", "192.168.100.50")}, {Name: "b.example.com", Addresses: addressesOf("192.168.100.50", "192.168.100.70")}},
		DHCPExclude: []network.Range{{First: netip.MustParseAddr("192.168.100.70"), Last: netip.MustParseAddr("192.168.100.79")}}})
	in.Apps = network.Record{Name: "*.apps.blue.example.com", Addresses: addressesOf("192.168.100.40")}
	plan, problems := derived(in)
	g.Expect(problems).To(BeEmpty())
	g.Expect(plan.Networks[0].DHCP.Named).To(Equal(addressesOf("192.168.100.40", "192.168.100.50", "192.168.100.60")))
	in.Networks[0].VMs = 244 - 10 - 2
	_, problems = derived(in)
	g.Expect(problems).To(HaveExactElements(And(HaveField("Cause", problem.VMsExceedDHCPRange), HaveField("Args", HaveKeyWithValue("count", HaveExactElements("231"))))))
}
