package network_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestMachinesKeepTheirAddresses: whatever is said of a network anew, what its
// machines have pinned stays; who says it is told what, where, and until when.
func TestMachinesKeepTheirAddresses(t *testing.T) {
	last := tenant(2, 10, 99, segment(func(s *network.Segment) {
		s.Gateway = netip.MustParseAddr("192.168.100.1")
		s.Settings.Reservations = []network.Reservation{{MAC: "02:00:00:00:00:01", Address: netip.MustParseAddr("192.168.100.20")}}
	}))
	used := map[string]bool{last.Networks[0].Name: true}
	for name, c := range map[string]struct {
		change func(*network.Segment)
		field  string
		says   []string
	}{
		"another CIDR": {func(s *network.Segment) {
			s.CIDR, s.CIDRField, s.Settings = netip.MustParsePrefix("10.1.0.0/24"), "spec.networking.machineNetwork", network.Settings{}
		}, "spec.networking.machineNetwork", []string{"would become 10.1.0.0/24", "say 192.168.100.0/24 again", "no machine"}},
		"a wider CIDR": {func(s *network.Segment) {
			s.CIDR, s.CIDRField = netip.MustParsePrefix("192.168.100.0/23"), "annotation cidr"
		}, "annotation cidr", []string{"192.168.100.0/23"}},
		"no CIDR": {func(s *network.Segment) {
			s.CIDR, s.CIDRField, s.Settings = netip.Prefix{}, "annotation cidr.b", network.Settings{}
		},
			"annotation cidr.b", []string{"nobody says its CIDR any more", "say 192.168.100.0/24 again"}},
		"other addresses of ours": {func(s *network.Segment) {
			s.Settings.EdgeAddresses, s.Settings.DHCPRange = nil, network.Range{}
			s.CIDR = netip.MustParsePrefix("192.168.100.128/25")
		},
			"cidr", []string{"192.168.100.128/25"}},
		"edge-addresses": {func(s *network.Segment) {
			for i := range s.Settings.EdgeAddresses {
				s.Settings.EdgeAddresses[i] = netip.MustParseAddr(fmt.Sprint("192.168.100.", 200+i))
			}
		}, "edge-addresses", []string{"would become 192.168.100.200,192.168.100.201,192.168.100.202,192.168.100.203", "set edge-addresses to 192.168.100.2,192.168.100.3,192.168.100.4,192.168.100.5"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var in network.Intent
			tenant(2, 10, 99, func(x *network.Intent) { in = *x })
			in.Segments[0].CIDRField = "cidr"
			c.change(&in.Segments[0])
			in.Endpoints = []network.Endpoint{named("oauth", "oauth.example.com", 443, network.MatchServerName)}

			free, problems := in.Steady(last, nil)
			g.Expect(free).To(Equal(in), "nobody is on it")
			g.Expect(problems).To(BeEmpty())

			steady, problems := in.Steady(last, used)
			g.Expect(problems).To(HaveExactElements(And(HaveField("Reason", network.AddressConflict), HaveField("Field", c.field), HaveField("Blocking", false))))
			for _, s := range append(c.says, "our own 192.168.100.2,192.168.100.3,192.168.100.4,192.168.100.5 in 192.168.100.0/24") {
				g.Expect(problems[0].Detail).To(ContainSubstring(s))
			}
			plan, more := network.NewPlan(steady)
			g.Expect(more.Blocking()).To(BeFalse(), "%v", more)
			now, was := plan.Networks[0], last.Networks[0]
			g.Expect(held(now)).To(Equal(held(was)))
			g.Expect(now.DHCP.Reservations).To(Equal(was.DHCP.Reservations))
			g.Expect(now.DHCP.Routes).To(Equal(was.DHCP.Routes), "the gateway too")
			g.Expect(now.Listeners).NotTo(BeEmpty(), "the rest follows the cluster")

			in.Edges = 2
			steady, _ = in.Steady(last, used)
			two, _ := network.NewPlan(steady)
			g.Expect(two.Networks[0].Edges[1].Address).To(Equal(was.ReservedAddresses[0]))
		})
	}
}

// TestWhatMovesNobodyAppliesAtOnce.
func TestWhatMovesNobodyAppliesAtOnce(t *testing.T) {
	g := NewWithT(t)
	last := tenant(2, 10, 99)
	var in network.Intent
	tenant(2, 20, 150, func(x *network.Intent) { in = *x; in.Edges = 2 })
	steady, problems := in.Steady(last, map[string]bool{last.Networks[0].Name: true})
	g.Expect(problems).To(BeEmpty())
	g.Expect(steady).To(Equal(in))
}

// TestAnEdgeLessAppliesAtOnce: machines on the network or not, it moves nothing
// that is kept for them.
func TestAnEdgeLessAppliesAtOnce(t *testing.T) {
	g := NewWithT(t)
	var in network.Intent
	last := tenant(2, 10, 99, func(x *network.Intent) { x.Edges = 2; in = *x })
	g.Expect(last.Networks[0].Edges).To(HaveLen(2))
	in.Edges = 1
	steady, problems := in.Steady(last, map[string]bool{last.Networks[0].Name: true})
	g.Expect(problems).To(BeEmpty())
	plan, problems := network.NewPlan(steady)
	g.Expect(problems).To(BeEmpty())
	g.Expect(plan.Networks[0].Edges).To(Equal(last.Networks[0].Edges[:1]))
	g.Expect(plan.Networks[0].ReservedAddresses).To(HaveExactElements(last.Networks[0].Edges[1].Address))
}

// TestAddressesInUseNeverMove is the law, over any two worlds that follow each
// other: whatever comes between, a network with machines keeps what they have
// pinned, and one without is as it is asked for.
func TestAddressesInUseNeverMove(t *testing.T) {
	steadied := 0
	for seed := range uint64(5000) {
		before := world(seed)
		last, problems := network.NewPlan(before)
		if problems.Blocking() {
			continue
		}
		r := rand.New(rand.NewPCG(seed, 7))
		used, wanted := map[string]bool{}, map[string]bool{}
		for _, n := range last.Networks {
			used[n.Name] = r.IntN(3) > 0
			wanted[n.Name] = used[n.Name]
		}
		next := world(seed + 100000)
		for _, s := range next.Segments {
			wanted[s.Attachment.NetworkName()] = true
		}
		in, notes := next.Keeping(last, wanted).Steady(last, used)
		plan, more := network.NewPlan(in)
		if more.Blocking() {
			continue // what is served stays
		}
		plan = plan.Keeping(last, wanted)
		steadied += len(notes)
		for _, n := range last.Networks {
			for _, now := range plan.Networks {
				if now.Name == n.Name && used[n.Name] && pinned(n) != pinned(now) {
					t.Fatalf("seed %d: %s moves from %s to %s", seed, n.Name, pinned(n), pinned(now))
				}
			}
		}
		if err := plan.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if steadied < 100 {
		t.Fatalf("only %d networks were to move", steadied)
	}
}

// pinned is what machines of n know by heart.
func pinned(n network.Network) string {
	var own []netip.Addr
	for _, e := range n.Edges {
		own = append(own, e.Address)
	}
	return fmt.Sprint(n.CIDR, n.NextHop, n.ServiceAddress, append(own, n.ReservedAddresses...))
}
