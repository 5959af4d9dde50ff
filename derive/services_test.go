package derive_test

import (
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// publishing is an given with an API at a bare IP and OAuth at a name.
func publishing(s network.NetworkRequest) given {
	in := on("192.168.100.0/24", s)
	in.Cluster.Domain = "blue.example.com"
	in.Endpoints = []network.Endpoint{
		{Name: "kube-apiserver", Addresses: []netip.Addr{netip.MustParseAddr("203.0.113.7")}, Port: 6443, Match: network.MatchAny, Backend: network.Backend{Name: "kube-apiserver:6443", Service: "kube-apiserver", Port: 6443}},
		{Name: "oauth", Hosts: []string{"oauth.example.com"}, Port: 443, Match: network.MatchServerName, Backend: network.Backend{Name: "oauth:6443", Service: "oauth", Port: 6443}},
	}
	return in
}

func without(left ...network.Service) network.NetworkRequest {
	all := network.AllServices()
	return network.NetworkRequest{Settings: network.Settings{Services: slices.DeleteFunc(all, func(s network.Service) bool { return slices.Contains(left, s) })}}
}

// TestServicesLeftOut: a disabled service is not in the plan. A problem names what other servers must provide.
func TestServicesLeftOut(t *testing.T) {
	t.Run("DHCP", func(t *testing.T) {
		g := NewWithT(t)
		p, problems := derived(publishing(without(network.ServiceDHCP)))
		g.Expect(p.Validate()).To(Succeed())
		n := p.Networks[0]
		g.Expect(n.DHCP.Range).To(Equal(network.Range{}))
		g.Expect(n.Listeners).To(HaveLen(2))
		g.Expect(problems).To(HaveLen(1))
		g.Expect(problems[0].Reason).To(Equal(problem.ServedByOthers))
		g.Expect(problems.Blocking()).To(BeFalse())
		g.Expect(message(problems[0])).To(And(
			ContainSubstring("exclude 192.168.100.2, 192.168.100.3, 192.168.100.4, 192.168.100.5"),
			ContainSubstring("121 (routes) 192.168.100.3/32 via 192.168.100.2, 203.0.113.7/32 via 192.168.100.2, 0.0.0.0/0 via 192.168.100.2"),
			ContainSubstring("6 (DNS servers) 192.168.100.3; 42 (NTP servers) 192.168.100.3.")))
	})
	t.Run("DNS", func(t *testing.T) {
		g := NewWithT(t)
		s := without(network.ServiceDNS)
		s.Settings.Upstreams = &network.Upstreams{Mode: network.UpstreamServers, Servers: []netip.AddrPort{netip.MustParseAddrPort("192.168.100.53:53"), netip.MustParseAddrPort("192.168.100.54:5353")}}
		p, problems := derived(publishing(s))
		g.Expect(p.Validate()).To(Succeed())
		n := p.Networks[0]
		g.Expect(n.DNS.Views).To(BeEmpty())
		g.Expect(n.DHCP.DNSServers).To(Equal([]netip.Addr{netip.MustParseAddr("192.168.100.53")}), "VMs ask no other port")
		g.Expect(n.Listeners).To(HaveLen(2))
		g.Expect(problems).To(HaveLen(1))
		g.Expect(message(problems[0])).To(ContainSubstring("must resolve oauth.example.com to 192.168.100.3"))
	})
	t.Run("DNS, and DHCP advertises no server", func(t *testing.T) {
		for up, words := range map[*network.Upstreams]string{nil: "because annotation services leaves out dns", {Mode: network.UpstreamNone}: "leaves out dns", {Mode: network.UpstreamManagement}: "leaves out dns",
			upstreams("192.168.100.53:853", "192.168.100.3:53").Upstreams: "none of the DNS servers in annotation dns-upstreams: 192.168.100.53:853, 192.168.100.3:53."} {
			g := NewWithT(t)
			s := without(network.ServiceDNS)
			s.Settings.Upstreams, s.Gateway = up, netip.MustParseAddr("192.168.100.1")
			_, problems := derived(publishing(s))
			g.Expect(problems).To(ContainElement(WithTransform(message, ContainSubstring(words))))
		}
	})
	t.Run("DNS, and nodes dial addresses only", func(t *testing.T) {
		g := NewWithT(t)
		r := publishing(without(network.ServiceDNS))
		r.Endpoints = network.Without(r.Endpoints, func(e network.Endpoint) bool { return len(e.Hosts) > 0 })
		_, problems := derived(r)
		g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.NameServersMissing), HaveField("Severity", problem.SeverityWarning))))
	})
	t.Run("the proxy", func(t *testing.T) {
		g := NewWithT(t)
		s := without(network.ServiceProxy)
		s.Settings.Records = []network.Record{{Name: "oauth.example.com", Addresses: []netip.Addr{netip.MustParseAddr("192.168.100.9")}}}
		p, problems := derived(publishing(s))
		g.Expect(p.Validate()).To(Succeed())
		n := p.Networks[0]
		g.Expect(n.Listeners).To(BeEmpty())
		g.Expect(n.Backends).To(BeEmpty())
		g.Expect(n.PublishedAddresses).To(BeEmpty(), "nobody answers there")
		g.Expect(n.DNS.Views[0].Records).To(Equal(s.Settings.Records), "no name leads to an address where nothing listens")
		g.Expect(message(problems[0])).To(ContainSubstring("kube-apiserver, oauth"))
	})
	t.Run("NTP", func(t *testing.T) {
		g := NewWithT(t)
		p, problems := derived(publishing(without(network.ServiceNTP)))
		g.Expect(p.Networks[0].TimeServers()).To(BeEmpty(), "no server is there")
		g.Expect(problems).To(BeEmpty(), "hcp knows whether VMs have a gateway")
	})
	t.Run("DHCP, where there is nothing else", func(t *testing.T) {
		g := NewWithT(t)
		in := publishing(without())
		second := without(network.ServiceDHCP)
		second.Attachment, second.CIDR = network.Attachment{Namespace: "clusters", Name: "storage"}, netip.MustParsePrefix("10.0.0.0/24")
		in.Networks = append(in.Networks, second)
		p, problems := derived(in)
		g.Expect(p.Networks).To(HaveLen(1))
		g.Expect(problems).To(HaveLen(1))
		g.Expect(message(problems[0])).To(ContainSubstring("Network clusters/storage is not served"))
	})
}

