package derive_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestVMsKeepTheirAddresses: addresses in use are pinned, whatever changes on a network. The problem names the change, where to undo it,
// and when it takes effect.
func TestVMsKeepTheirAddresses(t *testing.T) {
	last := tenant(2, 10, 99, segment(func(s *network.NetworkRequest) {
		s.Gateway = netip.MustParseAddr("192.168.100.1")
		s.Settings.Reservations = []network.Reservation{{MAC: "02:00:00:00:00:01", Address: netip.MustParseAddr("192.168.100.20")}}
	}))
	used := []string{last.Networks[0].Name}
	for name, c := range map[string]struct {
		change func(*network.NetworkRequest)
		field  string
		says   []string
	}{
		"another CIDR": {func(s *network.NetworkRequest) {
			s.CIDR, s.CIDRField, s.Settings = netip.MustParsePrefix("10.1.0.0/24"), "spec.networking.machineNetwork", network.Settings{}
		}, "cidr", []string{"The new CIDR 10.1.0.0/24 takes effect when no VM uses", "set the CIDR back to 192.168.100.0/24 (spec.networking.machineNetwork)"}},
		"a wider CIDR": {func(s *network.NetworkRequest) {
			s.CIDR, s.CIDRField = netip.MustParsePrefix("192.168.100.0/23"), "annotation cidr"
		}, "cidr", []string{"192.168.100.0/23"}},
		"no CIDR": {func(s *network.NetworkRequest) {
			s.CIDR, s.CIDRField, s.Settings = netip.Prefix{}, "annotation cidr.b", network.Settings{}
		},
			"cidr", []string{"Its CIDR is no longer set", "set 192.168.100.0/24 again (annotation cidr.b)"}},
		"other addresses of ours": {func(s *network.NetworkRequest) {
			s.Settings.EdgeAddresses, s.Settings.DHCPRange = nil, network.Range{}
			s.CIDR = netip.MustParsePrefix("192.168.100.128/25")
		},
			"cidr", []string{"192.168.100.128/25"}},
		"edge-addresses": {func(s *network.NetworkRequest) {
			for i := range s.Settings.EdgeAddresses {
				s.Settings.EdgeAddresses[i] = netip.MustParseAddr(fmt.Sprint("192.168.100.", 200+i))
			}
		}, "edge-addresses", []string{"edge addresses 192.168.100.200,192.168.100.201,192.168.100.202,192.168.100.203", "set annotation edge-addresses to 192.168.100.2,192.168.100.3,192.168.100.4,192.168.100.5"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var in given
			tenant(2, 10, 99, func(x *given) { in = *x })
			in.Networks[0].CIDRField, in.Networks[0].CIDRKeys = "cidr", []string{"cidr"}
			c.change(&in.Networks[0])
			in.Endpoints = []network.Endpoint{named("oauth", "oauth.example.com", 443, network.MatchServerName)}

			free, problems := after(in, last)
			fresh, same := derived(in)
			g.Expect(free).To(Equal(fresh), "no VM is on it")
			g.Expect(problems).To(Equal(same))

			in.InUse = used
			plan, problems := after(in, last)
			g.Expect(problems).To(HaveExactElements(And(HaveField("Reason", problem.AddressConflict), HaveField("Keys", ContainElement(c.field)), HaveField("Blocks()", false))))
			for _, s := range append(c.says, "192.168.100.2,192.168.100.3,192.168.100.4,192.168.100.5") {
				g.Expect(message(problems[0])).To(ContainSubstring(s))
			}
			now, was := plan.Networks[0], last.Networks[0]
			g.Expect(held(now)).To(Equal(held(was)))
			g.Expect(now.DHCP.Reservations).To(Equal(was.DHCP.Reservations))
			g.Expect(now.DHCP.Routes).To(Equal(was.DHCP.Routes), "the gateway too")
			g.Expect(now.Listeners).NotTo(BeEmpty(), "the rest follows the cluster")

			in.Edges = 2
			two, _ := after(in, last)
			g.Expect(two.Networks[0].Edges[1].Address).To(Equal(was.ReservedAddresses[0]))
		})
	}
}

// TestOtherChangesTakeEffect: a change that moves no address takes effect immediately.
func TestOtherChangesTakeEffect(t *testing.T) {
	g := NewWithT(t)
	last := tenant(2, 10, 99)
	var in given
	tenant(2, 20, 150, func(x *given) { in = *x; in.Edges = 2 })
	in.InUse = []string{last.Networks[0].Name}
	plan, problems := after(in, last)
	g.Expect(problems).To(BeEmpty())
	fresh, _ := derived(in)
	g.Expect(plan).To(Equal(fresh))
}

