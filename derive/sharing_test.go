package derive_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/cost"
)

var vlan = network.Attachment{Namespace: "clusters", Name: "vlan100", Layer2: "bridge br1 100"}

// tenant is a plan on the one VLAN, its addresses from the given host parts:
// next hop, service address and edges from held on, and a range.
func tenant(held, first, last int, change ...func(*given)) network.Plan {
	at := func(host int) netip.Addr { return netip.MustParseAddr(fmt.Sprint("192.168.100.", host)) }
	in := asking(1, network.NetworkRequest{Attachment: vlan, Primary: true, CIDR: netip.MustParsePrefix("192.168.100.0/24"),
		Settings: network.Settings{EdgeAddresses: []netip.Addr{at(held), at(held + 1), at(held + 2), at(held + 3)}, DHCPRange: network.Range{First: at(first), Last: at(last)}}})
	for _, c := range change {
		c(&in)
	}
	plan, _ := derived(in)
	return plan
}

func published(address string) func(*given) {
	return func(in *given) {
		in.Endpoints = []network.Endpoint{{Name: "api", Addresses: []netip.Addr{netip.MustParseAddr(address)}, Port: 6443,
			Match: network.MatchAny, Backend: network.Backend{Name: "kube-apiserver:6443", Port: 6443}}}
	}
}

// TestManyAddressesOnOneNetwork: addresses of two clusters are compared in a time that grows with their number, not with its square.
func TestManyAddressesOnOneNetwork(t *testing.T) {
	decide := func(count int) func() {
		in := asking(1, network.NetworkRequest{Attachment: vlan, Primary: true, CIDR: netip.MustParsePrefix("192.168.0.0/16")})
		for i := range count {
			in.Networks[0].Settings.Reservations = append(in.Networks[0].Settings.Reservations, network.Reservation{
				MAC: fmt.Sprintf("02:00:00:00:%02x:%02x", i>>8, i&0xff), Address: netip.AddrFrom4([4]byte{192, 168, byte(64 + i>>7), byte(i << 1)})})
		}
		plan, _ := derived(in)
		NewWithT(t).Expect(plan.Networks).To(HaveLen(1))
		other := derive.OtherCluster{Name: "clusters/green", Older: true, On: []network.Attachment{vlan}, Wants: plan}
		return func() { derive.Derive(in.Request, in.Facts, network.Plan{}, []derive.OtherCluster{other}) }
	}
	ratio := cost.Ratio(decide(700), decide(7_000))
	t.Logf("7,000 reservations cost %.1f times as much as 700", ratio)
	NewWithT(t).Expect(ratio).To(BeNumerically("<", 40), "each compared with all would be 100")
}

func segment(change func(*network.NetworkRequest)) func(*given) {
	return func(in *given) { change(&in.Networks[0]) }
}

