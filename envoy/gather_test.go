package envoy

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/proto"

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
	g.Expect(never).To(BeZero())
	g.Expect(d.bytes).To(BeNumerically(">", removalsAtOnce))
}

// TestANameThatMovesAgainChangesEndpoints: it leads to its new backend at once. The listener changes once, for all of its
// names. After that, no move of any of them changes it, until there is room again.
func TestANameThatMovesAgainChangesEndpoints(t *testing.T) {
	g := NewWithT(t)
	now := time.Now()
	behind := map[string][]netip.AddrPort{"a:443": {netip.MustParseAddrPort("10.0.0.1:443")}, "b:443": {netip.MustParseAddrPort("10.0.0.2:443")}}
	on := func(first, second string) Resources {
		n := network.Network{Backends: []network.Backend{{Name: "a:443", Port: 443}, {Name: "b:443", Port: 443}}}
		n.Listeners = []network.Listener{{Address: service, Port: 443, Forwards: []network.Forward{
			{ServerNames: []string{"first"}, Backend: first}, {ServerNames: []string{"second"}, Backend: second},
		}}}
		return NewResources(n, Options{}, behind)
	}
	leads := func(r Resources) (out []string) {
		for _, c := range chainsOf(r.Listeners[onVLAN+":443"]) {
			at := r.Endpoints[clusterOf(c)].GetEndpoints()[0].GetLbEndpoints()[0].GetEndpoint()
			out = append(out, c.GetName()+" "+at.GetAddress().GetSocketAddress().GetAddress())
		}
		return out
	}
	moved, d, again := gather(on("a:443", "a:443"), on("b:443", "a:443"), full(now), now)
	g.Expect(leads(moved)).To(Equal([]string{"first 10.0.0.2", "second 10.0.0.1"}))
	g.Expect(again).To(BeTemporally(">", now))
	bytes := d.bytes
	for _, to := range [][2]string{{"a:443", "a:443"}, {"a:443", "b:443"}, {"b:443", "b:443"}} {
		next, after, _ := gather(moved, on(to[0], to[1]), d, now)
		g.Expect(same(next.Listeners, moved.Listeners)).To(BeTrue(), "%v", to)
		g.Expect(same(next.Clusters, moved.Clusters)).To(BeTrue(), "%v", to)
		at := map[string]string{"a:443": " 10.0.0.1", "b:443": " 10.0.0.2"}
		g.Expect(leads(next)).To(Equal([]string{"first" + at[to[0]], "second" + at[to[1]]}))
		moved, d = next, after
	}
	g.Expect(d.bytes).To(Equal(bytes), "no listener changed")
	wanted := on("b:443", "a:443")
	out, _, never := gather(moved, wanted, d, now.Add(24*time.Hour))
	g.Expect(out.equal(wanted)).To(BeTrue())
	g.Expect(never).To(BeZero())
}

// TestANameThatMovesWithItsBackend: the cluster that goes is not kept for another name, and the name moves.
func TestANameThatMovesWithItsBackend(t *testing.T) {
	g := NewWithT(t)
	now := time.Now()
	from, wanted := NewResources(blue(), Options{}, pods()), NewResources(moved(), Options{}, pods())
	out, d, _ := gather(from, wanted, full(now), now)
	g.Expect(out.Clusters).NotTo(HaveKey(oauth.Name))
	g.Expect(out.Endpoints).NotTo(HaveKey(oauth.Name))
	g.Expect(led(out, wanted)).To(Succeed())
	g.Expect(d.bytes).To(BeNumerically(">", removalsAtOnce))
}