// TestSmallCIDRWithoutDHCP: a network too small for a range serves names and
// connections.
func TestSmallCIDRWithoutDHCP(t *testing.T) {
	g := NewWithT(t)
	in := publishing(without(network.ServiceDHCP))
	in.Networks[0].CIDR = netip.MustParsePrefix("192.168.100.0/29")
	p, problems := derived(in)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
	g.Expect(p.Validate()).To(Succeed())
}

// TestAddressesForVMs: as many addresses as NodePools can need are reserved, and too few
// are a problem.
func TestAddressesForVMs(t *testing.T) {
	r := func(s string) network.Range {
		return network.Range{First: netip.MustParseAddr("192.168.100." + s + "0"), Last: netip.MustParseAddr("192.168.100." + s + "9")}
	}
	for name, c := range map[string]struct {
		vms      int
		settings network.Settings
		kept     int
		small    string
	}{
		"enough":                      {vms: 12, kept: 12},
		"not known":                   {vms: 0},
		"all of them":                 {vms: 244, kept: 244},
		"one too few":                 {vms: 245, kept: 244, small: "has 244 DHCP addresses"},
		"what is excluded counts not": {vms: 10, settings: network.Settings{DHCPRange: r("2"), DHCPExclude: []network.Range{{First: r("2").First, Last: r("2").First}}}, kept: 9, small: "has 9 DHCP addresses"},
		"exclusions that overlap":     {vms: 225, settings: network.Settings{DHCPExclude: []network.Range{r("1"), r("1"), {First: r("1").First, Last: r("2").Last}}}, kept: 224, small: "has 224"},
		"no other client is served":   {vms: 12, settings: network.Settings{IgnoreUnknownClients: true}},
		"VMs only, and still too few": {vms: 11, settings: network.Settings{IgnoreUnknownClients: true, DHCPRange: r("2")}, small: "has 10"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, problems := derived(on("192.168.100.0/24", network.NetworkRequest{VMs: c.vms, Settings: c.settings}))
			g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
			g.Expect(p.Networks[0].DHCP.ReservedForVMs).To(Equal(c.kept))
			g.Expect(problems.Has(problem.RangeTooSmall)).To(Equal(c.small != ""))
			if c.small != "" {
				g.Expect(message(problems[0])).To(ContainSubstring(c.small))
			}
		})
	}
}

