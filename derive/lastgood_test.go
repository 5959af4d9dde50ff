package derive_test

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestRetaining: a network is retained while it is still requested.
func TestRetaining(t *testing.T) {
	g := NewWithT(t)
	last := network.Plan{Networks: []network.Network{{Name: "a.old", Primary: true, Attachment: network.Attachment{Namespace: "a", Name: "old"}}}}
	now := network.Plan{Networks: []network.Network{{Name: "a.new", Primary: true, Attachment: network.Attachment{Namespace: "a", Name: "new"}}}}

	kept, _ := derive.Retaining(now, last, []string{"a.old", "a.new"})
	g.Expect(kept.Networks).To(HaveExactElements(now.Networks[0], last.Networks[0]))
	g.Expect(now.Networks).To(HaveLen(1), "plans are values")

	kept, _ = derive.Retaining(now, last, []string{"a.new"})
	g.Expect(kept.Networks).To(HaveExactElements(now.Networks[0]))
	kept, _ = derive.Retaining(now, now, []string{"a.new"})
	g.Expect(kept.Networks).To(HaveLen(1), "a network that is decided again is not kept twice")
}

// TestRetainingOneNetwork: a NodePool that changes to another NAD of the same layer-2 network uses the network that runs. No second network
// with the same addresses is created.
func TestRetainingOneNetwork(t *testing.T) {
	g := NewWithT(t)
	on := func(name, layer2 string) network.Plan {
		return network.Plan{Networks: []network.Network{{Name: "a." + name, Primary: true, Attachment: network.Attachment{Namespace: "a", Name: name, Layer2: layer2}}}}
	}
	last, now := on("old", "bridge br1, VLAN 100"), on("new", "bridge br1, VLAN 100")
	kept, displaced := derive.Retaining(now, last, []string{"a.old", "a.new"})
	g.Expect(kept).To(Equal(last))
	g.Expect(displaced).To(HaveExactElements(And(HaveField("Blocks()", false), WithTransform(message, And(ContainSubstring("a/new"), ContainSubstring("a/old"))))))
	kept, displaced = derive.Retaining(now, last, []string{"a.new"})
	g.Expect(displaced).To(BeEmpty())
	g.Expect(kept).To(Equal(now), "no VM uses the old one")
}

// TestRetainingWaitingEndpoints: while endpoints are missing, the plan does not change, to the byte.
func TestRetainingWaitingEndpoints(t *testing.T) {
	for seed := range uint64(2000) {
		in := world(seed)
		last, _ := derived(in)
		r := rand.New(rand.NewPCG(seed, 3))
		now := in
		now.Endpoints = nil
		for _, e := range in.Endpoints {
			if r.IntN(2) > 0 {
				now.Waiting = append(now.Waiting, e.Name)
				continue
			}
			now.Endpoints = append(now.Endpoints, e)
		}
		kept, _ := after(now, last)
		if !bytes.Equal(kept.JSON(), last.JSON()) {
			t.Fatalf("seed %d: %v wait, and the plan changed:\n%s", seed, now.Waiting, cmp.Diff(last, kept, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })))
		}
	}
}

// TestStaleEndpoint: a waiting endpoint that is still served is a Warning.
func TestStaleEndpoint(t *testing.T) {
	g := NewWithT(t)
	last := network.Plan{Endpoints: []network.Endpoint{{Name: "oauth"}}}
	var ps problem.Problems
	for _, name := range []string{"oauth", "apps"} {
		ps = append(ps, problem.New(problem.EndpointServiceMissing, problem.Subject{Kind: "Endpoint", Name: name}, problem.Args{"object": {"Service x"}}))
	}
	kept := derive.Stale(network.Facts{Problems: ps, Waiting: []string{"oauth", "apps"}}, last)
	g.Expect(kept[0].Severity).To(Equal(problem.SeverityWarning))
	g.Expect(message(kept[0])).To(ContainSubstring("is still served"))
	g.Expect(kept[1]).To(Equal(ps[1]), "there was none, so it is waited for")
	g.Expect(ps[0].Reason).To(Equal(problem.WaitingForEndpoint), "problems are values")
}

// TestStaleEndpointThatIsPublished: a problem about an endpoint that HyperShift has published stays.
func TestStaleEndpointThatIsPublished(t *testing.T) {
	g := NewWithT(t)
	last := network.Plan{Endpoints: []network.Endpoint{{Name: "ignition-server"}, {Name: "extra"}}}
	subject := func(name string) problem.Subject { return problem.Subject{Kind: "Endpoint", Name: name} }
	ps := problem.Problems{
		problem.New(problem.IgnitionRouteNotAdmitted, subject("ignition-server"), problem.Args{"object": {"Route ignition-server"}}),
		problem.New(problem.RouteServiceMissing, subject("extra"), problem.Args{"object": {"Service extra"}, "route": {"extra"}}),
	}
	kept := derive.Stale(network.Facts{Problems: ps, Waiting: []string{"extra"}}, last)
	g.Expect(kept[0]).To(Equal(ps[0]))
	g.Expect(kept[1]).To(And(HaveField("Cause", problem.LastGoodEndpoint), HaveField("Severity", problem.SeverityInfo)), "a hint stays one")
}

// TestRemovedEndpoint: an endpoint that is no longer requested is removed. One that returns
// at another address is served there.
func TestRemovedEndpoint(t *testing.T) {
	g := NewWithT(t)
	old := named("oauth", "old.example.com", 443, network.MatchServerName)
	last, _ := derived(serving(old))

	gone := serving()
	without, _ := after(gone, last)
	g.Expect(without.Endpoints).To(BeEmpty())

	moved := serving(named("oauth", "new.example.com", 443, network.MatchServerName))
	moved.Waiting = []string{"oauth"}
	with, _ := after(moved, last)
	g.Expect(with.Endpoints).To(HaveExactElements(moved.Endpoints[0]))
}
