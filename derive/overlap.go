// This file decides what happens if the CIDRs of two networks of one cluster overlap, so that two nodes could get the
// same address. The running network keeps its CIDR, and the newer one waits. No address is moved.

package derive

import (
	"slices"

	"github.com/cldmnky/oooi/derive/served"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// overlaps returns a running or planned network on another layer-2 network whose CIDR overlaps the CIDR of s.
func overlaps(in served.Input, s network.NetworkRequest, planned []network.Network) (network.Network, bool) {
	name, candidates := s.Attachment.NetworkName(), [][]network.Network{planned}
	if !in.InForce(s) {
		candidates = [][]network.Network{in.Retained, planned}
	}
	for _, all := range candidates {
		for i := range all {
			if n := &all[i]; n.CIDR.Overlaps(s.CIDR) && n.Name != name && !n.Attachment.SameNetwork(s.Attachment) {
				return *n, true
			}
		}
	}
	return network.Network{}, false
}

func overlapProblem(s network.NetworkRequest, other network.Network) problem.Problem {
	keys, where := s.CIDRKeys, s.CIDRField
	if s.Primary && len(s.NodePools) > 0 {
		own := "cidr." + slices.Min(s.NodePools)
		keys = slices.Compact(append([]string{own}, keys...))
		where = "annotation " + own + " on the HostedCluster"
	}
	args := problem.Args{"cidr": {s.CIDR.String()}, "otherNetwork": {other.Attachment.String()}, "otherCIDR": {other.CIDR.String()}, "where": {where}}
	return s.Problem(problem.NetworksOverlap, args, keys...)
}
