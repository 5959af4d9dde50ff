// This file finds addresses in annotations of the HostedCluster that apply to no network.

package hcp

import (
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// strayAddresses returns a problem for each address of base that no network of all has, though
// setAddresses has set them. home is as there.
func strayAddresses(all []merged, home int, o Objects, base settings.Values) network.Problems {
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
	isSet := func(matches func(network.Settings) bool) bool {
		return slices.ContainsFunc(all, func(s merged) bool { return matches(s.Settings) })
	}
	for _, x := range []struct {
		key       string
		addresses []netip.Addr
		used      bool
	}{
		{settings.KeyGateway, []netip.Addr{base.Gateway}, slices.ContainsFunc(all, func(s merged) bool { return s.Gateway == base.Gateway })},
		{"edge-addresses", base.Settings.EdgeAddresses, isSet(func(s network.Settings) bool { return slices.Equal(s.EdgeAddresses, base.Settings.EdgeAddresses) })},
		{"dhcp-range", []netip.Addr{base.Settings.DHCPRange.First, base.Settings.DHCPRange.Last},
			isSet(func(s network.Settings) bool { return s.DHCPRange == base.Settings.DHCPRange })},
	} {
		if len(x.addresses) > 0 && x.addresses[0].IsValid() && !x.used && !within(all, x.addresses) {
			report(network.ClusterAddressesUnused, x.key, x.addresses[0].String())
		}
	}
	for _, r := range base.Settings.DHCPExclude {
		if !isSet(func(s network.Settings) bool { return slices.Contains(s.DHCPExclude, r) }) && !within(all, []netip.Addr{r.First, r.Last}) {
			report(network.ClusterAddressesUnused, "dhcp-exclude", r.String())
		}
	}
	for _, r := range base.Settings.Reservations {
		if !isSet(func(s network.Settings) bool { return slices.Contains(s.Reservations, r) }) && !within(all, []netip.Addr{r.Address}) {
			report(network.ClusterAddressesUnused, "reservations", r.Address.String())
		}
	}
	return problems
}