// TestAListenerThatFlapsIsNoChange: one that goes stays without endpoints, if its address may be served. At any other
// address it goes at once.
func TestAListenerThatFlapsIsNoChange(t *testing.T) {
	g := NewWithT(t)
	now := time.Now()
	n, without := blue(), blue()
	port := network.Backend{Name: "port:8443", Service: "port", Port: 8443}
	n.Backends = append(n.Backends, port)
	n.Listeners = append(n.Listeners, network.Listener{Address: service, Port: 8443, Default: port.Name})
	o := Options{Open: []netip.Addr{service}}
	with := NewResources(n, o, map[string][]netip.AddrPort{port.Name: {netip.MustParseAddrPort("10.0.0.1:443")}})
	gone, d, again := gather(with, NewResources(without, o, nil), full(now), now)
	g.Expect(same(gone.Listeners, with.Listeners)).To(BeTrue())
	g.Expect(gone.Clusters).To(HaveKey(port.Name))
	g.Expect(gone.Endpoints[port.Name].GetEndpoints()).To(BeEmpty(), "no connection to it is possible")
	g.Expect(again).To(BeTemporally(">", now))
	back, d, _ := gather(gone, with, d, now)
	g.Expect(back.equal(with)).To(BeTrue())
	g.Expect(d).To(Equal(full(now)), "no listener changed")
	for what, c := range map[string]struct {
		wanted Resources
		d      drained
		at     time.Time
	}{
		"its address left":    {NewResources(without, Options{}, nil), d, now},
		"there is room again": {NewResources(without, o, nil), d, again},
	} {
		closed, _, never := gather(gone, c.wanted, c.d, c.at)
		g.Expect(closed.equal(c.wanted)).To(BeTrue(), what)
		g.Expect(never).To(BeZero(), what)
	}
}

// led returns an error if a listener of wanted is not in out, or leads elsewhere.
func led(out, wanted Resources) error {
	for name, l := range wanted.Listeners {
		is := chainsByName(out.Listeners[name])
		for _, c := range chainsOf(l) {
			has := is[c.GetName()]
			if has == nil {
				return fmt.Errorf("listener %s lacks %s", name, c.GetName())
			}
			at, want := proto.CloneOf(out.Endpoints[clusterOf(has)]), wanted.Endpoints[clusterOf(c)]
			if at == nil || out.Clusters[clusterOf(has)] == nil {
				return fmt.Errorf("listener %s names %s, which is not there", name, clusterOf(has))
			}
			if at.ClusterName = want.GetClusterName(); !proto.Equal(at, want) {
				return fmt.Errorf("listener %s: %s leads to %v instead of %v", name, c.GetName(), at, want)
			}
		}
	}
	return nil
}

// TestGatheringLeavesNothingOut: whatever is wanted is there, what is not wanted has no endpoints, and
// what is kept goes some time.
func TestGatheringLeavesNothingOut(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	from, d, now := Resources{}, drained{}, time.Now()
	changed := 0
	for range 5000 {
		now = now.Add(time.Duration(r.IntN(200)) * time.Second)
		var o Options
		if r.IntN(4) > 0 {
			o.Open = []netip.Addr{service}
		}
		wanted := NewResources(anyNetwork(r), o, anyEndpoints(r))
		out, after, again := gather(from, wanted, d, now)
		if err := led(out, wanted); err != nil {
			t.Fatal(err)
		}
		owned := map[string]bool{}
		for name, l := range out.Listeners {
			if wanted.Listeners[name] == nil && len(o.Open) == 0 {
				t.Fatalf("listener %s does not close", name)
			}
			for _, c := range clustersOf(l) {
				if out.Clusters[c] == nil || out.Endpoints[c] == nil {
					t.Fatalf("listener %s names %s, which is not there", name, c)
				}
			}
			for name, c := range chainsByName(l) {
				owned[clusterOf(c)] = owned[clusterOf(c)] || chainsByName(wanted.Listeners[l.GetName()])[name] != nil
			}
			if !proto.Equal(l, from.Listeners[name]) && from.Listeners[name] != nil {
				changed++
			}
		}
		for name, e := range out.Endpoints {
			if wanted.Endpoints[name] == nil && !owned[name] && len(e.GetEndpoints()) > 0 {
				t.Fatalf("%s has endpoints", name)
			}
		}
		if again.IsZero() && !same(out.Listeners, wanted.Listeners) {
			t.Fatal("what is kept never goes")
		}
		from, d = out, after
	}
	t.Logf("listeners changed %d times", changed)
}
