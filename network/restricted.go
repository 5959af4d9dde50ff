// This file decides what is taken from a plan in force that cannot be replaced: its HostedCluster
// has an error. An author who keeps an error must not keep destinations that the administrator no
// longer permits, or that became part of the management cluster. It never adds anything.

package network

import (
	"net/netip"
	"slices"
)

// Restricted is p without external hosts and upstream servers that permitted does not permit, and
// with the present reserved destinations in addition to its own. Nothing else changes.
func (p Plan) Restricted(reserved []ReservedDestination, permitted Permissions) Plan {
	out := p
	out.Networks = slices.Clone(p.Networks)
	places, destinations := prefixes(reserved), MergedPrefixes(permitted.Destinations)
	for i, n := range out.Networks {
		n = n.withoutBackends(func(b Backend) bool {
			return b.Kind == BackendExternal && !(permitted.Host(b.Host) && permitted.Port(b.Port))
		})
		reach := n.Reach()
		n.DNS.Upstreams.Servers = without(n.DNS.Upstreams.Servers, func(s netip.AddrPort) bool {
			return reach.FromEdge(s.Addr()) == ThroughPods && !permitted.Upstream(s.Addr())
		})
		if n.dialsForVMs() {
			n.ReservedDestinations = MergedPrefixes(slices.Concat(n.ReservedDestinations, places))
		}
		n.PermittedDestinations = without(n.PermittedDestinations, func(p netip.Prefix) bool {
			return !slices.ContainsFunc(destinations, func(x netip.Prefix) bool { return x.Overlaps(p) && x.Bits() <= p.Bits() })
		})
		out.Networks[i] = n
	}
	return out
}

// withoutBackends is n without the backends that drop selects, and without what leads to them.
// Connections to their names are closed.
func (n Network) withoutBackends(drop func(Backend) bool) Network {
	dropped := map[string]bool{}
	for _, b := range n.Backends {
		dropped[b.Name] = drop(b)
	}
	n.Backends = without(n.Backends, drop)
	listeners := slices.Clone(n.Listeners)
	for i := range listeners {
		l := &listeners[i]
		l.Forwards = without(l.Forwards, func(f Forward) bool { return dropped[f.Backend] })
		if dropped[l.Default] {
			l.Default = ""
		}
	}
	n.Listeners = without(listeners, func(l Listener) bool { return l.Default == "" && len(l.Forwards) == 0 })
	return n
}

// without returns the elements of all that drop does not select. None: nil.
func without[T any](all []T, drop func(T) bool) []T {
	var out []T
	for _, x := range all {
		if !drop(x) {
			out = append(out, x)
		}
	}
	return out
}
