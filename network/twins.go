// This file decides which of several NADs of one layer-2 network is served. VMs on it would
// get offers for all of them. The one that runs stays, and the others are problems.

package network

import (
	"cmp"
	"slices"
	"strings"
)

// givesWay returns the requested network that is served in place of s, because both are the
// same layer-2 network.
func (in input) givesWay(s NetworkRequest) (twin NetworkRequest, gives bool) {
	for _, x := range in.Networks {
		isTwin := x.Attachment.String() != s.Attachment.String() && x.Attachment.SameNetwork(s.Attachment) && len(services(x)) > 0
		if isTwin && in.compareTwins(x, s) < 0 && (!gives || in.compareTwins(x, twin) < 0) {
			twin, gives = x, true
		}
	}
	return twin, gives
}

// compareTwins is negative if a, not b, is served. What runs comes first, then what VMs are
// on, then what VMs boot from, then what has a CIDR, then the older one.
func (in input) compareTwins(a, b NetworkRequest) int {
	inUse := func(s NetworkRequest) bool { return slices.Contains(in.InUse, s.Attachment.NetworkName()) }
	return cmp.Or(
		trueFirst(in.runsOn(a), in.runsOn(b)),
		trueFirst(inUse(a), inUse(b)),
		trueFirst(a.Primary, b.Primary),
		trueFirst(a.CIDR.IsValid(), b.CIDR.IsValid()),
		trueFirst(slices.Contains(b.OlderTwins, a.Attachment.String()), slices.Contains(a.OlderTwins, b.Attachment.String())),
		strings.Compare(a.Attachment.String(), b.Attachment.String()))
}

// runsOn reports whether s is in force on the layer-2 network that it requests.
func (in input) runsOn(s NetworkRequest) bool {
	return slices.ContainsFunc(in.running, func(n Network) bool {
		return n.Name == s.Attachment.NetworkName() && !s.Attachment.movedFrom(n.Attachment)
	})
}

// twinProblem returns the problem that other is served in place of s.
func twinProblem(s, other NetworkRequest) Problem {
	a := s.Attachment
	return NewProblem(NADsOnOneNetwork, Subject{Kind: "NetworkAttachmentDefinition", Namespace: a.Namespace, Name: a.Name}, Args{
		"nad": a.String(), "otherNAD": other.Attachment.String(), "layer2": a.Layer2, "nodePools": strings.Join(slices.Sorted(slices.Values(s.NodePools)), ", ")})
}
