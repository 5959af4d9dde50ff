// This file has Problem: one fact, as data, that a user must or may want to know.
// network/explain renders it as text.

package network

import (
	"cmp"
	"slices"
	"strings"
)

// A Reason is a stable CamelCase word. It is the reason of a condition, and a heading
// of docs/problems.md.
type Reason string

// The reasons, by topic.
const (
	AnnotationInvalid        Reason = "AnnotationInvalid"
	AnnotationUnknown        Reason = "AnnotationUnknown"
	PlatformUnsupported      Reason = "PlatformUnsupported"
	ExternalInfrastructure   Reason = "ExternalInfrastructure"
	PublishingUnsupported    Reason = "PublishingUnsupported"
	NetworkMissing           Reason = "NetworkMissing"
	NetworkUnsupported       Reason = "NetworkUnsupported"
	NADNamespaceNotAllowed   Reason = "NADNamespaceNotAllowed"
	NetworkShared            Reason = "NetworkShared"
	CIDRMissing              Reason = "CIDRMissing"
	CIDRTooSmall             Reason = "CIDRTooSmall"
	RangeTooSmall            Reason = "RangeTooSmall"
	AddressConflict          Reason = "AddressConflict"
	AddressInUse             Reason = "AddressInUse"
	AddressesExhausted       Reason = "AddressesExhausted"
	LeasesNotWritten         Reason = "LeasesNotWritten"
	RogueDHCPServer          Reason = "RogueDHCPServer"
	RogueRouter              Reason = "RogueRouter"
	EdgesPartitioned         Reason = "EdgesPartitioned"
	EdgesServeDifferentPlans Reason = "EdgesServeDifferentPlans"
	EdgeDuplicated           Reason = "EdgeDuplicated"
	EdgeImpaired             Reason = "EdgeImpaired"
	SourcesUnverified        Reason = "SourcesUnverified"
	IPv6NotServed            Reason = "IPv6NotServed"
	AppsUnreachable          Reason = "AppsUnreachable"
	ImagesUnreachable        Reason = "ImagesUnreachable"
	OAuthUnreachable         Reason = "OAuthUnreachable"
	NTPMissing               Reason = "NTPMissing"
	ClockUnsynchronized      Reason = "ClockUnsynchronized"
	NotPermitted             Reason = "NotPermitted"
	NamesOverridden          Reason = "NamesOverridden"
	AccessOpened             Reason = "AccessOpened"
	AccessRefused            Reason = "AccessRefused"
	LoadBalancersUnreachable Reason = "LoadBalancersUnreachable"
	ServedByOthers           Reason = "ServedByOthers"
	FailoverDegraded         Reason = "FailoverDegraded"
	NotApplied               Reason = "NotApplied"
	Paused                   Reason = "Paused"
	RemovalScheduled         Reason = "RemovalScheduled"
	Removing                 Reason = "Removing"
	EdgeUnavailable          Reason = "EdgeUnavailable"
	UpdatePending            Reason = "UpdatePending"
	EdgeNotReady             Reason = "EdgeNotReady"
	AddressCheckPending      Reason = "AddressCheckPending"
	WaitingForControlPlane   Reason = "WaitingForControlPlane"
	WaitingForEndpoint       Reason = "WaitingForEndpoint"
	EndpointStale            Reason = "EndpointStale"
	WaitingForNetwork        Reason = "WaitingForNetwork"
)

// A Severity ranks problems.
type Severity string

// The severities, the highest first.
const (
	// SeverityError: the user must act. Nothing of the plan is applied, and running edges
	// keep the previous plan. If the Error is confined, this is so for one network only.
	SeverityError Severity = "Error"
	// SeverityWaiting: a part is not served until something else exists.
	SeverityWaiting Severity = "Waiting"
	// SeverityWarning: VMs lack something, or will lack it when a part fails.
	SeverityWarning Severity = "Warning"
	// SeverityInfo: worth knowing; nothing is lost.
	SeverityInfo Severity = "Info"
)

