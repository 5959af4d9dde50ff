// This file gathers changes. Envoy keeps each former version of a listener for the drain time of a
// day, even if no connection uses it. So after some changes a listener stays as it is for a while, and
// only endpoints change. It is pure.

package envoy

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/proto"
)

// What former listeners may take of Envoy's memory, as measured with Envoy 1.39 and rounded up.
const (
	formerListener = 16 << 10
	formerChain    = 4 << 10
	// removalsAtOnce is what former listeners may take until removals are gathered: 20 removals from a
	// listener of 50 names.
	removalsAtOnce = 4 << 20
	// removalsPerHour is what they may take after that, so that it is 32 MiB at most in a day: a
	// removal each 13 minutes with 50 names.
	removalsPerHour = 1 << 20
)

// A drained is what former listeners take, as far as it was not forgotten at removalsPerHour.
type drained struct {
	bytes int64
	at    time.Time
}

// after is d at now.
func (d drained) after(now time.Time) drained {
	if d.at.IsZero() {
		return drained{at: now}
	}
	forgotten := int64(now.Sub(d.at).Seconds() * removalsPerHour / time.Hour.Seconds())
	return drained{max(0, d.bytes-forgotten), now}
}

// until returns when the next removal is possible, to the second.
func (d drained) until() time.Time {
	over := d.bytes - removalsAtOnce
	return d.at.Add(time.Duration(float64(over)/removalsPerHour*float64(time.Hour)) + time.Second)
}

// gather returns what Envoy shall have of the wanted resources if it was to have from. While former listeners take
// removalsAtOnce, no listener changes for what can be done with endpoints alone:
//
//	a chain that goes      stays, and its cluster has no endpoints if nothing else wants it
//	a listener that goes   stays likewise, while its address may be served
//	a chain that moves     gets a cluster of its own, see own_cluster.go. When it moves again, its endpoints change
//
// Again is when to gather again, zero if Envoy has what is wanted.
func gather(from, wanted Resources, d drained, now time.Time) (out Resources, after drained, again time.Time) {
	d = d.after(now)
	out = Resources{Listeners: maps.Clone(wanted.Listeners), Clusters: maps.Clone(wanted.Clusters), Endpoints: maps.Clone(wanted.Endpoints), Runtimes: wanted.Runtimes, Open: wanted.Open}
	g := gathering{from: from, wanted: wanted, out: out, moves: moving(from, wanted)}
	kept := false
	for name, former := range from.Listeners {
		if d.bytes >= removalsAtOnce {
			g.keep(former, wanted.Listeners[name])
		}
		kept = kept || !proto.Equal(out.Listeners[name], wanted.Listeners[name])
		if !proto.Equal(former, out.Listeners[name]) {
			d.bytes += formerListener + int64(len(chainsOf(former)))*formerChain
		}
	}
	for c := range out.Clusters {
		if out.Endpoints[c] == nil {
			out.Endpoints[c] = &endpointv3.ClusterLoadAssignment{ClusterName: c}
		}
	}
	if kept {
		again = d.until()
	}
	return out, d, again
}

// A gathering is one call of gather. Moves are the clusters that are not wanted, and whose names lead to others: Envoy needs their
// endpoints until it has moved the names, so no other chain that leads there can stay without them.
type gathering struct {
	from, wanted, out Resources
	moves             map[string]bool
}

