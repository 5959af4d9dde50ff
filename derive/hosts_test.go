package derive_test

import (
	"fmt"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/cost"
)

// naming makes a cluster's user give addresses of 192.168.100.0/24 to hosts.
func naming(change func(in *given, at netip.Addr), hosts ...int) func(*given) {
	return func(in *given) {
		for _, host := range hosts {
			change(in, netip.MustParseAddr(fmt.Sprint("192.168.100.", host)))
		}
	}
}

func inRecords(in *given, at netip.Addr) {
	s := &in.Networks[0].Settings
	s.Records = append(s.Records, network.Record{Name: fmt.Sprint("host-", at, ".example.com"), Addresses: []netip.Addr{at}})
}

func asApps(in *given, at netip.Addr) {
	in.Apps = network.Record{Name: "*.apps.blue.example.com", Addresses: []netip.Addr{at}}
}

func asUpstream(in *given, at netip.Addr) {
	in.Networks[0].Settings.Upstreams = &network.Upstreams{Mode: network.UpstreamServers, Servers: []netip.AddrPort{netip.AddrPortFrom(at, 53)}}
}

func asTimeServer(in *given, at netip.Addr) { in.Networks[0].Settings.NTPServers = []netip.Addr{at} }

func excluded(in *given, at netip.Addr) {
	in.Networks[0].Settings.DHCPExclude = []network.Range{{First: at, Last: at}}
}

// with128TimeServers adds time servers behind the gateway of the network.
func with128TimeServers(in *given, _ netip.Addr) {
	for host := range 128 {
		in.Networks[0].Settings.NTPServers = append(in.Networks[0].Settings.NTPServers, netip.AddrFrom4([4]byte{10, 77, 0, byte(host)}))
	}
}

// TestHostsOfOthersInPool: DHCP gives no new client an address that another cluster on the network names as a host, that
// a VM of that cluster has, or that a management node has. A cluster cannot empty the pool of another one.
func TestHostsOfOthersInPool(t *testing.T) {
	many := make([]int, 0, 90)
	for host := 110; host < 200; host++ {
		many = append(many, host)
	}
	on := []network.Attachment{{Namespace: "x", Name: "y", Layer2: vlan.Layer2}}
	vm := []network.VMAddress{{VM: "w", Network: "x.y", Address: netip.MustParseAddr("192.168.100.150")}, {VM: "w", Network: "x.z", Address: netip.MustParseAddr("192.168.100.151")}}
	for name, c := range map[string]struct {
		theirs network.Plan
		vms    []network.VMAddress
		nodes  []string
		named  int
	}{
		"no host":             {},
		"a record":            {theirs: tenant(2, 10, 99, naming(inRecords, 150)), named: 1},
		"*.apps":              {theirs: tenant(2, 10, 99, naming(asApps, 150)), named: 1},
		"a DNS server":        {theirs: tenant(2, 10, 99, naming(asUpstream, 150)), named: 1},
		"a time server":       {theirs: tenant(2, 10, 99, naming(asTimeServer, 150)), named: 1},
		"out of the pool":     {theirs: tenant(2, 10, 99, naming(inRecords, 20, 220))},
		"excluded, for us":    {theirs: tenant(2, 10, 253, naming(excluded, 150))},
		"a VM":                {vms: vm, named: 1},
		"a node":              {nodes: []string{"192.168.100.150"}, named: 1},
		"the last of 129":     {theirs: tenant(2, 10, 99, naming(with128TimeServers, 1), naming(inRecords, 150))},
		"a whole pool of 90":  {theirs: tenant(2, 10, 99, naming(inRecords, many...)), named: 90 - 4},
		"all of them, at one": {theirs: tenant(2, 10, 99, naming(inRecords, 150), naming(asApps, 150)), vms: vm, nodes: []string{"192.168.100.150"}, named: 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := asking(1, network.NetworkRequest{Attachment: vlan, Primary: true, CIDR: netip.MustParsePrefix("192.168.100.0/24"), VMs: 4})
			in.Networks[0].Settings = segmentOf(102, 110, 199)
			for _, n := range c.nodes {
				in.Reserved = append(in.Reserved, network.ReservedDestination{What: "node w1", Prefix: network.Host(netip.MustParseAddr(n)), Node: true})
			}
			u := derive.OtherCluster{Name: "clusters/blue", On: on, Wants: c.theirs, VMAddresses: c.vms}
			plan, problems := after(in, network.Plan{}, u)
			g.Expect(problems).To(HaveEach(HaveField("Severity", problem.SeverityInfo)))
			g.Expect(plan.Networks[0].DHCP.Named).To(HaveLen(c.named))
			if c.named == 1 {
				g.Expect(plan.Networks[0].DHCP.Named[0].String()).To(Equal("192.168.100.150"))
			}
			g.Expect(plan.Networks[0].DHCP.Unassigned()).To(BeNumerically(">=", 4))
			again, _ := after(in, plan, u)
			g.Expect(again).To(Equal(plan))
		})
	}
}