// TestOneEdgeLess: a smaller number of edges takes effect immediately, with or without VMs, and moves no address.
func TestOneEdgeLess(t *testing.T) {
	g := NewWithT(t)
	var in given
	last := tenant(2, 10, 99, func(x *given) { x.Edges = 2; in = *x })
	g.Expect(last.Networks[0].Edges).To(HaveLen(2))
	in.Edges = 1
	in.InUse = []string{last.Networks[0].Name}
	plan, problems := after(in, last)
	g.Expect(problems).To(BeEmpty())
	g.Expect(plan.Networks[0].Edges).To(Equal(last.Networks[0].Edges[:1]))
	g.Expect(plan.Networks[0].ReservedAddresses).To(HaveExactElements(last.Networks[0].Edges[1].Address))
}

// TestAddressesInUseNeverMove: for any two worlds in a row, a network with VMs keeps its pinned addresses, and a network without VMs has
// the requested ones.
func TestAddressesInUseNeverMove(t *testing.T) {
	moves := 0
	for seed := range uint64(5000) {
		before := world(seed)
		last, problems := derived(before)
		if problems.Blocking() {
			continue
		}
		r := rand.New(rand.NewPCG(seed, 7))
		next := world(seed + 100000)
		for _, n := range last.Networks {
			if r.IntN(3) > 0 {
				next.InUse = append(next.InUse, n.Name)
			}
		}
		next.Wanted = slices.Clone(next.InUse)
		for _, s := range next.Networks {
			next.Wanted = append(next.Wanted, s.Attachment.NetworkName())
		}
		plan, more := after(next, last)
		if more.Blocking() {
			continue // what is served stays
		}
		if fresh, _ := derived(next); changed(fresh, plan) {
			moves++
		}
		for _, n := range last.Networks {
			for _, now := range plan.Networks {
				if now.Name == n.Name && slices.Contains(next.InUse, n.Name) && pinned(n) != pinned(now) {
					t.Fatalf("seed %d: %s moves from %s to %s", seed, n.Name, pinned(n), pinned(now))
				}
			}
		}
		if err := plan.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if moves < 100 {
		t.Fatalf("only %d networks were to move", moves)
	}
}

// changed reports whether a network has other addresses in b.
func changed(a, b network.Plan) bool {
	for _, x := range a.Networks {
		for _, y := range b.Networks {
			if x.Name == y.Name && pinned(x) != pinned(y) {
				return true
			}
		}
	}
	return false
}

// pinned are the addresses of n that VMs depend on.
func pinned(n network.Network) string {
	var own []netip.Addr
	for _, e := range n.Edges {
		own = append(own, e.Address)
	}
	return fmt.Sprint(n.CIDR, n.NextHopVIP, n.ServiceVIP, append(own, n.ReservedAddresses...))
}

// TestGatewayOfAnotherNetworkInUse: a gateway in the CIDR of another network in use is an Error,
// with VMs or without. Only the router of a network whose CIDR is no longer set says nothing
// about the others: it was set for that network.
func TestGatewayOfAnotherNetworkInUse(t *testing.T) {
	one, two := onVLAN("one", "10.1.0.0/24", "cidr"), onVLAN("two", "10.2.0.0/24", "cidr.pool-two")
	two.Gateway = netip.MustParseAddr("10.2.0.1")
	for name, c := range map[string]struct {
		gateway string
		change  func(one, two *network.NetworkRequest)
		want    types.GomegaMatcher
	}{
		"no host": {"", func(_, two *network.NetworkRequest) { two.Gateway = netip.MustParseAddr("10.1.0.1") },
			HaveExactElements(And(HaveField("Cause", problem.GatewayOutsideCIDR), HaveField("Confined", true)))},
		"its router": {"10.1.0.1", func(_, two *network.NetworkRequest) { two.Gateway = netip.MustParseAddr("10.1.0.1") },
			HaveExactElements(And(HaveField("Cause", problem.GatewayOutsideCIDR), HaveField("Confined", true)))},
		"its CIDR is no longer set, and the HostedCluster's gateway is for the other one": {"10.1.0.1", func(one, two *network.NetworkRequest) {
			one.CIDR, one.Gateway, two.Gateway = netip.Prefix{}, netip.Addr{}, netip.MustParseAddr("10.1.0.1")
		}, HaveExactElements(HaveField("Cause", problem.PinnedCIDRRemoved))},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			one, two := one, two
			if c.gateway != "" {
				one.Gateway = netip.MustParseAddr(c.gateway)
			}
			wanted := []string{"a.one", "a.two"}
			last, problems := served(network.Plan{}, wanted, one, two)
			g.Expect(problems.Blocking()).To(BeFalse())
			c.change(&one, &two)
			in := asking(1, one, two)
			in.Wanted, in.InUse = wanted, wanted
			p, problems := after(in, last)
			g.Expect(problems).To(c.want)
			g.Expect(p.Networks[0].DHCP.Router).To(Equal(last.Networks[0].DHCP.Router))
			if problems[0].Cause == problem.GatewayOutsideCIDR {
				g.Expect(p.Networks[1]).To(Equal(last.Networks[1]), "it stays as it runs")
			}
		})
	}
}
