// This file decides which networks behind the gateway edges answer. Edges have routes to them through the gateway, so
// that strict reverse path filtering accepts their hosts on the network's device, and no other sources. Destinations in
// the pod network must not be among them.

package served

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// clientNetworks returns the client networks of n, the network of s, and a problem for each that is left out.
func clientNetworks(n network.Network, s network.NetworkRequest, in Input) ([]netip.Prefix, problem.Problems) {
	wanted := withoutContained(s.Settings.ClientNetworks)
	if len(wanted) == 0 {
		return nil, nil
	}
	switch {
	case !s.Primary:
		return nil, problem.Problems{n.Problem(problem.ClientNetworksOnSecondary, nil, network.KeyClientNetworks)}
	case !s.Gateway.IsValid():
		return nil, problem.Problems{n.Problem(problem.ClientNetworksWithoutGateway, nil, network.KeyGateway, network.KeyClientNetworks)}
	case n.Attachment.Kind != "" && n.Attachment.EdgeNADConfig == "":
		return nil, problem.Problems{n.Problem(problem.ClientNetworksOnOVN, problem.Args{"gateway": {s.Gateway.String()}}, network.KeyClientNetworks)}
	}
	var problems problem.Problems
	return network.Without(wanted, func(p netip.Prefix) bool {
		other, met := hiddenBy(n, p, in.Reserved)
		if !met {
			other, met = overlaps(p, certain(in.InHostedCluster))
			other += ofHosted
		}
		if met {
			args := problem.Args{"clientNetwork": {p.String()}, "other": {other}}
			problems = append(problems, n.Problem(problem.ClientNetworkOverlaps, args, network.KeyClientNetworks))
		}
		return met
	}), problems
}

// hiddenBy returns a text for what edges of n no longer reach if they route p through the gateway: its CIDR, or some of
// reserved. ok is false if they still reach everything. Single addresses that nothing needs do not count. Observed addresses do not
// count either, because users of other hosted clusters choose them. Addresses that edges hold do not count, because the
// kernel delivers their packets locally.
func hiddenBy(n network.Network, p netip.Prefix, reserved []network.ReservedDestination) (what string, ok bool) {
	if n.CIDR.Overlaps(p) {
		return fmt.Sprintf("CIDR %s of the network", n.CIDR), true
	}
	for _, block := range network.NoDestinations() {
		if !block.IsSingleIP() && block.Overlaps(p) {
			return special + block.String(), true
		}
	}
	hidden := slices.Clone(reserved)
	for i, r := range hidden {
		hidden[i].Required = r.Required || !r.Observed && !r.Prefix.IsSingleIP()
	}
	return overlaps(p, hidden)
}

func withoutContained(all []netip.Prefix) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range slices.SortedFunc(slices.Values(all), func(a, b netip.Prefix) int {
		return cmp.Or(cmp.Compare(a.Bits(), b.Bits()), a.Addr().Compare(b.Addr()))
	}) {
		if !network.AnyContains(out, p.Addr()) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	return out
}