// keep leaves as much of former as it can, in the place of l. L is nil if the listener goes.
func (g *gathering) keep(former, l *listenerv3.Listener) {
	gone := slices.DeleteFunc(leaving(former, l), func(c *listenerv3.FilterChain) bool { return g.moves[clusterOf(c)] })
	if l == nil {
		if len(gone) == len(chainsOf(former)) && slices.Contains(g.wanted.Open, addressOfListener(former)) {
			g.out.Listeners[former.GetName()] = former
			g.keepClusters(gone)
		}
		return
	}
	was := chainsByName(former)
	chains, moves := map[string]own{}, false
	for _, c := range chainsOf(l) {
		if was[c.GetName()] == nil || proto.Equal(was[c.GetName()], c) {
			continue
		}
		chains[c.GetName()] = newOwn(l.GetName(), c, g.wanted)
		moves = moves || !proto.Equal(was[c.GetName()], chains[c.GetName()].chain)
	}
	if moves {
		// The listener changes. Its other names may move next, so it changes for all of them, but nothing is checked twice.
		for _, c := range chainsOf(l) {
			if was[c.GetName()] != nil && len(g.wanted.Clusters[clusterOf(c)].GetHealthChecks()) == 0 {
				chains[c.GetName()] = newOwn(l.GetName(), c, g.wanted)
			}
		}
	}
	for _, o := range chains {
		g.out.Clusters[o.cluster.GetName()], g.out.Endpoints[o.cluster.GetName()] = o.cluster, o.endpoints
	}
	g.out.Listeners[l.GetName()] = keeping(former, l, chains, gone)
	g.keepClusters(gone)
}

// keepClusters keeps the clusters of chains that go.
func (g *gathering) keepClusters(gone []*listenerv3.FilterChain) {
	for _, c := range gone {
		if name := clusterOf(c); g.wanted.Clusters[name] == nil {
			g.out.Clusters[name] = g.from.Clusters[name]
		}
	}
}

// moving returns the clusters that go although not all their chains do.
func moving(from, wanted Resources) map[string]bool {
	out := map[string]bool{}
	for name, former := range from.Listeners {
		gone := leaving(former, wanted.Listeners[name])
		for _, c := range chainsOf(former) {
			if wanted.Clusters[clusterOf(c)] == nil && !slices.Contains(gone, c) {
				out[clusterOf(c)] = true
			}
		}
	}
	return out
}

// leaving returns the chains of former that l has not, whatever their clusters. L may be nil.
func leaving(former, l *listenerv3.Listener) (gone []*listenerv3.FilterChain) {
	now := chainsByName(l)
	return slices.DeleteFunc(chainsOf(former), func(c *listenerv3.FilterChain) bool { return now[c.GetName()] != nil })
}

func chainsByName(l *listenerv3.Listener) map[string]*listenerv3.FilterChain {
	out := map[string]*listenerv3.FilterChain{}
	for _, c := range chainsOf(l) {
		out[c.GetName()] = c
	}
	return out
}

// addressOfListener is zero for a Unix socket.
func addressOfListener(l *listenerv3.Listener) netip.Addr {
	a, _ := netip.ParseAddr(l.GetAddress().GetSocketAddress().GetAddress())
	return a
}

// keeping is l with chains in the place of its own, by name, and the chains that go. If it reads no server names any more
// and former does, it still does: a listener without its names is a change of the whole.
func keeping(former, l *listenerv3.Listener, chains map[string]own, gone []*listenerv3.FilterChain) *listenerv3.Listener {
	out := proto.CloneOf(l)
	if len(gone) > 0 && len(l.GetListenerFilters()) == 0 {
		out.ListenerFilters, out.ListenerFiltersTimeout = former.GetListenerFilters(), former.GetListenerFiltersTimeout()
	}
	for i, c := range out.GetFilterChains() {
		if o, ok := chains[c.GetName()]; ok {
			out.FilterChains[i] = o.chain
		}
	}
	if o, ok := chains[out.GetDefaultFilterChain().GetName()]; ok && out.GetDefaultFilterChain() != nil {
		out.DefaultFilterChain = o.chain
	}
	for _, c := range gone {
		if c.GetFilterChainMatch() == nil {
			out.DefaultFilterChain = c
			continue
		}
		out.FilterChains = append(out.FilterChains, c)
	}
	slices.SortFunc(out.FilterChains, func(a, b *listenerv3.FilterChain) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out
}
