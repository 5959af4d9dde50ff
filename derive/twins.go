// This file decides which of several NADs of one layer-2 network is served: if all were served, VMs would get several
// DHCP offers. The NAD that is served already stays, and each other NAD gets a problem.

package derive

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/derive/served"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// givesWay returns the request for the same layer-2 network that is served in place of s. gives is false if s itself is served.
func givesWay(in served.Input, s network.NetworkRequest) (twin network.NetworkRequest, gives bool) {
	for _, x := range in.Networks {
		isTwin := x.Attachment.SameNetwork(s.Attachment) && x.Attachment.String() != s.Attachment.String() && len(served.Services(x)) > 0
		if isTwin && compareTwins(in, x, s) < 0 && (!gives || compareTwins(in, x, twin) < 0) {
			twin, gives = x, true
		}
	}
	return twin, gives
}

// compareTwins returns a negative number if a is served instead of b. A network that runs has precedence, then one with
// VMs, one that VMs boot from, one with a CIDR, and the older one.
func compareTwins(in served.Input, a, b network.NetworkRequest) int {
	inUse := func(s network.NetworkRequest) bool { return slices.Contains(in.InUse, s.Attachment.NetworkName()) }
	return cmp.Or(
		network.TrueFirst(runsOn(in, a), runsOn(in, b)),
		network.TrueFirst(inUse(a), inUse(b)),
		network.TrueFirst(a.Primary, b.Primary),
		network.TrueFirst(a.CIDR.IsValid(), b.CIDR.IsValid()),
		network.TrueFirst(slices.Contains(b.OlderTwins, a.Attachment.String()), slices.Contains(a.OlderTwins, b.Attachment.String())),
		strings.Compare(a.Attachment.String(), b.Attachment.String()))
}

// runsOn reports whether s is in force on the layer-2 network that it requests.
func runsOn(in served.Input, s network.NetworkRequest) bool {
	return slices.ContainsFunc(in.Retained, func(n network.Network) bool {
		return n.Name == s.Attachment.NetworkName() && !movedFrom(s.Attachment, n.Attachment)
	})
}

func twinProblem(s, other network.NetworkRequest) problem.Problem {
	a := s.Attachment
	return problem.New(problem.NADsOnOneNetwork, problem.Subject{Kind: "NetworkAttachmentDefinition", Namespace: a.Namespace, Name: a.Name}, problem.Args{
		"nad": {a.String()}, "otherNAD": {other.Attachment.String()}, "layer2": {a.Layer2}, "nodePools": slices.Sorted(slices.Values(s.NodePools))})
}
