// This file finds addresses in the user's settings of a network that have no effect there.

package served

import (
	"slices"
	"strconv"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// unusedAddresses returns the problems of addresses without an effect. gives is true if edges run DHCP, from the pool r.
func unusedAddresses(s network.NetworkRequest, r network.Range, gives bool) problem.Problems {
	var ps problem.Problems
	if all := s.Settings.EdgeAddresses; len(all) > len(network.Roles()) {
		args := problem.Args{"count": {strconv.Itoa(len(all))}, "addresses": {network.InOrder(all[len(network.Roles()):])}}
		ps = append(ps, s.Problem(problem.EdgeAddressesUnused, args, network.KeyEdgeAddresses))
	}
	if !gives {
		return ps
	}
	whole := network.Range{First: s.CIDR.Masked().Addr(), Last: network.HostAddress(s.CIDR, -1).Next()}
	for _, x := range sortedRanges(s.Settings.DHCPExclude) {
		switch {
		case !x.Overlaps(whole):
			ps = append(ps, s.Problem(problem.ExclusionOutsideCIDR, problem.Args{"range": {x.Short()}, "cidr": {s.CIDR.String()}}, network.KeyDHCPExclude))
		case !x.Overlaps(r):
			ps = append(ps, s.Problem(problem.ExclusionOutsideRange, problem.Args{"range": {x.Short()}, "pool": {r.String()}}, network.KeyDHCPExclude))
		}
	}
	return ps
}

// dhcpSettingsUnused returns the problem that s has settings for DHCP, which edges do not run. Settings that the
// HostedCluster may have for several networks count only if edges run DHCP on none. Time servers do not count: another
// problem names them as an option that the user's own DHCP server must send.
func dhcpSettingsUnused(in Input, s network.NetworkRequest) problem.Problems {
	runs := func(x network.NetworkRequest) bool { return slices.Contains(Services(x), network.ServiceDHCP) }
	if runs(s) {
		return nil
	}
	var keys []string
	none := !slices.ContainsFunc(in.Networks, runs)
	for _, set := range []struct {
		key string
		is  bool
	}{
		{network.KeyDHCPRange, s.Settings.DHCPRange.First.IsValid()},
		{network.KeyDHCPExclude, len(s.Settings.DHCPExclude) > 0},
		{network.KeyReservations, len(s.Settings.Reservations) > 0},
		{network.KeyLeaseTime, none && s.Settings.LeaseTime > 0},
		{network.KeyMTU, none && s.Settings.MTU > 0},
		{network.KeyDHCPRelays, none && len(s.Settings.DHCPRelays) > 0},
		{network.KeySearchDomains, none && len(s.Settings.SearchDomains) > 0},
		{network.KeyUnknownClients, none && s.Settings.IgnoreUnknownClients},
	} {
		if set.is {
			keys = append(keys, set.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return problem.Problems{s.Problem(problem.DHCPSettingsUnused, problem.Args{"annotations": keys}, slices.Clone(keys)...)}
}
