// This file decides what happens where two networks of one cluster would have
// the same addresses: two of its nodes could have one. Who runs keeps what it
// has, and the newer one waits; an address is never moved for it.

package network

import (
	"fmt"
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
	has := "which the cluster has too"
	if !slices.ContainsFunc(in.Networks, func(x NetworkRequest) bool { return x.Attachment.NetworkName() == other.Name }) {
		has = "which no NodePool names any more, and which machines still use"
	}
	cure := "by " + s.CIDRField
	if s.Primary && len(s.NodePools) > 0 {
		cure = fmt.Sprintf("by cidr.%s on the HostedCluster, or where it is said now (%s)", slices.Min(s.NodePools), s.CIDRField)
	}
	return Problem{Reason: AddressConflict, Field: s.CIDRField, Blocking: s.Primary && !boots, Detail: fmt.Sprintf(
		"network %s is not served: its CIDR %s overlaps %s of network %s, %s, so two machines of the cluster could have one address. Give %s a CIDR of its own %s; then both are served.",
		s.Attachment, s.CIDR, other.CIDR, other.Attachment, has, s.Attachment, cure)}
}

// inForce says whether there is a network for s that runs, whatever its CIDR.
func (in input) inForce(s NetworkRequest) bool {
	return slices.ContainsFunc(in.running, func(n Network) bool { return n.Name == s.Attachment.NetworkName() })
}
