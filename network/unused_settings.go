// This file finds addresses in the user's settings of a network that have no effect there.

package network

import (
	"slices"
	"strconv"
	"strings"
)

// unusedSettings returns the problems of s's addresses that have no effect. r is the DHCP
// pool; gives reports whether edges run DHCP.
func unusedSettings(s NetworkRequest, r Range, gives bool) Problems {
	var ps Problems
	if all := s.Settings.EdgeAddresses; len(all) > len(roles()) {
		args := Args{"count": strconv.Itoa(len(all)), "addresses": inOrder(all[len(roles()):])}
		ps = append(ps, s.problem(EdgeAddressesUnused, args, keyEdgeAddresses))
	}
	if !gives {
		return append(ps, dhcpSettingsUnused(s)...)
	}
	whole := Range{s.CIDR.Masked().Addr(), HostAddress(s.CIDR, -1).Next()}
	for _, x := range sortedRanges(s.Settings.DHCPExclude) {
		switch {
		case !x.overlaps(whole):
			ps = append(ps, s.problem(ExclusionOutsideCIDR, Args{"range": x.short(), "cidr": s.CIDR.String()}, keyDHCPExclude))
		case !x.overlaps(r):
			ps = append(ps, s.problem(ExclusionOutsideRange, Args{"range": x.short(), "pool": r.String()}, keyDHCPExclude))
		}
	}
	return ps
}

// dhcpSettingsUnused returns the problem that s sets addresses for DHCP, which edges do not run.
func dhcpSettingsUnused(s NetworkRequest) Problems {
	var keys []string
	for _, set := range []struct {
		key string
		is  bool
	}{
		{keyDHCPRange, s.Settings.DHCPRange.First.IsValid()},
		{keyDHCPExclude, len(s.Settings.DHCPExclude) > 0},
		{keyReservations, len(s.Settings.Reservations) > 0},
	} {
		if set.is {
			keys = append(keys, set.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return Problems{s.problem(DHCPSettingsUnused, Args{"annotations": strings.Join(keys, ", ")}, slices.Clone(keys)...)}
}

// overlaps reports whether r and other have an address in common.
func (r Range) overlaps(other Range) bool {
	return r.First.IsValid() && other.First.IsValid() && r.First.Compare(other.Last) <= 0 && other.First.Compare(r.Last) <= 0
}
