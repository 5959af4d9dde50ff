// This file finds addresses in annotations of the HostedCluster that apply to no network.

package networks

import (
	"slices"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// strayAddresses returns a problem for each address of base that no network has after setAddresses. home is the index
// of the network that the HostedCluster's addresses apply to, or -1.
func strayAddresses(all []merged, home int, o indexed, base settings.Values) problem.Problems {
	if len(all) == 0 || slices.ContainsFunc(all, func(s merged) bool { return !s.CIDR.IsValid() }) {
		return nil // A CIDR that is set later may contain the addresses.
	}
	var problems problem.Problems
	report := func(c problem.Cause, key, value string) {
		problems = append(problems, problem.New(c, problem.Subject{Kind: string(settings.OnHostedCluster), Name: o.HostedCluster.Name}, problem.Args{"value": {value}}, key))
	}
	if base.CIDR.IsValid() && home < 0 {
		report(problem.ClusterCIDRUnused, network.KeyCIDR, base.CIDR.String())
	}
	for _, k := range settings.Keys() {
		used := map[string]bool{}
		for _, s := range all {
			for _, p := range k.Parts(settings.OfNetwork(s.NetworkRequest)) {
				used[p.ID()] = true
			}
		}
		for _, p := range k.Parts(base) {
			if !used[p.ID()] && !within(all, p.Addresses) {
				report(problem.ClusterAddressesUnused, k.Name, p.Text)
			}
		}
	}
	return problems
}
