package derive_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A situation is everything that Derive is given.
type situation struct {
	given
	Last   network.Plan
	Others []derive.OtherCluster
}

// situationOf makes one from seed: a cluster at any stage of its life, on networks
// with VMs and with other clusters at any stage of theirs.
func situationOf(seed uint64) situation {
	r := rand.New(rand.NewPCG(seed, 11))
	makes := world
	if seed%2 == 1 {
		makes = crowded
	}
	s := situation{given: makes(seed)}
	if r.IntN(3) > 0 {
		s.Last = inForce(makes(seed + 1_000_000))
	}
	for _, n := range s.Networks {
		s.Wanted = append(s.Wanted, n.Attachment.NetworkName())
	}
	for _, n := range s.Last.Networks {
		if r.IntN(2) == 0 {
			s.InUse, s.Wanted = append(s.InUse, n.Name), append(s.Wanted, n.Name)
			if r.IntN(2) == 0 {
				s.BootedFrom = append(s.BootedFrom, n.Name)
			}
		}
		if r.IntN(4) == 0 {
			s.VMAddresses = append(s.VMAddresses, network.VMAddress{VM: "vm", Network: n.Name, Address: n.NextHopVIP.Next().Next()})
		}
	}
	for _, e := range s.Last.Endpoints {
		if r.IntN(2) == 0 {
			s.Waiting = append(s.Waiting, e.Name)
		}
	}
	for i := range r.IntN(3) {
		o := derive.OtherCluster{Name: fmt.Sprint("clusters/other", i), Older: r.IntN(2) == 0, Unserved: r.IntN(4) == 0}
		if r.IntN(2) == 0 {
			o.Serves = inForce(makes(seed + 2_000_000 + uint64(i)))
		}
		if r.IntN(2) == 0 {
			o.Wants = inForce(makes(seed + 3_000_000 + uint64(i)))
		}
		for _, n := range slices.Concat(o.Serves.Networks, o.Wants.Networks) {
			o.On = append(o.On, n.Attachment)
		}
		s.Others = append(s.Others, o)
	}
	return s
}

// crowded is a world whose networks have few CIDRs to choose from, so that they take those of
// each other.
func crowded(seed uint64) given {
	r := rand.New(rand.NewPCG(seed, 13))
	in := world(seed)
	in.Networks = nil
	cidrs := []string{"10.1.0.0/24", "10.2.0.0/24", "10.3.0.0/24", "10.2.0.0/23", "10.1.0.0/25"}
	for i := range 2 + r.IntN(3) {
		s := onVLAN(fmt.Sprint("vlan", i), cidrs[r.IntN(len(cidrs))], "cidr")
		s.Primary = r.IntN(2) == 0
		in.Networks = append(in.Networks, s)
	}
	return in
}

// inForce is the plan of in, if it was applied once. The zero Plan where none could be.
func inForce(in given) network.Plan {
	p, _ := derive.Derive(in.Request, in.Facts, network.Plan{}, nil).Plan()
	return p
}

func (s situation) derive() derive.Decision {
	return derive.Derive(s.Request, s.Facts, s.Last, s.Others)
}

// inAnotherOrder is s with every list in another order.
func (s situation) inAnotherOrder(seed uint64) situation {
	r := rand.New(rand.NewPCG(seed, 12))
	s.given = shuffled(s.given, seed)
	s.Wanted, s.InUse, s.Waiting = mixed(r, s.Wanted), mixed(r, s.InUse), mixed(r, s.Waiting)
	s.BootedFrom = mixed(r, s.BootedFrom)
	s.VMAddresses, s.Others = mixed(r, s.VMAddresses), mixed(r, s.Others)
	return s
}

func mixed[T any](r *rand.Rand, in []T) []T {
	out := slices.Clone(in)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// deriveLaws holds one situation against the laws of Derive.
func deriveLaws(t *testing.T, seed uint64) (applicable bool) {
	t.Helper()
	s := situationOf(seed)
	before := text(t, s)
	d := s.derive()
	if d2 := cmp.Diff(before, text(t, s)); d2 != "" {
		t.Fatalf("seed %d: an argument was changed: %s", seed, d2)
	}
	again := s.inAnotherOrder(seed).derive()
	if diff := cmp.Diff(text(t, d.Draft()), text(t, again.Draft())); diff != "" {
		t.Fatalf("seed %d: order has a meaning: %s", seed, diff)
	}
	p, ok := d.Plan()
	if ok == d.Problems.Blocking() {
		t.Fatalf("seed %d: applicable %v with %v", seed, ok, d.Problems)
	}
	if !ok {
		if len(p.Networks) > 0 {
			t.Fatalf("seed %d: a refused plan is given to apply", seed)
		}
		return false
	}
	if err := p.Validate(); err != nil {
		t.Fatalf("seed %d: no Error, but: %v\n%s", seed, err, before)
	}
	s.keepsPinned(t, seed, p)
	s.Last = p
	settled, ok := s.derive().Plan()
	if diff := cmp.Diff(text(t, p), text(t, settled)); !ok || diff != "" {
		t.Errorf("seed %d: the same again is not the same (%v): %v\nthen %v\n%s", seed, ok, d.Problems, s.derive().Problems, diff)
	}
	return true
}

// keepsPinned: networks with VMs keep their addresses, and are primary while VMs boot from them.
func (s situation) keepsPinned(t *testing.T, seed uint64, p network.Plan) {
	t.Helper()
	for _, was := range s.Last.Networks {
		i := slices.IndexFunc(p.Networks, func(n network.Network) bool { return n.Name == was.Name })
		if slices.Contains(s.InUse, was.Name) && (i < 0 || pinned(p.Networks[i]) != pinned(was)) {
			t.Fatalf("seed %d: network %s is in use, and moves or goes\n%s", seed, was.Name, text(t, p))
		}
		if slices.Contains(s.BootedFrom, was.Name) && was.Primary && !p.Networks[i].Primary {
			t.Fatalf("seed %d: VMs boot from network %s, which becomes secondary", seed, was.Name)
		}
	}
}

// TestDeriveLaws: for any input, Derive returns a result, is deterministic, changes no argument, and returns only valid plans. It moves no
// address in use, and a second call with its plan changes nothing.
func TestDeriveLaws(t *testing.T) {
	applicable := 0
	for seed := range uint64(6000) {
		if deriveLaws(t, seed) {
			applicable++
		}
	}
	if applicable < 400 {
		t.Fatalf("only %d situations have a plan to apply", applicable)
	}
}

func FuzzDerive(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { deriveLaws(t, seed) })
}

// TestDecisionWithAnError: a problem that is added to a Decision later also refuses the plan.
func TestDecisionWithAnError(t *testing.T) {
	d := derive.Derive(asking(1, onVLAN("a", "10.1.0.0/24", "cidr")).Request, network.Facts{}, network.Plan{}, nil)
	if _, ok := d.Plan(); !ok {
		t.Fatal(d.Problems)
	}
	refused := d.With(problem.Problem{Severity: problem.SeverityError})
	if p, ok := refused.Plan(); ok || len(p.Networks) > 0 || len(refused.Draft().Networks) != 1 {
		t.Fatal("a plan is applied with an Error")
	}
	if _, ok := d.Plan(); !ok {
		t.Fatal("decisions are values")
	}
}
