// This file holds Problem: one fact that keeps a network from being served as
// asked, as data. network/explain has the words for it.

package network

import (
	"cmp"
	"slices"
	"strings"
)

// A Reason is a stable CamelCase word: it becomes the reason of a condition and
// a heading of docs/problems.md.
type Reason string

// The reasons. Each is a heading of docs/problems.md.
const (
	AnnotationInvalid      Reason = "AnnotationInvalid"
	AnnotationUnknown      Reason = "AnnotationUnknown"
	PlatformUnsupported    Reason = "PlatformUnsupported"
	ExternalInfrastructure Reason = "ExternalInfrastructure"
	PublishingUnsupported  Reason = "PublishingUnsupported"
	NetworkMissing         Reason = "NetworkMissing"
	NetworkUnsupported     Reason = "NetworkUnsupported"
	NADNamespaceNotAllowed Reason = "NADNamespaceNotAllowed"
	NetworkShared          Reason = "NetworkShared"
	CIDRMissing            Reason = "CIDRMissing"
	CIDRTooSmall           Reason = "CIDRTooSmall"
	RangeTooSmall          Reason = "RangeTooSmall"
	AddressConflict        Reason = "AddressConflict"
	AddressInUse           Reason = "AddressInUse"
	EdgesPartitioned       Reason = "EdgesPartitioned"
	IPv6NotServed          Reason = "IPv6NotServed"
	AppsUnreachable        Reason = "AppsUnreachable"
	ImagesUnreachable      Reason = "ImagesUnreachable"
	OAuthUnreachable       Reason = "OAuthUnreachable"
	NTPMissing             Reason = "NTPMissing"
	ServedByOthers         Reason = "ServedByOthers"
	FailoverDegraded       Reason = "FailoverDegraded"
	NotApplied             Reason = "NotApplied"
	EdgeUnavailable        Reason = "EdgeUnavailable"
	EdgeNotReady           Reason = "EdgeNotReady"
	AddressCheckPending    Reason = "AddressCheckPending"
	WaitingForControlPlane Reason = "WaitingForControlPlane"
	WaitingForEndpoint     Reason = "WaitingForEndpoint"
	EndpointStale          Reason = "EndpointStale"
	WaitingForNetwork      Reason = "WaitingForNetwork"
)

// A Severity says how much a problem matters.
type Severity string

// The severities, the gravest first.
const (
	// SeverityError: the user must act. Where the plan has one, nothing is applied.
	SeverityError Severity = "Error"
	// SeverityWaiting: a part is not served until something else exists.
	SeverityWaiting Severity = "Waiting"
	// SeverityWarning: VMs lack something, or will when a part fails.
	SeverityWarning Severity = "Warning"
	// SeverityInfo: worth knowing; nothing is lost.
	SeverityInfo Severity = "Info"
)

// rank is 0 for the gravest.
func (s Severity) rank() int {
	return slices.Index([]Severity{SeverityError, SeverityWaiting, SeverityWarning, SeverityInfo}, s)
}

// Compare is negative where s is graver than other.
func (s Severity) Compare(other Severity) int { return cmp.Compare(s.rank(), other.rank()) }

// A Cause names the exact fact, in CamelCase. Each belongs to one Reason, and
// picks the message.
type Cause string

// A Subject is the object that a problem is about.
type Subject struct {
	// Kind in CamelCase: HostedCluster, NodePool, NetworkAttachmentDefinition,
	// Service, Route, Network, Edge, Endpoint.
	Kind string `json:"kind,omitempty"`
	// Namespace is empty where Name is enough.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// String is "Kind namespace/name", or "Kind name" without a namespace.
func (s Subject) String() string {
	name := s.Name
	if s.Namespace != "" {
		name = s.Namespace + "/" + s.Name
	}
	return strings.TrimSpace(s.Kind + " " + name)
}

// Args are plain values by name: addresses, names, counts. A list is joined by
// ", ". No value is a sentence.
type Args map[string]string

// A Problem is one fact that keeps a network from being served as asked.
type Problem struct {
	// Reason is the condition's reason.
	Reason   Reason   `json:"reason"`
	Cause    Cause    `json:"cause"`
	Severity Severity `json:"severity"`
	Subject  Subject  `json:"subject,omitzero"`
	// Keys are what the user can change, the best first: annotation keys without
	// prefix ("dhcp-range") or field paths ("spec.services"). Empty: nothing.
	Keys []string `json:"keys,omitempty"`
	Args Args     `json:"args,omitempty"`
}

// Level is p's severity.
func (p Problem) Level() Severity { return p.Severity }

// Blocks says whether nothing is applied because of p.
func (p Problem) Blocks() bool { return p.Level() == SeverityError }

// Waits says whether p ends when something else exists.
func (p Problem) Waits() bool { return p.Level() == SeverityWaiting }

// Problems in the order they were found.
type Problems []Problem

// BySeverity is ps with the gravest first, else in their order.
func (ps Problems) BySeverity() Problems {
	out := slices.Clone(ps)
	slices.SortStableFunc(out, func(a, b Problem) int { return a.Level().Compare(b.Level()) })
	return out
}

// Of are those of ps with this severity.
func (ps Problems) Of(s Severity) Problems {
	return slices.DeleteFunc(slices.Clone(ps), func(p Problem) bool { return p.Level() != s })
}

// Blocking says whether any problem blocks.
func (ps Problems) Blocking() bool { return slices.ContainsFunc(ps, Problem.Blocks) }

// Waiting says whether any problem waits.
func (ps Problems) Waiting() bool { return slices.ContainsFunc(ps, Problem.Waits) }

// Has says whether one of the problems has this reason.
func (ps Problems) Has(r Reason) bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Reason == r })
}

// notBlocking are the same problems of a part that is left out.
func (ps Problems) notBlocking() Problems {
	out := slices.Clone(ps)
	for i := range out {
		out[i] = out[i].warning()
	}
	return out
}

// Waits says whether the reason is one that ends by itself.
func (r Reason) Waits() bool {
	return strings.HasPrefix(string(r), "Waiting") || r == AddressCheckPending
}