// TestTwoClustersOnOneNetwork: which addresses may be used together, and which key the user
// changes.
func TestTwoClustersOnOneNetwork(t *testing.T) {
	older := tenant(2, 10, 99)
	for name, c := range map[string]struct {
		ours, theirs network.Plan
		keys, has    string
	}{
		"apart":                        {tenant(102, 110, 199), older, "", ""},
		"all the same":                 {older, older, "dhcp-range, edge-addresses", "192.168.100.2-192.168.100.5, 192.168.100.10-192.168.100.99"},
		"one edge address":             {tenant(99, 110, 199), older, "edge-addresses", "192.168.100.99"},
		"the other's kept second edge": {tenant(5, 110, 199), older, "edge-addresses", "192.168.100.5"},
		"ranges":                       {tenant(102, 90, 101), older, "dhcp-range", "192.168.100.90-192.168.100.99"},
		"what is excluded is free": {tenant(102, 50, 101, segment(func(s *network.NetworkRequest) {
			s.Settings.DHCPExclude = []network.Range{{First: netip.MustParseAddr("192.168.100.40"), Last: netip.MustParseAddr("192.168.100.99")}}
		})), older, "", ""},
		"a reservation": {tenant(102, 110, 199, segment(func(s *network.NetworkRequest) {
			s.Settings.Reservations = []network.Reservation{{MAC: "02:00:00:00:00:01", Address: netip.MustParseAddr("192.168.100.50")}}
		})), older, "reservations", "192.168.100.50"},
		"who gives nothing out": {tenant(102, 10, 99, segment(func(s *network.NetworkRequest) { s.Settings.Services = []network.Service{network.ServiceDNS} })), older, "", ""},
		"our gateway is theirs to give": {tenant(102, 110, 199, segment(func(s *network.NetworkRequest) {
			s.Gateway = netip.MustParseAddr("192.168.100.20")
		})), older, "gateway", "192.168.100.20"},
		"one gateway for both": {tenant(102, 110, 199, segment(func(s *network.NetworkRequest) { s.Gateway = netip.MustParseAddr("192.168.100.1") })),
			tenant(2, 10, 99, segment(func(s *network.NetworkRequest) { s.Gateway = netip.MustParseAddr("192.168.100.1") })), "", ""},
		"the same published address":       {tenant(102, 110, 199, published("10.0.0.1")), tenant(2, 10, 99, published("10.0.0.1")), "", ""},
		"another segment, same addresses":  {tenant(2, 10, 99, segment(func(s *network.NetworkRequest) { s.Attachment = network.Attachment{Namespace: "x", Name: "y"} })), older, "", ""},
		"another definition, same segment": {tenant(2, 10, 99, segment(func(s *network.NetworkRequest) { s.Attachment.Name = "again" })), older, "dhcp-range, edge-addresses", "192.168.100.2-"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			u := derive.OtherCluster{Name: "clusters/blue", Older: true, On: []network.Attachment{vlan}, Wants: c.theirs}
			plan, problems := derive.Yielding(c.ours, []derive.OtherCluster{u}, network.Plan{})
			if c.keys == "" {
				g.Expect(problems).To(BeEmpty())
				g.Expect(plan).To(Equal(c.ours))
				return
			}
			g.Expect(problems).To(HaveLen(1))
			g.Expect(problems[0]).To(And(HaveField("Reason", problem.NetworkShared), WithTransform(keysOf, Equal(c.keys)), HaveField("Blocks()", true)))
			g.Expect(message(problems[0])).To(And(ContainSubstring("clusters/blue"), ContainSubstring(c.has)))
			u.Older = false
			_, problems = derive.Yielding(c.ours, []derive.OtherCluster{u}, network.Plan{})
			g.Expect(problems).To(BeEmpty(), "the older is left alone")
		})
	}
}

// TestPublishedInsideTheOthers: an address that one hosted cluster publishes in the CIDR of another one is a problem of the cluster that
// yields, whichever that is.
func TestPublishedInsideTheOthers(t *testing.T) {
	g := NewWithT(t)
	publisher := tenant(2, 10, 99, func(in *given) {
		in.Networks[0].CIDR, in.Networks[0].Settings = netip.MustParsePrefix("192.168.200.0/24"), network.Settings{}
		published("192.168.100.150")(in)
	})
	giver := tenant(102, 110, 199)
	_, problems := derive.Yielding(publisher, []derive.OtherCluster{{Name: "a/b", Older: true, Wants: giver}}, network.Plan{})
	g.Expect(problems).To(ConsistOf(HaveField("Keys", ContainElement("spec.services"))))
	_, problems = derive.Yielding(giver, []derive.OtherCluster{{Name: "a/b", Older: true, Wants: publisher}}, network.Plan{})
	g.Expect(problems).To(ConsistOf(HaveField("Keys", ContainElement("cidr"))))
}

