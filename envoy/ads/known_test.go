package ads

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

const (
	cds  = clusterType
	eds  = endpointType
	lds  = listenerType
	rtds = runtimeType
)

// answer is what an Envoy says to a response: why it refuses it, or nothing.
func answer(r *discoveryv3.DeltaDiscoveryResponse, refused string) *discoveryv3.DeltaDiscoveryRequest {
	out := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()}
	if refused != "" {
		out.ErrorDetail = status.New(codes.Internal, refused).Proto()
	}
	return out
}

// A played Envoy has what it took. It leaves out connections, and that a cluster warms.
type played struct {
	byType map[string]map[string]*discoveryv3.Resource
	// the types that were asked for, and the endpoints.
	asked map[string]bool
	wants map[string]bool
	// had is which clusters that are not in the target had endpoints.
	had map[string]bool
	// draining is that of the server.
	draining *draining
	now      time.Time
}

func newPlayed() *played {
	return &played{byType: map[string]map[string]*discoveryv3.Resource{rtds: {}, cds: {}, eds: {}, lds: {}}, asked: map[string]bool{}, wants: map[string]bool{}, draining: newDraining()}
}

// connects sends a new server what Envoy has.
func (p *played) connects(t *testing.T) *known {
	t.Helper()
	k := newKnown(p.draining)
	for _, typeURL := range served() {
		r := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, InitialResourceVersions: map[string]string{}}
		for name, x := range p.byType[typeURL] {
			r.InitialResourceVersions[name] = x.GetVersion()
		}
		if typeURL == eds {
			r.ResourceNamesSubscribe = slices.Sorted(maps.Keys(p.wants))
		}
		if typeURL == rtds || typeURL == cds || p.asked[typeURL] {
			p.says(t, k, r)
		}
	}
	return k
}

func (p *played) says(t *testing.T, k *known, r *discoveryv3.DeltaDiscoveryRequest) {
	t.Helper()
	p.asked[r.GetTypeUrl()] = true
	if err := k.requested(r, p.now); err != nil {
		t.Fatal(err)
	}
}

// takes applies a response as Envoy does: what is bad is left out, and then all counts as refused.
func (p *played) takes(t *testing.T, k *known, r *discoveryv3.DeltaDiscoveryResponse, bad func(*discoveryv3.Resource) bool) {
	t.Helper()
	refused := ""
	all := p.byType[r.GetTypeUrl()]
	for _, x := range r.GetResources() {
		if bad(x) {
			refused = "bad: " + x.GetName()
			continue
		}
		all[x.GetName()] = x
	}
	for _, name := range r.GetRemovedResources() {
		delete(all, name)
	}
	p.says(t, k, answer(r, refused))
	if r.GetTypeUrl() != cds {
		return
	}
	subscribe := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: eds}
	for name := range p.byType[cds] {
		if !p.wants[name] {
			p.wants[name] = true
			subscribe.ResourceNamesSubscribe = append(subscribe.ResourceNamesSubscribe, name)
		}
	}
	for name := range p.wants {
		if p.byType[cds][name] == nil {
			delete(p.wants, name)
			delete(p.byType[eds], name)
			subscribe.ResourceNamesUnsubscribe = append(subscribe.ResourceNamesUnsubscribe, name)
		}
	}
	p.says(t, k, subscribe)
	if !p.asked[lds] {
		p.says(t, k, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: lds})
	}
}

// broken returns a listener whose cluster, or the endpoints of it, are not there.
func (p *played) broken(t *testing.T) error {
	t.Helper()
	for name, x := range p.byType[lds] {
		l := &listenerv3.Listener{}
		if err := x.GetResource().UnmarshalTo(l); err != nil {
			t.Fatal(err)
		}
		for _, c := range resources.ClustersOf(l) {
			if p.byType[cds][c] == nil || p.byType[eds][c] == nil {
				return fmt.Errorf("listener %s names %s, which is not there", name, c)
			}
		}
	}
	return nil
}

