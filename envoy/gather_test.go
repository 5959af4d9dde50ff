package envoy

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// full is what is drained while no removal is possible.
func full(now time.Time) drained { return drained{bytes: removalsAtOnce, at: now} }

// TestANameThatFlapsIsNoChange: a chain that is kept leads nowhere, and its return changes endpoints
// only. Once there is room again, it goes.
func TestANameThatFlapsIsNoChange(t *testing.T) {
	g := NewWithT(t)
	now := time.Now()
	withOAuth, without := blue(), blue()
	without.Backends = []network.Backend{api, ingress}
	without.Listeners[0].Forwards = slices.DeleteFunc(without.Listeners[0].Forwards, func(f network.Forward) bool { return f.Backend == oauth.Name })
	with := NewResources(withOAuth, Options{}, pods())
	gone, d, again := gather(with, NewResources(without, Options{}, pods()), full(now), now)
	g.Expect(same(gone.Listeners, with.Listeners)).To(BeTrue())
	g.Expect(same(gone.Clusters, with.Clusters)).To(BeTrue())
	g.Expect(gone.Endpoints[oauth.Name].GetEndpoints()).To(BeEmpty(), "no connection to it is possible")
	g.Expect(again).To(BeTemporally(">", now))
	g.Expect(again).To(BeTemporally("<", now.Add(time.Hour)))

	back, d, never := gather(gone, with, d, now)
	g.Expect(back.equal(with)).To(BeTrue())
	g.Expect(never).To(BeZero())
	g.Expect(d).To(Equal(full(now)), "no listener changed")

	wanted := NewResources(without, Options{}, pods())
	after, d, never := gather(gone, wanted, d, again)
	g.Expect(same(after.Listeners, wanted.Listeners)).To(BeTrue(), "there is room for one")
	g.Expect(after.Clusters).NotTo(HaveKey(oauth.Name))
	g.Expect(after.Endpoints[oauth.Name].GetEndpoints()).To(BeEmpty())
	g.Expect(after.Endpoints).To(HaveKey(oauth.Name), "no connection is possible if Envoy refuses the listener, too")
	g.Expect(never).To(BeZero())
	g.Expect(d.bytes).To(BeNumerically(">", removalsAtOnce))
}

// TestANameThatMovesDoesNotWait: its former cluster keeps its endpoints until Envoy has moved it.
func TestANameThatMovesDoesNotWait(t *testing.T) {
	g := NewWithT(t)
	now := time.Now()
	from, wanted := NewResources(blue(), Options{}, pods()), NewResources(moved(), Options{}, pods())
	out, d, again := gather(from, wanted, full(now), now)
	g.Expect(out.equal(wanted)).To(BeTrue())
	g.Expect(out.Endpoints).NotTo(HaveKey(oauth.Name))
	g.Expect(again).To(BeZero())
	g.Expect(d.bytes).To(BeNumerically(">", removalsAtOnce))
}

// TestGatheringLeavesNothingOut: whatever is wanted is there, what is not wanted has no endpoints, and
// what is kept goes some time.
func TestGatheringLeavesNothingOut(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	from, d, now := Resources{}, drained{}, time.Now()
	for range 2000 {
		now = now.Add(time.Duration(r.IntN(600)) * time.Second)
		wanted := NewResources(anyNetwork(r), Options{}, anyEndpoints(r))
		out, after, again := gather(from, wanted, d, now)
		for name, l := range wanted.Listeners {
			if gone, moved := leaving(l, out.Listeners[name]); len(gone) > 0 || moved {
				t.Fatalf("listener %s lacks %v", name, gone)
			}
			for _, c := range clustersOf(out.Listeners[name]) {
				if out.Clusters[c] == nil || out.Endpoints[c] == nil {
					t.Fatalf("listener %s names %s, which is not there", name, c)
				}
			}
		}
		for name, e := range out.Endpoints {
			if wanted.Endpoints[name] == nil && len(e.GetEndpoints()) > 0 {
				t.Fatalf("%s has endpoints", name)
			}
		}
		if again.IsZero() && !same(out.Listeners, wanted.Listeners) {
			t.Fatal("what is kept never goes")
		}
		from, d = out, after
	}
}