func segmentOf(held, first, last int) network.Settings {
	at := func(host int) netip.Addr { return netip.MustParseAddr(fmt.Sprint("192.168.100.", host)) }
	return network.Settings{EdgeAddresses: []netip.Addr{at(held), at(held + 1), at(held + 2), at(held + 3)}, DHCPRange: network.Range{First: at(first), Last: at(last)}}
}

// TestHostsAtEdges: edges do not get the address of a host that a cluster with precedence names, and keep their own. The user of the
// other cluster gets a Warning.
func TestHostsAtEdges(t *testing.T) {
	edges := tenant(102, 110, 199)
	request := func(change ...func(*given)) given {
		in := asking(1, network.NetworkRequest{Attachment: vlan, Primary: true, CIDR: netip.MustParsePrefix("192.168.100.0/24"), Settings: segmentOf(2, 10, 99)})
		for _, c := range change {
			c(&in)
		}
		return in
	}
	for name, c := range map[string]struct {
		how func(*given, netip.Addr)
		key string
	}{
		"a record": {inRecords, network.KeyRecords}, "*.apps": {asApps, network.KeyAppsAddress},
		"a DNS server": {asUpstream, network.KeyUpstreams}, "a time server": {asTimeServer, network.KeyNTPServers},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			names := request(naming(c.how, 103))
			plan, problems := derived(names)
			g.Expect(problems).To(BeEmpty())
			u := derive.OtherCluster{Name: "clusters/blue", Older: true, On: []network.Attachment{vlan}, Wants: plan}
			_, problems = derive.Yielding(edges, []derive.OtherCluster{u}, network.Plan{})
			g.Expect(problems).To(ConsistOf(And(HaveField("Cause", problem.SharedAddresses), HaveField("Blocks()", true),
				WithTransform(keysOf, Equal("edge-addresses")), WithTransform(message, ContainSubstring("192.168.100.103")))))
			_, problems = derive.Yielding(edges, []derive.OtherCluster{u}, edges)
			g.Expect(problems).To(BeEmpty(), "its edges run")
			u.Older = false
			_, problems = derive.Yielding(edges, []derive.OtherCluster{u}, network.Plan{})
			g.Expect(problems).To(BeEmpty(), "it is older")

			about := And(HaveField("Cause", problem.SharedAddresses), HaveField("Severity", problem.SeverityWarning), WithTransform(keysOf, Equal(c.key)))
			for _, u := range []derive.OtherCluster{{Older: true, Wants: edges}, {Wants: edges, Serves: answeringOwn(edges)}} {
				u.Name, u.On = "clusters/green", []network.Attachment{vlan}
				_, problems = after(names, network.Plan{}, u)
				g.Expect(problems).To(ConsistOf(about, HaveField("Cause", problem.SharedNetworkDivided)))
			}
			_, problems = after(names, network.Plan{}, derive.OtherCluster{Name: "clusters/green", On: []network.Attachment{vlan}, Wants: edges})
			g.Expect(problems).NotTo(ContainElement(about), "the other one yields")
		})
	}
	t.Run("a VM of another cluster", func(t *testing.T) {
		g := NewWithT(t)
		u := derive.OtherCluster{Name: "clusters/green", On: []network.Attachment{vlan}, VMAddresses: []network.VMAddress{
			{VM: "w", Network: vlan.NetworkName(), Address: netip.MustParseAddr("192.168.100.3"), MAC: "02:00:00:00:00:09"}}}
		plan, problems := after(request(), network.Plan{}, u)
		g.Expect(problems).To(ConsistOf(And(HaveField("Cause", problem.VMHasEdgeAddress), HaveField("Blocks()", true),
			WithTransform(message, ContainSubstring("VM w of hosted cluster clusters/green already uses 192.168.100.3")))))
		_, problems = after(request(), plan, u)
		g.Expect(problems).To(ContainElement(HaveField("Cause", problem.AddressUsedByVM)))
		g.Expect(problems.Blocking()).To(BeFalse())
	})
	t.Run("a management node", func(t *testing.T) {
		g := NewWithT(t)
		in := request()
		in.Reserved = []network.ReservedDestination{{What: "node w1", Prefix: netip.MustParsePrefix("192.168.100.3/32"), Node: true}}
		_, problems := derived(in)
		g.Expect(problems).To(ConsistOf(And(HaveField("Cause", problem.NodeHasEdgeAddress), HaveField("Severity", problem.SeverityWarning),
			WithTransform(message, HavePrefix("The service VIP 192.168.100.3 of network clusters/vlan100 is also an address of node w1.")))))
	})
}

