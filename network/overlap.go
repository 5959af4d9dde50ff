// This file decides what happens where two networks of one cluster would have
// the same addresses: two of its nodes could have one. Who runs keeps what it
// has, and the newer one waits; an address is never moved for it.

package network

import (
	"slices"
)

// met is a network of another segment that has addresses of s: one that runs and
// stays, or one that is planned already.
func (in input) met(s NetworkRequest, planned []Network) (Network, bool) {
	meets := func(n Network) bool {
		return n.Name != s.Attachment.NetworkName() && n.CIDR.Overlaps(s.CIDR) && !n.Attachment.SameNetwork(s.Attachment)
	}
	candidates := planned
	if !in.runs(s) {
		candidates = slices.Concat(in.running, planned)
	}
	if i := slices.IndexFunc(candidates, meets); i >= 0 {
		return candidates[i], true
	}
	return Network{}, false
}

// runs says whether s is in force with the CIDR that it has.
func (in input) runs(s NetworkRequest) bool {
	return slices.ContainsFunc(in.running, func(n Network) bool {
		return n.Name == s.Attachment.NetworkName() && n.CIDR == s.CIDR.Masked()
	})
}

// overlapping says that s waits because of other. It blocks unless machines boot
// by another network that runs.
func overlapping(in input, s NetworkRequest, other Network) Problem {
	boots := slices.ContainsFunc(in.Networks, func(x NetworkRequest) bool {
		return x.Primary && x.Attachment != s.Attachment && in.inForce(x)
	})
	c := NetworksOverlap
	if !slices.ContainsFunc(in.Networks, func(x NetworkRequest) bool { return x.Attachment.NetworkName() == other.Name }) {
		c = NetworkOverlapsRemoved
	}
	keys, where := s.CIDRKeys, s.CIDRField
	if s.Primary && len(s.NodePools) > 0 {
		own := "cidr." + slices.Min(s.NodePools)
		keys, where = append([]string{own}, keys...), "annotation "+own+" on the HostedCluster"
	}
	p := s.problem(c, Args{"cidr": s.CIDR.String(), "otherNetwork": other.Attachment.String(), "otherCIDR": other.CIDR.String(), "where": where}, keys...)
	if !s.Primary || boots {
		return p.warning()
	}
	return p
}

// inForce says whether there is a network for s that runs, whatever its CIDR.
func (in input) inForce(s NetworkRequest) bool {
	return slices.ContainsFunc(in.running, func(n Network) bool { return n.Name == s.Attachment.NetworkName() })
}