// TestWhoIsServedKeepsWhatItHas: of two hosted clusters that request the same addresses, only one is served, in any order of creation. The
// one that is served keeps its addresses.
func TestWhoIsServedKeepsWhatItHas(t *testing.T) {
	same, apart := tenant(2, 10, 99), tenant(102, 110, 199)
	for name, c := range map[string]struct {
		older, serves, served bool
		theirs                network.Plan
	}{
		"neither is served, we are younger":        {older: true, served: false, theirs: same},
		"neither is served, we are older":          {older: false, served: true, theirs: same},
		"the younger is served already":            {older: false, serves: true, served: false, theirs: same},
		"the older is served, apart from the wish": {older: true, serves: true, served: true, theirs: apart},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			u := derive.OtherCluster{Name: "a/b", Older: c.older, On: []network.Attachment{vlan}, Wants: c.theirs}
			if c.serves {
				u.Serves = answeringOwn(c.theirs)
			}
			_, problems := derive.Yielding(same, []derive.OtherCluster{u}, network.Plan{})
			g.Expect(problems.Blocking()).To(Equal(!c.served))
			us := derive.OtherCluster{Name: "c/d", Older: !c.older, On: u.On, Wants: same}
			_, problems = derive.Yielding(c.theirs, []derive.OtherCluster{us}, u.Serves)
			g.Expect(problems.Blocking()).To(Equal(c.served && c.theirs.Networks[0].NextHopVIP == same.Networks[0].NextHopVIP), "exactly one gives way")
		})
	}
	t.Run("both are, for whatever reason", func(t *testing.T) {
		g := NewWithT(t)
		_, problems := derive.Yielding(same, []derive.OtherCluster{{Older: true, Wants: same, Serves: same}}, same)
		g.Expect(problems.Blocking()).To(BeTrue())
		_, problems = derive.Yielding(same, []derive.OtherCluster{{Older: false, Wants: same, Serves: same}}, same)
		g.Expect(problems).To(BeEmpty())
	})
	t.Run("names decide", func(t *testing.T) {
		g := NewWithT(t)
		first := derive.OtherCluster{Name: "a/b", Older: true, SameAge: true, Wants: same}
		_, problems := derive.Yielding(same, []derive.OtherCluster{first}, network.Plan{})
		g.Expect(message(problems[0])).To(ContainSubstring("the names decide: a/b takes precedence"))
		first.Serves = same
		_, problems = derive.Yielding(same, []derive.OtherCluster{first}, network.Plan{})
		g.Expect(message(problems[0])).To(ContainSubstring("already used by hosted cluster a/b"), "the running one has precedence")
		_, problems = derive.Yielding(same, []derive.OtherCluster{first}, same)
		g.Expect(problems).To(ConsistOf(HaveField("Cause", problem.SharedAddressesByName)), "both run")
	})
	t.Run("the older opts in to what the younger serves", func(t *testing.T) {
		g := NewWithT(t)
		_, problems := derive.Yielding(same, []derive.OtherCluster{{Older: true, Wants: same}}, same)
		g.Expect(problems).To(BeEmpty(), "who is served stays")
	})
	t.Run("one that goes", func(t *testing.T) {
		g := NewWithT(t)
		_, problems := derive.Yielding(same, []derive.OtherCluster{{Older: false, Serves: same}}, network.Plan{})
		g.Expect(problems.Blocking()).To(BeTrue(), "its edges still hold the addresses")
	})
}

// TestNeverBothFromNothing: of any two hosted clusters that begin at the same time, at most one gets an address.
func TestNeverBothFromNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	some := func() network.Plan {
		first := 10 + r.IntN(200)
		return tenant(2+r.IntN(200), first, first+r.IntN(40))
	}
	shared := 0
	for range 2000 {
		a, b := some(), some()
		_, pa := derive.Yielding(a, []derive.OtherCluster{{Name: "b", Older: false, Wants: b}}, network.Plan{})
		_, pb := derive.Yielding(b, []derive.OtherCluster{{Name: "a", Older: true, Wants: a}}, network.Plan{})
		NewWithT(t).Expect(pa).To(BeEmpty())
		if !pb.Blocking() {
			shared++
			NewWithT(t).Expect(apart(a.Networks[0], b.Networks[0])).To(BeTrue(), "%s\n%s", a.JSON(), b.JSON())
		}
	}
	NewWithT(t).Expect(shared).To(BeNumerically(">", 100), "the test saw both outcomes")
}

