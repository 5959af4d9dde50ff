// This file finds addresses in annotations of the HostedCluster that apply to no network.

package networks

import (
	"slices"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// strayAddresses returns a problem for each address of base that no network of all has, though
// setAddresses has set them. home is as there.
func strayAddresses(all []merged, home int, o objects.Objects, base settings.Values) network.Problems {
	if len(all) == 0 || slices.ContainsFunc(all, func(s merged) bool { return !s.CIDR.IsValid() }) {
		return nil // A CIDR that is set later may contain them.
	}
	var problems network.Problems
	report := func(c network.Cause, key, value string) {
		problems = append(problems, network.NewProblem(c, network.Subject{Kind: string(settings.OnHostedCluster), Name: o.HostedCluster.Name}, network.Args{"value": value}, key))
	}
	if base.CIDR.IsValid() && home < 0 {
		report(network.ClusterCIDRUnused, settings.KeyCIDR, base.CIDR.String())
	}
	for _, k := range settings.Keys() {
		for _, p := range k.Parts(base) {
			used := slices.ContainsFunc(all, func(s merged) bool {
				return slices.ContainsFunc(k.Parts(values(s.NetworkRequest)), p.Equal)
			})
			if !used && !within(all, p.Addresses) {
				report(network.ClusterAddressesUnused, k.Name, p.Text)
			}
		}
	}
	return problems
}