// TestOneIngressForTwoClusters: two clusters whose *.apps is one host get a Warning each. Other records may be of one host.
func TestOneIngressForTwoClusters(t *testing.T) {
	for _, apps := range []bool{true, false} {
		g := NewWithT(t)
		how := inRecords
		if apps {
			how = asApps
		}
		u := derive.OtherCluster{Name: "clusters/green", On: []network.Attachment{vlan}, Wants: tenant(102, 110, 199, naming(how, 6))}
		in := asking(1, network.NetworkRequest{Attachment: vlan, Primary: true, CIDR: netip.MustParsePrefix("192.168.100.0/24"), Settings: segmentOf(2, 10, 99)})
		how(&in, netip.MustParseAddr("192.168.100.6"))
		for _, older := range []bool{true, false} {
			u.Older = older
			_, problems := after(in, network.Plan{}, u)
			g.Expect(problems.Has(problem.AddressConflict)).To(Equal(apps))
			if apps {
				g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.AppsAddressShared), HaveField("Severity", problem.SeverityWarning), WithTransform(keysOf, Equal("apps-address")))))
			}
		}
	}
}

// TestManyHostsOfOthers: each further record of another cluster costs the same.
func TestManyHostsOfOthers(t *testing.T) {
	decide := func(count int) func() {
		in := asking(1, network.NetworkRequest{Attachment: vlan, Primary: true, CIDR: netip.MustParsePrefix("192.168.0.0/16")})
		with := asking(1, in.Networks[0])
		for i := range count {
			inRecords(&with, netip.AddrFrom4([4]byte{192, 168, byte(64 + i>>7), byte(i << 1)}))
		}
		plan, _ := derived(with)
		NewWithT(t).Expect(plan.Networks).To(HaveLen(1))
		u := derive.OtherCluster{Name: "clusters/green", On: []network.Attachment{vlan}, Wants: plan}
		return func() { after(in, network.Plan{}, u) }
	}
	ratio := cost.Ratio(decide(700), decide(7_000))
	t.Logf("7,000 records cost %.1f times as much as 700", ratio)
	NewWithT(t).Expect(ratio).To(BeNumerically("<", 40), "each compared with all would be 100")
}

// TestOtherServersOnSharedNetworks: a cluster gets a Warning if a server that is not of its edges answers its VMs on a shared network.
func TestOtherServersOnSharedNetworks(t *testing.T) {
	withoutDHCP := segment(func(s *network.NetworkRequest) {
		s.Settings.Services = []network.Service{network.ServiceDNS, network.ServiceProxy}
	})
	unserved := func(in *given) {
		in.Networks = append(in.Networks, network.NetworkRequest{Attachment: network.Attachment{Namespace: "x", Name: "lan", Layer2: "bridge br2"},
			Primary: true, CIDR: netip.MustParsePrefix("10.1.0.0/24")})
		in.Networks[0].Primary, in.Networks[0].CIDR = false, netip.Prefix{}
	}
	other, all := tenant(102, 110, 199, withoutDHCP), tenant(102, 110, 199)
	for name, c := range map[string]struct {
		change func(*given)
		u      derive.OtherCluster
		cause  problem.Cause
	}{
		"both leave DHCP to others":           {withoutDHCP, derive.OtherCluster{Wants: other}, problem.SharedNetworkByOtherDHCP},
		"the other leaves DHCP to others":     {nil, derive.OtherCluster{Wants: other}, problem.SharedNetworkByOtherDHCP},
		"it runs":                             {nil, derive.OtherCluster{Wants: other, Serves: other}, problem.SharedNetworkByOtherDHCP},
		"we leave DHCP to others":             {withoutDHCP, derive.OtherCluster{Wants: all}, problem.SharedNetworkByOtherDHCP},
		"we do, and the other answers all":    {withoutDHCP, derive.OtherCluster{Serves: all}, problem.SharedNetworkOffered},
		"we do, and the other serves none":    {withoutDHCP, derive.OtherCluster{}, problem.SharedNetworkKeepsOther},
		"no CIDR, and the other answers all":  {unserved, derive.OtherCluster{Serves: all}, problem.SharedNetworkOffered},
		"no CIDR, and DHCP is left to others": {unserved, derive.OtherCluster{Serves: other}, problem.SharedNetworkByOtherDHCP},
		"no CIDR, and the other has its own":  {unserved, derive.OtherCluster{Serves: answeringOwn(all)}, ""},
		"it waits":                            {segment(func(s *network.NetworkRequest) { s.Primary = false }), derive.OtherCluster{Serves: all}, problem.SharedNetworkPending},
	} {
		t.Run(name, func(t *testing.T) {
			in := asking(1, network.NetworkRequest{Attachment: vlan, Primary: true, CIDR: netip.MustParsePrefix("192.168.100.0/24"), Settings: segmentOf(2, 10, 99)})
			if c.change != nil {
				c.change(&in)
			}
			c.u.Name, c.u.On = "clusters/green", []network.Attachment{vlan}
			last, _ := derived(in)
			if c.cause == problem.SharedNetworkPending {
				last = network.Plan{}
			}
			_, problems := after(in, last, c.u)
			var causes []problem.Cause
			for _, p := range problems {
				if p.Reason == problem.NetworkShared {
					causes = append(causes, p.Cause)
				}
			}
			if c.cause == "" {
				NewWithT(t).Expect(causes).To(BeEmpty())
				return
			}
			NewWithT(t).Expect(causes).To(HaveExactElements(c.cause))
		})
	}
}
