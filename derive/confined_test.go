package derive_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestConfinedError: an Error of one network refuses only that network, if VMs boot from another one. Otherwise it refuses the plan.
func TestConfinedError(t *testing.T) {
	good, bad := onVLAN("good", "10.1.0.0/24", "cidr.pool-good"), onVLAN("bad", "10.2.0.0/24", "cidr.pool-bad")
	bad.Gateway = netip.MustParseAddr("10.9.0.1")
	wanted := []string{"a.good", "a.bad"}
	confined := HaveExactElements(And(HaveField("Reason", problem.AddressConflict), HaveField("Severity", problem.SeverityError), HaveField("Confined", true)))

	t.Run("a new network", func(t *testing.T) {
		g := NewWithT(t)
		alone, _ := served(network.Plan{}, wanted, good)
		p, problems := served(network.Plan{}, wanted, good, bad)
		g.Expect(problems).To(confined)
		g.Expect(p).To(Equal(alone))
	})
	t.Run("a network that runs", func(t *testing.T) {
		g := NewWithT(t)
		was := bad
		was.Gateway = netip.Addr{}
		last, _ := served(network.Plan{}, wanted, good, was)
		more := good
		more.Settings.LeaseTime = network.Duration(7200e9)
		p, problems := served(last, wanted, more, bad)
		g.Expect(problems).To(confined)
		g.Expect(p.Networks[0]).To(Equal(last.Networks[0]), "the network with the Error stays as it runs")
		g.Expect(p.Networks[1].DHCP.LeaseTime).To(Equal(network.Duration(7200e9)), "the other network is changed")
	})
	t.Run("the only network", func(t *testing.T) {
		g := NewWithT(t)
		for _, others := range [][]network.NetworkRequest{nil, {bad}} {
			in := asking(1, append(others, onVLAN("bad2", "127.0.0.0/24", "cidr"))...)
			_, ok := derive.Derive(in.Request, in.Facts, network.Plan{}, nil).Plan()
			g.Expect(ok).To(BeFalse())
		}
		secondary := good
		secondary.Primary = false
		_, problems := served(network.Plan{}, wanted, secondary, bad)
		g.Expect(problems.Blocking()).To(BeTrue(), "no VM boots from the other one")
	})
	t.Run("a network that could not be requested", func(t *testing.T) {
		g := NewWithT(t)
		in := asking(1, good)
		missing := problem.New(problem.NADNotFound, problem.Subject{}, problem.Args{"nad": {"a/bad"}})
		missing.Confined = true
		in.Facts.Problems, in.Facts.Refused = problem.Problems{missing}, []string{"a.bad"}
		_, ok := derive.Derive(in.Request, in.Facts, network.Plan{}, nil).Plan()
		g.Expect(ok).To(BeTrue())

		in.Networks = nil
		last, _ := served(network.Plan{}, []string{"a.bad"}, onVLAN("bad", "10.2.0.0/24", "cidr"))
		in.Wanted = []string{"a.bad"}
		d := derive.Derive(in.Request, in.Facts, last, nil)
		_, ok = d.Plan()
		g.Expect(ok).To(BeFalse(), "the only network that runs is the one with the Error")
		g.Expect(d.Problems).To(HaveExactElements(HaveField("Confined", false)))
	})
	t.Run("two that overlap, and a third", func(t *testing.T) {
		g := NewWithT(t)
		p, problems := served(network.Plan{}, wanted, good, onVLAN("one", "10.3.0.0/24", "cidr"), onVLAN("two", "10.3.0.0/16", "cidr"))
		g.Expect(problems).To(confined)
		g.Expect(p.Networks).To(HaveExactElements(HaveField("Name", "a.good")), "neither has precedence")
	})
	t.Run("the CIDR that a refused network would leave", func(t *testing.T) {
		g := NewWithT(t)
		last, _ := served(network.Plan{}, wanted, good, onVLAN("bad", "10.2.0.0/24", "cidr"))
		moves := onVLAN("bad", "10.7.0.0/24", "cidr")
		moves.Gateway = netip.MustParseAddr("10.9.0.1")
		p, problems := served(last, wanted, good, moves, onVLAN("new", "10.2.0.0/24", "cidr"))
		g.Expect(problems).To(HaveLen(2))
		g.Expect(p).To(Equal(last), "it still has that CIDR")
	})
}

