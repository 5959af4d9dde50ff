// This file gathers removals. Envoy keeps each former version of a listener for the drain time of a
// day, even if no connection uses it. So a chain that goes may stay for a while, without
// endpoints behind it. It is pure.

package envoy

import (
	"cmp"
	"maps"
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

// gather returns what Envoy shall have of the wanted resources if it was to have from. Chains that
// go are kept while former listeners take removalsAtOnce; their clusters have no endpoints if
// nothing else wants them. Again is when to gather again, zero if nothing is kept.
//
// A chain whose cluster changes, and a listener that goes, do not wait.
func gather(from, wanted Resources, d drained, now time.Time) (out Resources, after drained, again time.Time) {
	d = d.after(now)
	out = Resources{Listeners: maps.Clone(wanted.Listeners), Clusters: maps.Clone(wanted.Clusters), Endpoints: maps.Clone(wanted.Endpoints)}
	for name, former := range from.Listeners {
		l := wanted.Listeners[name]
		gone, moved := leaving(former, l)
		if l != nil && !moved && len(gone) > 0 && d.bytes >= removalsAtOnce {
			out.Listeners[name] = keeping(l, gone)
			again = d.until()
		}
		if !proto.Equal(former, out.Listeners[name]) {
			d.bytes += formerListener + int64(len(chainsOf(former)))*formerChain
		}
	}
	for name, l := range out.Listeners {
		if l != wanted.Listeners[name] {
			for _, c := range clustersOf(l) {
				if wanted.Clusters[c] == nil {
					out.Clusters[c] = from.Clusters[c]
				}
			}
		}
	}
	for _, c := range abandoned(from, wanted) {
		out.Endpoints[c] = &endpointv3.ClusterLoadAssignment{ClusterName: c}
	}
	return out, d, again
}

// leaving returns the chains of former that l has not. Moved: another chain changes, or what is
// not a chain.
func leaving(former, l *listenerv3.Listener) (gone []*listenerv3.FilterChain, moved bool) {
	if l == nil {
		return chainsOf(former), false
	}
	now := map[string]*listenerv3.FilterChain{}
	for _, c := range chainsOf(l) {
		now[c.GetName()] = c
	}
	for _, c := range chainsOf(former) {
		switch {
		case now[c.GetName()] == nil:
			gone = append(gone, c)
		case !proto.Equal(now[c.GetName()], c):
			moved = true
		}
	}
	return gone, moved || !proto.Equal(fixed(former), fixed(l))
}

// fixed is l without its chains.
func fixed(l *listenerv3.Listener) *listenerv3.Listener {
	out := proto.CloneOf(l)
	out.FilterChains, out.DefaultFilterChain = nil, nil
	return out
}

// keeping is l with the chains that go.
func keeping(l *listenerv3.Listener, gone []*listenerv3.FilterChain) *listenerv3.Listener {
	out := proto.CloneOf(l)
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

// abandoned returns the clusters that go, with all server names that lead to them. Connections to
// them end at once, whatever Envoy takes and when. A cluster whose names lead to another one keeps
// its endpoints until Envoy has moved them.
func abandoned(from, wanted Resources) []string {
	moved := map[string]bool{}
	for name, former := range from.Listeners {
		gone, _ := leaving(former, wanted.Listeners[name])
		for _, c := range chainsOf(former) {
			if !slices.Contains(gone, c) {
				moved[clusterOf(c)] = true
			}
		}
	}
	var out []string
	for c := range from.Clusters {
		if wanted.Clusters[c] == nil && !moved[c] {
			out = append(out, c)
		}
	}
	return out
}