// apart looks at every address of the /24.
func apart(a, b network.Network) bool {
	has := func(n network.Network, x netip.Addr) bool {
		for _, own := range append([]netip.Addr{n.NextHopVIP, n.ServiceVIP, n.Edges[0].Address}, n.ReservedAddresses...) {
			if own == x {
				return true
			}
		}
		return n.DHCP.Range.Contains(x)
	}
	for x := netip.MustParseAddr("192.168.100.0"); x.Less(netip.MustParseAddr("192.168.101.0")); x = x.Next() {
		if has(a, x) && has(b, x) {
			return false
		}
	}
	return true
}

// answeringOwn is p of a cluster whose user set unknown-clients to ignore.
func answeringOwn(p network.Plan) network.Plan {
	p.Networks = slices.Clone(p.Networks)
	for i := range p.Networks {
		p.Networks[i].DHCP.IgnoreUnknownClients = true
	}
	return p
}

// TestNewcomerAnswersItsOwn: a hosted cluster that joins a network of another one answers only its own VMs, even if the other one is not
// served. It does so while both share the network.
func TestNewcomerAnswersItsOwn(t *testing.T) {
	g := NewWithT(t)
	plan := tenant(2, 10, 99)
	ignores := func(p network.Plan) bool { return p.Networks[0].DHCP.IgnoreUnknownClients }
	g.Expect(ignores(plan)).To(BeFalse())
	elsewhere := derive.OtherCluster{Name: "a/b", On: []network.Attachment{{Namespace: "a", Name: "b"}}}
	g.Expect(derive.AnsweringOwnVMs(plan, []derive.OtherCluster{elsewhere}, network.Plan{})).To(Equal(plan))
	beside := derive.OtherCluster{Name: "c/d", On: []network.Attachment{{Namespace: "x", Name: "y", Layer2: vlan.Layer2}}}
	both := []derive.OtherCluster{elsewhere, beside}
	shared := derive.AnsweringOwnVMs(plan, both, network.Plan{})
	g.Expect(ignores(shared)).To(BeTrue())
	g.Expect(derive.Sharing(plan, both)).To(HaveExactElements(And(HaveField("Cause", problem.SharedNetworkKeepsOther), HaveField("Keys", []string{network.KeyUnknownClients}), WithTransform(message, HavePrefix("HostedCluster c/d uses network ")))))
	g.Expect(derive.Sharing(shared, both)).To(HaveExactElements(HaveField("Cause", problem.SharedNetworkDivided)))
	g.Expect(derive.Sharing(shared, both[:1])).To(BeEmpty())
	g.Expect(ignores(plan)).To(BeFalse(), "a plan is never changed")
	g.Expect(derive.AnsweringOwnVMs(plan, both, shared)).To(Equal(shared))
	g.Expect(derive.AnsweringOwnVMs(plan, nil, shared)).To(Equal(plan), "the other is gone")
}

// TestNewcomerTakesNoClients: a second hosted cluster on the network cannot end what a served one does for all its clients. Only if both
// answer all clients, the older one continues.
func TestNewcomerTakesNoClients(t *testing.T) {
	first, second := tenant(2, 10, 99), tenant(102, 110, 199)
	for name, u := range map[string]derive.OtherCluster{
		"is there":               {},
		"is there and older":     {Older: true},
		"opts in":                {Wants: second},
		"opts in and is older":   {Older: true, Wants: second},
		"is served":              {Wants: second, Serves: answeringOwn(second)},
		"is served and is older": {Older: true, Wants: second, Serves: answeringOwn(second)},
		"answers all, younger":   {Wants: second, Serves: second},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			u.Name, u.On = "clusters/second", []network.Attachment{vlan}
			g.Expect(derive.AnsweringOwnVMs(first, []derive.OtherCluster{u}, first)).To(Equal(first))
			_, problems := derive.Yielding(first, []derive.OtherCluster{u}, first)
			g.Expect(problems).To(BeEmpty())
		})
	}
	u := derive.OtherCluster{Name: "clusters/second", Older: true, On: []network.Attachment{vlan}, Wants: second, Serves: second}
	NewWithT(t).Expect(derive.AnsweringOwnVMs(first, []derive.OtherCluster{u}, first)).To(Equal(answeringOwn(first)))
}