// rank returns 0 for the highest severity.
func (s Severity) rank() int {
	return slices.Index([]Severity{SeverityError, SeverityWaiting, SeverityWarning, SeverityInfo}, s)
}

// Compare is negative if s is higher than other.
func (s Severity) Compare(other Severity) int { return cmp.Compare(s.rank(), other.rank()) }

// A Cause names the exact fact, in CamelCase. It belongs to one Reason and selects the
// message.
type Cause string

// A Subject is the object that a problem is about.
type Subject struct {
	// Kind in CamelCase: HostedCluster, NodePool, NetworkAttachmentDefinition,
	// Service, Route, Network, Edge, Endpoint.
	Kind string `json:"kind,omitempty"`
	// Namespace is empty if Name identifies the object, or if it has none.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// String returns "Kind namespace/name", or "Kind name" without a namespace.
func (s Subject) String() string {
	name := s.Name
	if s.Namespace != "" {
		name = s.Namespace + "/" + s.Name
	}
	return strings.TrimSpace(s.Kind + " " + name)
}

// Args are the values of a problem by name: addresses, names, counts. The entries of a
// list are separated by ", ". No value is a sentence.
type Args map[string]string

// A Problem is one fact about how a network is served.
type Problem struct {
	// Reason is the condition's reason.
	Reason   Reason   `json:"reason"`
	Cause    Cause    `json:"cause"`
	Severity Severity `json:"severity"`
	Subject  Subject  `json:"subject,omitzero"`
	// Keys are what the user can change, the best first. They are annotation keys
	// without prefix ("dhcp-range") or field paths ("spec.services"). Empty: neither
	// helps.
	Keys []string `json:"keys,omitempty"`
	Args Args     `json:"args,omitempty"`
	// Confined is true for an Error of one network if VMs boot from another one. That network
	// is left out, or stays as it runs; everything else is applied. In Facts, it is true for
	// each Error of one network, since Derive decides whether VMs boot from another one.
	Confined bool `json:"confined,omitempty"`
}

// Level returns the severity of p.
func (p Problem) Level() Severity { return p.Severity }

// Blocks reports whether p prevents the plan from being applied.
func (p Problem) Blocks() bool { return p.Level() == SeverityError && !p.Confined }

// Waits reports whether p ends when another object exists.
func (p Problem) Waits() bool { return p.Level() == SeverityWaiting }

// Problems are in the order in which they were found.
type Problems []Problem

// BySeverity returns ps with the highest severity first. Equal ones keep their order.
func (ps Problems) BySeverity() Problems {
	out := slices.Clone(ps)
	slices.SortStableFunc(out, func(a, b Problem) int { return a.Level().Compare(b.Level()) })
	return out
}

// Of returns the problems with this severity.
func (ps Problems) Of(s Severity) Problems {
	return slices.DeleteFunc(slices.Clone(ps), func(p Problem) bool { return p.Level() != s })
}

// Blocking reports whether any problem prevents the plan from being applied.
func (ps Problems) Blocking() bool { return slices.ContainsFunc(ps, Problem.Blocks) }

// Waiting reports whether any problem ends when another object exists.
func (ps Problems) Waiting() bool { return slices.ContainsFunc(ps, Problem.Waits) }

// Has reports whether a problem has this reason.
func (ps Problems) Has(r Reason) bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Reason == r })
}

// NotBlocking returns ps with each Error as a Warning. It is for a part without which the rest can
// be served, such as a network that no VM boots from.
func (ps Problems) NotBlocking() Problems {
	out := slices.Clone(ps)
	for i := range out {
		out[i] = out[i].warning()
	}
	return out
}

// Waits reports whether problems of this reason end when another object exists.
func (r Reason) Waits() bool {
	return strings.HasPrefix(string(r), "Waiting") || r == AddressCheckPending
}
