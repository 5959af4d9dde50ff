// This file holds Problem and the list of reasons. A problem is a fault that
// the cluster's owner can mend, or something that is waited for; what the API
// server did is an error, and what we did wrong is a bug.

package network

import (
	"cmp"
	"slices"
	"strings"
)

// A Reason is a stable CamelCase word: it becomes the reason of a condition and
// a heading of docs/problems.md.
type Reason string

// The reasons. Those that begin with Waiting need no act of the user: the part
// in question is served as soon as what it waits for is there.
const (
	AnnotationInvalid      Reason = "AnnotationInvalid"
	AnnotationUnknown      Reason = "AnnotationUnknown"
	PlatformUnsupported    Reason = "PlatformUnsupported"
	ExternalInfrastructure Reason = "ExternalInfrastructure"
	PublishingUnsupported  Reason = "PublishingUnsupported"
	NetworkMissing         Reason = "NetworkMissing"
	NetworkUnsupported     Reason = "NetworkUnsupported"
	NetworkForbidden       Reason = "NetworkForbidden"
	NetworkShared          Reason = "NetworkShared"
	CIDRMissing            Reason = "CIDRMissing"
	CIDRTooSmall           Reason = "CIDRTooSmall"
	RangeTooSmall          Reason = "RangeTooSmall"
	AddressConflict        Reason = "AddressConflict"
	AddressTaken           Reason = "AddressTaken"
	EdgesApart             Reason = "EdgesApart"
	IPv6NotServed          Reason = "IPv6NotServed"
	AppsUnreachable        Reason = "AppsUnreachable"
	ImagesUnreachable      Reason = "ImagesUnreachable"
	OAuthUnreachable       Reason = "OAuthUnreachable"
	NTPMissing             Reason = "NTPMissing"
	ServedByOthers         Reason = "ServedByOthers"
	TakeoverSlow           Reason = "TakeoverSlow"
	NotApplied             Reason = "NotApplied"
	WaitingForControlPlane Reason = "WaitingForControlPlane"
	WaitingForEndpoint     Reason = "WaitingForEndpoint"
	EndpointKept           Reason = "EndpointKept"
	WaitingForNetwork      Reason = "WaitingForNetwork"
)

// Waits says whether the reason is one that mends itself.
func (r Reason) Waits() bool { return strings.HasPrefix(string(r), "Waiting") }

// A Problem is one fault or one thing waited for.
type Problem struct {
	Reason Reason `json:"reason"`
	// Field names what to change: an annotation key or a field path, with the
	// object's kind where it is not the HostedCluster.
	Field string `json:"field"`
	// Detail says in words what is wrong and what to do.
	Detail string `json:"detail"`
	// Blocking problems leave the last good plan in force.
	Blocking bool `json:"blocking"`
	// Endpoint that is waited for, by its name. Empty where it is none.
	Endpoint string `json:"-"`
}

// Urgency of a problem: what must be mended, what is waited for, what is only
// said.
type Urgency int

// The urgencies, the greatest first.
const (
	Refused Urgency = iota
	Waits
	Noted
)

// Urgency of p.
func (p Problem) Urgency() Urgency {
	switch {
	case p.Blocking:
		return Refused
	case p.Reason.Waits():
		return Waits
	}
	return Noted
}

// Problems in the order they were found.
type Problems []Problem

// ByUrgency is ps with the most urgent first, else in their order.
func (ps Problems) ByUrgency() Problems {
	out := slices.Clone(ps)
	slices.SortStableFunc(out, func(a, b Problem) int { return cmp.Compare(a.Urgency(), b.Urgency()) })
	return out
}

// Blocking says whether any problem blocks.
func (ps Problems) Blocking() bool {
	for _, p := range ps {
		if p.Blocking {
			return true
		}
	}
	return false
}

// notBlocking are the same problems of a part that is left out.
func (ps Problems) notBlocking() Problems {
	out := slices.Clone(ps)
	for i := range out {
		out[i].Blocking = false
	}
	return out
}

// Waiting says whether any problem is one that is waited for.
func (ps Problems) Waiting() bool {
	for _, p := range ps {
		if p.Reason.Waits() {
			return true
		}
	}
	return false
}

// Has says whether one of the problems has this reason.
func (ps Problems) Has(r Reason) bool {
	for _, p := range ps {
		if p.Reason == r {
			return true
		}
	}
	return false
}