// TestSharedNetworkIsReported: a plan says that another cluster uses its network, too. A refused plan says only why it is refused.
func TestSharedNetworkIsReported(t *testing.T) {
	g := NewWithT(t)
	in := asking(1, network.NetworkRequest{Attachment: vlan, Primary: true, CIDR: netip.MustParsePrefix("192.168.100.0/24")})
	causes := func(wants network.Plan) (out []problem.Cause) {
		u := derive.OtherCluster{Name: "clusters/blue", Older: true, On: []network.Attachment{vlan}, Wants: wants}
		for _, p := range derive.Derive(in.Request, in.Facts, network.Plan{}, []derive.OtherCluster{u}).Problems {
			out = append(out, p.Cause)
		}
		return out
	}
	g.Expect(causes(network.Plan{})).To(HaveExactElements(problem.SharedNetworkDivided))
	g.Expect(causes(tenant(2, 10, 99))).To(HaveExactElements(problem.SharedAddresses))
}

// TestUnservedClusterIsReported: a plan names a cluster that oooi does not serve and whose VMs use a network of the plan. The plan itself
// does not change.
func TestUnservedClusterIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*network.NetworkRequest)
		runs     bool
		cause    problem.Cause
		severity problem.Severity
	}{
		"before edges run":      {cause: problem.SharedNetworkTakesVMs},
		"while edges run":       {runs: true, cause: problem.SharedNetworkTakesVMs},
		"only VMs are answered": {runs: true, change: func(s *network.NetworkRequest) { s.Settings.IgnoreUnknownClients = true }},
		"another DHCP server":   {runs: true, change: func(s *network.NetworkRequest) { s.Settings.Services = []network.Service{network.ServiceDNS} }},
		"VMs boot elsewhere":    {runs: true, change: func(s *network.NetworkRequest) { s.Primary = false }},
	} {
		t.Run(name, func(t *testing.T) {
			g, in := NewWithT(t), asking(1, network.NetworkRequest{Attachment: vlan, Primary: true, CIDR: netip.MustParsePrefix("192.168.100.0/24")})
			last := network.Plan{}
			if c.change != nil {
				c.change(&in.Networks[0])
			}
			if c.runs {
				last, _ = derived(in)
			}
			u := derive.OtherCluster{Name: "clusters/green", Older: true, On: []network.Attachment{vlan}, Unserved: true}
			d := derive.Derive(in.Request, in.Facts, last, []derive.OtherCluster{u})
			var shared problem.Problems
			for _, p := range d.Problems {
				if p.Reason == problem.NetworkShared {
					shared = append(shared, p)
				}
			}
			if c.cause == "" {
				g.Expect(shared).To(BeEmpty())
				return
			}
			g.Expect(shared).To(HaveExactElements(And(HaveField("Cause", c.cause), HaveField("Severity", problem.SeverityWarning), WithTransform(message, ContainSubstring("clusters/green")))))
			p, _ := d.Plan()
			g.Expect(p.Networks[0].DHCP.IgnoreUnknownClients).To(BeFalse())
		})
	}
}

// TestSecondaryYields: a secondary network is left out, and the others are served.
func TestSecondaryYields(t *testing.T) {
	g := NewWithT(t)
	plan := tenant(2, 10, 99)
	plan.Networks[0].Primary = false
	out, problems := derive.Yielding(plan, []derive.OtherCluster{{Name: "a/b", Older: true, Wants: tenant(2, 10, 99)}}, network.Plan{})
	g.Expect(problems).To(HaveExactElements(WithTransform(message, ContainSubstring("Set dhcp-range and edge-addresses to free addresses on the HostedCluster, and the values of the network that VMs boot from on NodePools."))))
	g.Expect(problems.Blocking()).To(BeFalse())
	g.Expect(out.Networks).To(BeEmpty())
}