// TestConfinedLaw: despite confined Errors, edges serve what they would serve if the networks with these Errors were not requested.
func TestConfinedLaw(t *testing.T) {
	found := 0
	for seed := range uint64(6000) {
		s := situationOf(seed)
		d := s.derive()
		p, ok := d.Plan()
		var refused []string
		for _, x := range d.Problems {
			if x.Confined {
				refused = append(refused, x.Subject.Namespace+"."+x.Subject.Name)
			}
		}
		if !ok || len(refused) == 0 || slices.Contains(refused, ".") {
			continue
		}
		found++
		boots := func(n network.Network) bool { return n.Primary && !slices.Contains(refused, n.Name) }
		if !slices.ContainsFunc(p.Networks, boots) {
			t.Fatalf("seed %d: confined Errors, and VMs boot from no other network: %v", seed, d.Problems)
		}
		for _, n := range p.Networks {
			i := slices.IndexFunc(s.Last.Networks, func(x network.Network) bool { return x.Name == n.Name })
			if slices.Contains(refused, n.Name) && (i < 0 || pinned(s.Last.Networks[i]) != pinned(n)) {
				t.Fatalf("seed %d: network %s has an Error, and was created or changed", seed, n.Name)
			}
		}
		if !slices.ContainsFunc(d.Problems, func(x problem.Problem) bool { return x.Cause == problem.NetworksOverlap }) {
			s.Networks = slices.DeleteFunc(slices.Clone(s.Networks), func(n network.NetworkRequest) bool { return slices.Contains(refused, n.Attachment.NetworkName()) })
			named := map[string][]netip.Addr{} // addresses in settings of a refused network still count as hosts
			for _, n := range p.Networks {
				named[n.Name] = n.DHCP.Named
			}
			want := s.derive().Draft().WithEach(func(n *network.Network) {
				if len(network.Without(n.DHCP.Named, func(a netip.Addr) bool { return slices.Contains(named[n.Name], a) })) == 0 {
					n.DHCP.Named = named[n.Name]
				}
			})
			if diff := cmp.Diff(text(t, p), text(t, want)); diff != "" {
				t.Fatalf("seed %d: not the plan of the other networks: %s", seed, diff)
			}
		}
	}
	if found < 50 {
		t.Fatalf("only %d situations have confined Errors", found)
	}
}

// TestSecondaryThatGivesWay: a secondary network that must not get its new CIDR keeps its previous one. Meanwhile, no other network gets
// the previous one.
func TestSecondaryThatGivesWay(t *testing.T) {
	g := NewWithT(t)
	boot, storage := onVLAN("boot", "10.1.0.0/24", "machineNetwork"), onVLAN("storage", "10.3.0.0/24", "cidr")
	storage.Primary = false
	wanted := []string{"a.boot", "a.storage"}
	last, _ := served(network.Plan{}, wanted, boot, storage)
	moved := storage
	moved.CIDR = netip.MustParsePrefix("10.4.0.0/24")
	theirs, _ := served(network.Plan{}, nil, moved)
	other := derive.OtherCluster{Name: "clusters/green", Older: true, On: []network.Attachment{storage.Attachment}, Serves: theirs}

	boot.CIDR = netip.MustParsePrefix("10.3.0.0/24")
	in := asking(1, boot, moved)
	in.Wanted = wanted
	d := derive.Derive(in.Request, in.Facts, last, []derive.OtherCluster{other})
	g.Expect(d.Draft().Validate()).To(Succeed())
	g.Expect(d.Draft().Networks[1].CIDR).To(Equal(storage.CIDR), "it stays as it runs")
	g.Expect(d.Problems).To(ConsistOf(
		And(HaveField("Cause", problem.SharedAdditionalAddresses), HaveField("Severity", problem.SeverityWarning)),
		And(HaveField("Cause", problem.NetworksOverlap), HaveField("Severity", problem.SeverityError))))
}