// leaving returns the clusters that are not in the target, by name. moves: whether a name that leads there has another one in the
// target. reached: whether it has endpoints.
func (p *played) leaving(t *testing.T, to target) (moves, reached map[string]bool) {
	t.Helper()
	unpacked := func(x *discoveryv3.Resource, into proto.Message) {
		if x != nil && x.GetResource().UnmarshalTo(into) != nil {
			t.Fatal("not a resource of its type")
		}
	}
	moves, reached = map[string]bool{}, map[string]bool{}
	for name, x := range p.byType[lds] {
		has, wanted := &listenerv3.Listener{}, &listenerv3.Listener{}
		unpacked(x, has)
		unpacked(to.byType[lds][name], wanted)
		for _, c := range resources.ChainsOf(has) {
			stays := slices.ContainsFunc(resources.ChainsOf(wanted), func(w *listenerv3.FilterChain) bool { return w.GetName() == c.GetName() })
			moves[resources.ClusterOf(c)] = moves[resources.ClusterOf(c)] || stays
		}
	}
	for name, x := range p.byType[eds] {
		e := &endpointv3.ClusterLoadAssignment{}
		unpacked(x, e)
		reached[name] = len(e.GetEndpoints()) > 0
	}
	gone := func(name string, _ bool) bool { return to.byType[cds][name] != nil }
	maps.DeleteFunc(moves, gone)
	maps.DeleteFunc(reached, gone)
	return moves, reached
}

// reaches returns an error if a name leads to a cluster with endpoints that is not in the target, and has no other one there.
func (p *played) reaches(t *testing.T, to target) error {
	t.Helper()
	moves, reached := p.leaving(t, to)
	for name, stays := range moves {
		if reached[name] && !stays {
			return fmt.Errorf("%s is not in the target, and a name leads to its endpoints", name)
		}
	}
	return nil
}

// early returns an error if a cluster lost its endpoints before its names have moved.
func (p *played) early(t *testing.T, to target) error {
	t.Helper()
	moves, reached := p.leaving(t, to)
	for name, had := range p.had {
		if has, there := reached[name]; there && had && !has && moves[name] {
			return fmt.Errorf("%s has no endpoints before its names have moved", name)
		}
	}
	p.had = reached
	return nil
}

// doubts reports whether Envoy may have either of two versions of a listener, or none: it refused one together with others.
func doubts(k *known) bool {
	for _, h := range k.byType[lds].has {
		if len(h.maybe) > 1 || len(h.maybe) == 1 && !h.taken {
			return true
		}
	}
	return false
}

// has returns an error if there is anything else than the target.
func (p *played) has(to target) error {
	for _, typeURL := range served() {
		if !maps.EqualFunc(p.byType[typeURL], to.byType[typeURL], func(a, b *discoveryv3.Resource) bool { return a.GetVersion() == b.GetVersion() }) {
			return fmt.Errorf("%s: %v instead of %v", plural(typeURL), slices.Sorted(maps.Keys(p.byType[typeURL])), to.names(typeURL))
		}
	}
	return nil
}

var never = func(*discoveryv3.Resource) bool { return false }

// TestNoStepLeavesAListenerWithoutItsCluster: after any changes, rejections, silences and restarts of either side, each listener in force
// has its clusters and their endpoints. Once nothing is rejected, Envoy has everything that it should have. Until then, withdrawn names
// have no endpoints, and a name that moves has those of its previous cluster.
func TestNoStepLeavesAListenerWithoutItsCluster(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	looked := 0
	for history := range 300 {
		p := newPlayed()
		k := p.connects(t)
		now := time.Time{}
		var to target
		run := func(steps int, bad func(*discoveryv3.Resource) bool) {
			for range steps {
				now = now.Add(refusedAgain)
				p.now = now
				for _, x := range k.due(to, now) {
					p.takes(t, k, x, bad)
					if err := errors.Join(p.broken(t), p.early(t, to)); err != nil {
						t.Fatalf("history %d: %v", history, err)
					}
				}
			}
		}
		for range 8 {
			to = newTarget(resources.New(anyNetwork(r), resources.Options{}, anyEndpoints(r)))
			spoiled := r.IntN(4)
			bad := func(x *discoveryv3.Resource) bool {
				return spoiled > 0 && int(x.GetVersion()[0])%4 == spoiled && (history%2 == 0 || x.GetResource().GetTypeUrl() != eds)
			}
			run(r.IntN(6), bad)
			if history%2 == 1 && r.IntN(3) == 0 {
				run(20, bad)
				if err := p.reaches(t, to); err != nil && !doubts(k) {
					t.Fatalf("history %d: %v", history, err)
				}
				looked++
			}
			switch r.IntN(6) {
			case 0:
				k = p.connects(t)
			case 1:
				p = newPlayed()
				k = p.connects(t)
			}
		}
		run(40, never)
		if err := errors.Join(p.has(to), k.accepted(to, now)); err != nil {
			t.Fatalf("history %d: %v", history, err)
		}
	}
	if looked < 100 {
		t.Fatalf("only %d times was it seen what is withdrawn", looked)
	}
}

