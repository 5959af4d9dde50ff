// This file decides which addresses edges never dial for VMs, whatever a name resolves to and
// whichever upstream DNS server the user sets. Those inside the management cluster are dialed
// only if its administrator permits them.

package network

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// portDNSOverTLS is, with portDNS, the other port of DNS servers (RFC 7858).
const portDNSOverTLS = 853

// keyAllowedHosts is the annotation key that problems of this file name.
const keyAllowedHosts = "allowed-hosts"

// NoDestinations are the IPv4 prefixes that edges never dial for VMs on any cluster: no host
// has these addresses, the edge's own pod or node has them, or the cloud answers there.
// 100.100.100.200 and 168.63.129.16 are the metadata services of Alibaba Cloud and Azure, as
// 169.254.169.254 is on other clouds.
func NoDestinations() []netip.Prefix {
	all := [...]string{"0.0.0.0/8", "100.100.100.200/32", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "224.0.0.0/3"}
	out := make([]netip.Prefix, 0, len(all))
	for _, p := range all {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// SpecialBlock returns the block of NoDestinations that has a. ok is false if none has it.
func SpecialBlock(a netip.Addr) (block netip.Prefix, ok bool) {
	all := NoDestinations()
	i := slices.IndexFunc(all, func(p netip.Prefix) bool { return p.Contains(a) })
	if i < 0 {
		return netip.Prefix{}, false
	}
	return all[i], true
}

// MayDial reports whether edges of n may dial a for VMs: it is an IPv4 address in no special
// block, and outside the management cluster or permitted by its administrator.
func (n Network) MayDial(a netip.Addr) bool {
	_, special := SpecialBlock(a)
	return a.Is4() && !special && (!anyContains(n.ReservedDestinations, a) || anyContains(n.PermittedDestinations, a))
}

// UpstreamServers returns the upstream DNS servers of n that edges may dial, in their order.
// What is permitted may have changed since the plan was made. Edges dial each on the network or through the
// pod network, see Reach.FromEdge.
func (n Network) UpstreamServers() []netip.AddrPort {
	reach := n.Reach()
	return slices.DeleteFunc(slices.Clone(n.DNS.Upstreams.Servers), func(s netip.AddrPort) bool {
		way := reach.FromEdge(s.Addr())
		return !isDNSPort(s.Port()) || way == Unreachable || way == ThroughPods && !n.MayDial(s.Addr())
	})
}

func isDNSPort(port uint16) bool { return port == portDNS || port == portDNSOverTLS }

// RefusedHosts returns a problem if external hosts of n have addresses that edges do not dial,
// as the edges report. Names that n does not have are ignored.
func (n Network) RefusedHosts(names []string) Problems {
	var known []string
	for _, b := range n.Backends {
		if b.Kind == BackendExternal && slices.Contains(names, b.Name) {
			known = append(known, b.Name)
		}
	}
	if len(known) == 0 {
		return nil
	}
	cause := HostInsideManagement
	if len(n.ClientNetworks) > 0 {
		cause = HostInClientNetwork // or inside the management cluster: the edges do not tell
	}
	return Problems{n.problem(cause, Args{"hosts": strings.Join(known, ", ")}, keyAllowedHosts)}
}

// reserve is p with what each network never dials, and what it may dial all the same. Retained
// networks get the present state, too.
func (p Plan) reserve(reserved []ReservedDestination, permitted []netip.Prefix) Plan {
	return p.withEach(func(n *Network) {
		n.ReservedDestinations, n.PermittedDestinations = nil, nil
		if n.dialsForVMs() {
			n.ReservedDestinations, n.PermittedDestinations = prefixes(reserved), MergedPrefixes(permitted)
		}
	})
}

// dialsForVMs reports whether VMs or the user choose an address that edges of n dial.
func (n Network) dialsForVMs() bool {
	external := func(b Backend) bool { return b.Kind == BackendExternal }
	return slices.ContainsFunc(n.Backends, external) || n.DNS.Upstreams.Mode == UpstreamServers
}

func prefixes(reserved []ReservedDestination) []netip.Prefix {
	var out []netip.Prefix
	for _, r := range reserved {
		out = append(out, r.Prefix)
	}
	return MergedPrefixes(out)
}

func anyContains(all []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(a) })
}

// MergedPrefixes returns the same addresses in the fewest prefixes, sorted. None: nil. One more
// node mostly changes nothing.
func MergedPrefixes(all []netip.Prefix) []netip.Prefix {
	all = slices.SortedFunc(slices.Values(all), func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	var out []netip.Prefix
	for _, p := range all {
		if len(out) > 0 && out[len(out)-1].Overlaps(p) {
			continue
		}
		out = append(out, p)
		for len(out) > 1 && p.Bits() > 0 {
			both := netip.PrefixFrom(p.Addr(), p.Bits()-1).Masked()
			if before := out[len(out)-2]; before.Bits() != p.Bits() || !both.Contains(before.Addr()) {
				break
			}
			out, p = append(out[:len(out)-2], both), both
		}
	}
	return out
}
