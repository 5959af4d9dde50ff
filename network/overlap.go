// This file decides what happens if the CIDRs of two networks of one cluster overlap,
// so that two nodes could get the same address. The running network keeps its CIDR,
// and the newer one waits. No address is moved.

package network

import (
	"slices"
)

// overlaps returns a network, running or already planned, whose CIDR overlaps that of s
// and that is not the same layer-2 network.
func (in input) overlaps(s NetworkRequest, planned []Network) (Network, bool) {
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

// runs reports whether s is in force with its requested CIDR.
func (in input) runs(s NetworkRequest) bool {
	return slices.ContainsFunc(in.running, func(n Network) bool {
		return n.Name == s.Attachment.NetworkName() && n.CIDR == s.CIDR.Masked()
	})
}

// overlapProblem returns the problem that s waits for other.
func overlapProblem(in input, s NetworkRequest, other Network) Problem {
	c := NetworksOverlap
	if !slices.ContainsFunc(in.Networks, func(x NetworkRequest) bool { return x.Attachment.NetworkName() == other.Name }) {
		c = NetworkOverlapsRemoved
	}
	keys, where := s.CIDRKeys, s.CIDRField
	if s.Primary && len(s.NodePools) > 0 {
		own := "cidr." + slices.Min(s.NodePools)
		keys = slices.Compact(append([]string{own}, keys...))
		where = "annotation " + own + " on the HostedCluster"
	}
	args := Args{"cidr": s.CIDR.String(), "otherNetwork": other.Attachment.String(), "otherCIDR": other.CIDR.String(), "where": where}
	return s.problem(c, args, keys...)
}

// isRunning reports whether the network of this name runs, with any CIDR.
func (in input) isRunning(name string) bool {
	return slices.ContainsFunc(in.running, func(n Network) bool { return n.Name == name })
}