// TestWhatIsNotAnsweredIsNotDone: after a response that Envoy rejects, or does not answer for an hour, nothing that depends on it is sent.
// A resource that was rejected together with others is sent alone, and then again every ten seconds.
func TestWhatIsNotAnsweredIsNotDone(t *testing.T) {
	g := NewWithT(t)
	on := func(b network.Backend) target {
		return newTarget(resources.New(network.Network{
			Listeners: []network.Listener{{Address: service, Port: 443, Default: b.Name}, {Address: service, Port: 6443, Default: b.Name}},
			Backends:  []network.Backend{b},
		}, resources.Options{}, nil))
	}
	p := newPlayed()
	k, now := p.connects(t), time.Time{}
	for range 9 {
		for _, x := range k.due(on(api), now) {
			p.takes(t, k, x, never)
		}
	}
	g.Expect(p.has(on(api))).To(Succeed())
	g.Expect(k.accepted(on(api), now)).To(Succeed())

	to := on(oauth)
	for range 2 {
		for _, x := range k.due(to, now) {
			p.takes(t, k, x, never)
		}
	}
	moved := k.due(to, now)
	g.Expect(moved).To(HaveLen(1))
	g.Expect(moved[0].GetResources()).To(HaveLen(2))
	g.Expect(k.due(to, now.Add(time.Hour))).To(BeEmpty(), "it may be taken, or not")
	g.Expect(k.accepted(to, now)).To(MatchError(errNotYet))

	bad := func(x *discoveryv3.Resource) bool { return x.GetName() == onVLAN+":443" }
	p.takes(t, k, moved[0], bad)
	g.Expect(k.refusals(to)).To(BeEmpty(), "which of them is not known")
	for range 2 {
		alone := k.due(to, now)
		g.Expect(alone).To(HaveLen(1))
		g.Expect(alone[0].GetResources()).To(HaveLen(1))
		p.takes(t, k, alone[0], bad)
	}
	g.Expect(k.due(to, now)).To(BeEmpty())
	g.Expect(k.refusals(to)).To(Equal([]Refusal{{Type: "listener", Name: onVLAN + ":443", Why: "bad: " + onVLAN + ":443"}}))
	g.Expect(k.accepted(to, now)).To(MatchError("Envoy rejected listeners: bad: " + onVLAN + ":443\n" + errNotYet.Error()))
	g.Expect(p.broken(t)).To(Succeed(), "the other listener has moved")
	g.Expect(p.byType[cds]).To(And(HaveKey(api.Name), HaveKey(oauth.Name)))

	g.Expect(k.again()).To(Equal(now.Add(refusedAgain)))
	now = now.Add(refusedAgain)
	p.now = now
	settle := func() {
		for range 4 {
			for _, x := range k.due(to, now) {
				p.takes(t, k, x, never)
			}
		}
	}
	settle()
	g.Expect(k.accepted(to, now)).To(Succeed())
	g.Expect(k.refusals(to)).To(BeEmpty())
	g.Expect(p.byType[cds]).To(HaveKey(api.Name), "a connection that a former listener took may still ask the gate")
	g.Expect(k.again()).To(Equal(now.Add(resources.LongestStart)))
	now = k.again()
	settle()
	g.Expect(p.has(to)).To(Succeed())
	g.Expect(k.again()).To(BeZero())
}

// TestAnEnvoyThatComesAgainSaysWhatItHas: when Envoy connects again, it reports its resources. Only the difference is sent.
func TestAnEnvoyThatComesAgainSaysWhatItHas(t *testing.T) {
	g := NewWithT(t)
	to := newTarget(resources.New(blue(), resources.Options{}, nil))
	p := newPlayed()
	for typeURL := range p.byType {
		p.byType[typeURL], p.asked[typeURL] = maps.Clone(to.byType[typeURL]), true
	}
	for name := range to.byType[cds] {
		p.wants[name] = true
	}
	k := p.connects(t)
	for _, x := range k.due(to, time.Time{}) {
		g.Expect(x.GetResources()).To(BeEmpty())
		g.Expect(x.GetRemovedResources()).To(BeEmpty())
		p.takes(t, k, x, never)
	}
	g.Expect(k.accepted(to, time.Time{})).To(Succeed())
}