// TestNoAddressForVMs: a pool without any address is an Error, since no VM boots from the network.
// A reservation is an address, and another DHCP server has its own pool.
func TestNoAddressForVMs(t *testing.T) {
	g := NewWithT(t)
	pool := network.Range{First: netip.MustParseAddr("192.168.100.20"), Last: netip.MustParseAddr("192.168.100.22")}
	none := network.Settings{DHCPRange: pool, DHCPExclude: []network.Range{pool}}
	for _, vms := range []int{0, 3} {
		_, problems := derived(on("192.168.100.0/24", network.NetworkRequest{VMs: vms, Settings: none}))
		g.Expect(problems).To(ConsistOf(And(HaveField("Reason", problem.RangeTooSmall), HaveField("Blocks()", true))))
		g.Expect(problems[0].Keys).To(Equal([]string{"dhcp-exclude", "dhcp-range"}))
	}
	reserved := none
	reserved.Reservations = []network.Reservation{{MAC: "02:00:00:00:00:01", Address: pool.First}}
	_, problems := derived(on("192.168.100.0/24", network.NetworkRequest{VMs: 3, Settings: reserved}))
	g.Expect(problems.Blocking()).To(BeFalse())
	others := none
	others.Services = []network.Service{network.ServiceDNS, network.ServiceProxy}
	_, problems = derived(on("192.168.100.0/24", network.NetworkRequest{VMs: 3, Settings: others}))
	g.Expect(problems.Blocking()).To(BeFalse())
}

// TestSecondNetworkWithoutCIDRBlocksNothing: a second network without a CIDR waits, and does not refuse the plan, even if its name sorts
// first.
func TestSecondNetworkWithoutCIDRBlocksNothing(t *testing.T) {
	g := NewWithT(t)
	in := on("192.168.100.0/24", network.NetworkRequest{})
	in.Networks = append(in.Networks, network.NetworkRequest{Attachment: network.Attachment{Namespace: "a", Name: "a"}, Primary: true, CIDRField: "annotation cidr.a"})
	p, problems := derived(in)
	g.Expect(p.Networks).To(HaveLen(1))
	g.Expect(problems).To(HaveLen(1))
	g.Expect(problems[0].Reason).To(Equal(problem.WaitingForNetwork))
	g.Expect(message(problems[0])).To(ContainSubstring("annotation cidr.a"))

	in.Networks = in.Networks[1:]
	_, problems = derived(in)
	g.Expect(problems[0].Reason).To(Equal(problem.CIDRMissing), "no machine could boot")
	g.Expect(problems.Blocking()).To(BeTrue())
}

// TestTime: edges of a network that VMs boot from serve the time, and DHCP advertises them, unless the user names other servers.
func TestTime(t *testing.T) {
	g := NewWithT(t)
	in := publishing(network.NetworkRequest{})
	in.Networks = append(in.Networks, network.NetworkRequest{
		Attachment: network.Attachment{Namespace: "clusters", Name: "storage"}, CIDR: netip.MustParsePrefix("10.0.0.0/24")})
	p, problems := derived(in)
	g.Expect(problems).To(BeEmpty())
	g.Expect(p.Networks[0].Services).To(HaveExactElements(network.ServiceDHCP, network.ServiceDNS, network.ServiceNTP, network.ServiceProxy))
	g.Expect(p.Networks[0].TimeServers()).To(HaveExactElements(p.Networks[0].ServiceVIP))
	g.Expect(p.Networks[0].DHCP.NTPServers).To(BeEmpty(), "an edge without an NTP server reads the plan, too, and would send it")
	g.Expect(p.Networks[1].Services).To(HaveExactElements(network.ServiceDHCP), "no VM boots from it")
	g.Expect(p.Networks[1].TimeServers()).To(BeEmpty())

	for _, own := range []string{"192.168.100.1", "192.168.100.3"} {
		in.Networks[0].Settings.NTPServers = addressesOf(own)
		p, problems = derived(in)
		g.Expect(problems).To(BeEmpty(), own)
		g.Expect(p.Networks[0].TimeServers()).To(Equal(addressesOf(own)))
		g.Expect(p.Networks[0].Services).To(ContainElement(network.ServiceNTP), "static hosts may use it")
	}
	in.Networks[0].Settings.Services = []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceProxy}
	_, problems = derived(in)
	g.Expect(problems).To(HaveExactElements(HaveField("Cause", problem.OnlyTimeServersUnreachable)), "edges do not serve the time there")
}
