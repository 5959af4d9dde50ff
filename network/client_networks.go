// This file decides which networks behind the gateway edges answer. Edges route them through the
// gateway, so that strict reverse path filtering accepts their hosts on the network's device and
// drops every other source. No destination of the pod network may be among them.

package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// keyClientNetworks is the annotation key that problems of this file name.
const keyClientNetworks = "client-networks"

// MinClientBits is the shortest prefix of a client network, in bits. A default route would take the
// pod network from edges.
const MinClientBits = 8

// ClientRoutes returns the routes that edges of n have to client networks. Empty: none.
func (n Network) ClientRoutes() []Route {
	var out []Route
	for _, p := range n.ClientNetworks {
		out = append(out, Route{Destination: p, Via: n.DHCP.Router})
	}
	return out
}

// BehindGateway reports whether a is in a client network of n.
func (n Network) BehindGateway(a netip.Addr) bool { return anyContains(n.ClientNetworks, a) }

// clientNetworks returns the client networks of n, the network of s, and a problem for those that
// are left out.
func clientNetworks(n Network, s NetworkRequest, in input) ([]netip.Prefix, Problems) {
	wanted := withoutContained(s.Settings.ClientNetworks)
	if len(wanted) == 0 {
		return nil, nil
	}
	switch {
	case !s.Primary:
		return nil, Problems{n.problem(ClientNetworksOnSecondary, nil, keyClientNetworks)}
	case !s.Gateway.IsValid():
		return nil, Problems{n.problem(ClientNetworksWithoutGateway, nil, keyGateway, keyClientNetworks)}
	case n.Attachment.Kind != "" && n.Attachment.EdgeNADConfig == "":
		return nil, Problems{n.problem(ClientNetworksOnOVN, Args{"gateway": s.Gateway.String()}, keyClientNetworks)}
	}
	var problems Problems
	return without(wanted, func(p netip.Prefix) bool {
		other, met := n.hiddenBy(p, in)
		if met {
			args := Args{"clientNetwork": p.String(), "other": other}
			problems = append(problems, n.problem(ClientNetworkOverlaps, args, keyClientNetworks))
		}
		return met
	}), problems
}

// hiddenBy describes what edges of n, or its VMs, no longer reach if edges route p through the
// gateway. ok is false if there is nothing. Neither a single address that nothing needs counts, nor
// observed ones: users of other hosted clusters choose these. An address that edges hold is not
// hidden: the kernel delivers it locally, whatever the routes are.
func (n Network) hiddenBy(p netip.Prefix, in input) (what string, ok bool) {
	if n.CIDR.Overlaps(p) {
		return fmt.Sprintf("CIDR %s of the network", n.CIDR), true
	}
	for _, block := range NoDestinations() {
		if !block.IsSingleIP() && block.Overlaps(p) {
			return fmt.Sprintf("the special-purpose block %s", block), true
		}
	}
	hidden := slices.Clone(in.Reserved)
	for i, r := range hidden {
		hidden[i].Required = r.Required || !r.Observed && !r.Prefix.IsSingleIP()
	}
	return overlaps(p, slices.Concat(hidden, in.InHostedCluster))
}

// withoutContained returns all prefixes that no other one contains, sorted.
func withoutContained(all []netip.Prefix) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range slices.SortedFunc(slices.Values(all), func(a, b netip.Prefix) int {
		return cmp.Or(cmp.Compare(a.Bits(), b.Bits()), a.Addr().Compare(b.Addr()))
	}) {
		if !anyContains(out, p.Addr()) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	return out
}
