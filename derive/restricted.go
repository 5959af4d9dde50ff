// This file decides what is removed from a plan in force while its HostedCluster has an error. Destinations that the
// administrator no longer permits, or that became part of the management cluster, are removed. Otherwise the author of
// a HostedCluster could keep them with a lasting error.

package derive

import (
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/network"
)

// Restricted returns p without the external hosts and upstream servers that permitted does not permit, and with the
// present reserved destinations. Nothing else changes.
func Restricted(p network.Plan, reserved []network.ReservedDestination, permitted network.Permissions) network.Plan {
	out := p
	out.Networks = slices.Clone(p.Networks)
	places, destinations := prefixes(reserved), network.MergedPrefixes(permitted.Destinations)
	for i, n := range out.Networks {
		n = withoutBackends(n, func(b network.Backend) bool {
			return b.Kind == network.BackendExternal && !(permitted.Host(b.Host) && permitted.Port(b.Port))
		})
		reach := n.Reach()
		n.DNS.Upstreams.Servers = network.Without(n.DNS.Upstreams.Servers, func(s netip.AddrPort) bool {
			return reach.FromEdge(s.Addr()) == network.ThroughPods && !permitted.Upstream(s.Addr())
		})
		if dialsForVMs(n) {
			n.ReservedDestinations = network.MergedPrefixes(slices.Concat(n.ReservedDestinations, places))
		}
		n.PermittedDestinations = network.Without(n.PermittedDestinations, func(p netip.Prefix) bool {
			return !slices.ContainsFunc(destinations, func(x netip.Prefix) bool { return x.Overlaps(p) && x.Bits() <= p.Bits() })
		})
		out.Networks[i] = n
	}
	return out
}

// withoutBackends returns n without the backends for which drop returns true, and without their listeners. Edges then
// close connections to their names.
func withoutBackends(n network.Network, drop func(network.Backend) bool) network.Network {
	dropped := map[string]bool{}
	for _, b := range n.Backends {
		dropped[b.Name] = drop(b)
	}
	n.Backends = network.Without(n.Backends, drop)
	listeners := slices.Clone(n.Listeners)
	for i := range listeners {
		l := &listeners[i]
		l.Forwards = network.Without(l.Forwards, func(f network.Forward) bool { return dropped[f.Backend] })
		if dropped[l.Default] {
			l.Default = ""
		}
	}
	n.Listeners = network.Without(listeners, func(l network.Listener) bool { return l.Default == "" && len(l.Forwards) == 0 })
	return n
}