// TestWaitsForConsent: a new hosted cluster waits until the user of the running one permits that it answers only its own VMs. The running
// one never waits. Two new ones do not wait for each other.
func TestWaitsForConsent(t *testing.T) {
	g := NewWithT(t)
	ours, theirs := tenant(102, 110, 199), tenant(2, 10, 99)
	for _, older := range []bool{true, false} {
		u := derive.OtherCluster{Name: "clusters/blue", Older: older, On: []network.Attachment{vlan}, Wants: theirs, Serves: theirs}
		_, problems := derive.Yielding(ours, []derive.OtherCluster{u}, network.Plan{})
		g.Expect(problems).To(HaveExactElements(And(HaveField("Reason", problem.NetworkShared), HaveField("Blocks()", true), WithTransform(message, And(ContainSubstring("Hosted cluster clusters/blue on network"), ContainSubstring("Set annotation unknown-clients to ignore on clusters/blue"))))))
		g.Expect(derive.Sharing(ours, []derive.OtherCluster{u})).To(HaveExactElements(And(HaveField("Severity", problem.SeverityWarning), WithTransform(message, And(ContainSubstring("HostedCluster clusters/blue uses network"), ContainSubstring("answers every VM there."))))))

		_, problems = derive.Yielding(ours, []derive.OtherCluster{u}, ours)
		g.Expect(problems).To(BeEmpty(), "what runs goes on")

		u.Serves = answeringOwn(theirs)
		_, problems = derive.Yielding(ours, []derive.OtherCluster{u}, network.Plan{})
		g.Expect(problems).To(BeEmpty())
		g.Expect(derive.Sharing(ours, []derive.OtherCluster{u})).To(HaveExactElements(HaveField("Severity", problem.SeverityInfo)))

		u.Serves = network.Plan{}
		_, problems = derive.Yielding(ours, []derive.OtherCluster{u}, network.Plan{})
		g.Expect(problems).To(BeEmpty(), "neither runs")
	}
}

// TestPublishedAddressOfTheOthersHost: spec.services[].nodePort.address is the author's choice.
// Edges answer for it, so it must not be the router of another cluster on the network, nor
// any other host in its CIDR. The cluster that is served continues.
func TestPublishedAddressOfTheOthersHost(t *testing.T) {
	victim := tenant(2, 10, 99, segment(func(s *network.NetworkRequest) { s.Gateway = netip.MustParseAddr("192.168.100.1") }))
	for name, address := range map[string]string{"the router": "192.168.100.1", "a host that no DHCP server knows": "192.168.100.200"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			attacker := tenant(2, 10, 99, func(in *given) {
				in.Networks[0].CIDR, in.Networks[0].Settings = netip.MustParsePrefix("192.168.200.0/24"), network.Settings{}
				published(address)(in)
			})
			_, problems := derive.Yielding(attacker, []derive.OtherCluster{{Name: "a/b", Older: true, Wants: victim}}, network.Plan{})
			g.Expect(problems).To(ConsistOf(And(WithTransform(keysOf, Equal("spec.services")), HaveField("Blocks()", true), WithTransform(message, ContainSubstring(address)))))
			_, problems = derive.Yielding(victim, []derive.OtherCluster{{Name: "c/d", Wants: attacker}}, network.Plan{})
			g.Expect(problems).To(BeEmpty())
			_, problems = derive.Yielding(victim, []derive.OtherCluster{{Name: "c/d", Wants: attacker, Serves: attacker}}, victim)
			g.Expect(problems).To(BeEmpty())
			_, problems = derive.Yielding(victim, []derive.OtherCluster{{Name: "c/d", Serves: attacker}}, network.Plan{})
			g.Expect(problems).To(ConsistOf(WithTransform(keysOf, ContainSubstring("cidr"))), "its edges have the address")
		})
	}
}
