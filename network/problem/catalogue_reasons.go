// This file declares the reasons of problems, by topic.

package problem

// A Reason is a stable CamelCase word. It is the reason of a condition, and an anchor
// of docs/problems.md.
type Reason string

// Traits are what the problems of one Reason have in common. Rank, AboutEdges and Follows decide the order of problems.
type Traits struct {
	Rank Rank
	// AboutEdges is true if the problems are about edges that exist, not about the plan.
	AboutEdges bool
	// Follows is true if the problems are often the effect of another one. For example, that is an address conflict,
	// two pods of one edge, a refused object or a small range.
	Follows bool
}

// A Rank orders reasons of one severity: the lowest comes first. Most reasons have the zero value.
type Rank int

const (
	// PreventsNodes: nodes may not become Ready, although everything is served.
	PreventsNodes Rank = -2
	// TakesPart: VMs lack a part, or will lack it.
	TakesPart Rank = -1
	// Hint: the problem is listed last.
	Hint Rank = 1
)

// traits has all reasons. It does not change after initialization.
var traits = map[Reason]Traits{}

// Traits returns what the problems of r have in common.
func (r Reason) Traits() Traits { return traits[r] }

func reason(r Reason, t Traits) Reason {
	traits[r] = t
	return r
}

var (
	AnnotationInvalid        = reason("AnnotationInvalid", Traits{})
	AnnotationUnknown        = reason("AnnotationUnknown", Traits{})
	FilesDiffer              = reason("FilesDiffer", Traits{})
	PlatformUnsupported      = reason("PlatformUnsupported", Traits{})
	ExternalInfrastructure   = reason("ExternalInfrastructure", Traits{})
	PublishingUnsupported    = reason("PublishingUnsupported", Traits{})
	NetworkMissing           = reason("NetworkMissing", Traits{})
	NetworkUnsupported       = reason("NetworkUnsupported", Traits{})
	FramesDropped            = reason("FramesDropped", Traits{Rank: PreventsNodes})
	NADNamespaceNotAllowed   = reason("NADNamespaceNotAllowed", Traits{Rank: PreventsNodes})
	NodesNotCreated          = reason("NodesNotCreated", Traits{Rank: PreventsNodes})
	PodNetworkUnsupported    = reason("PodNetworkUnsupported", Traits{Rank: PreventsNodes})
	NetworkShared            = reason("NetworkShared", Traits{Rank: TakesPart})
	CIDRMissing              = reason("CIDRMissing", Traits{})
	CIDRTooSmall             = reason("CIDRTooSmall", Traits{})
	RangeTooSmall            = reason("RangeTooSmall", Traits{Rank: PreventsNodes})
	AddressConflict          = reason("AddressConflict", Traits{})
	AddressInUse             = reason("AddressInUse", Traits{Rank: TakesPart})
	AddressesExhausted       = reason("AddressesExhausted", Traits{Rank: PreventsNodes, AboutEdges: true, Follows: true})
	LeasesNotWritten         = reason("LeasesNotWritten", Traits{Rank: TakesPart, AboutEdges: true})
	RogueDHCPServer          = reason("RogueDHCPServer", Traits{Rank: TakesPart, AboutEdges: true})
	RogueRouter              = reason("RogueRouter", Traits{AboutEdges: true})
	NodesNotJoining          = reason("NodesNotJoining", Traits{Rank: TakesPart, AboutEdges: true, Follows: true})
	EdgesPartitioned         = reason("EdgesPartitioned", Traits{Rank: TakesPart, AboutEdges: true, Follows: true})
	EdgesServeDifferentPlans = reason("EdgesServeDifferentPlans", Traits{Rank: TakesPart, AboutEdges: true, Follows: true})
	EdgeDuplicated           = reason("EdgeDuplicated", Traits{Rank: TakesPart, AboutEdges: true})
	EdgeImpaired             = reason("EdgeImpaired", Traits{Rank: TakesPart, AboutEdges: true, Follows: true})
	SourcesUnverified        = reason("SourcesUnverified", Traits{AboutEdges: true})
	IPv6NotServed            = reason("IPv6NotServed", Traits{Rank: Hint})
	AppsUnreachable          = reason("AppsUnreachable", Traits{Rank: TakesPart})
	ImagesUnreachable        = reason("ImagesUnreachable", Traits{Rank: PreventsNodes})
	ControlPlaneProxied      = reason("ControlPlaneProxied", Traits{Rank: PreventsNodes})
	OAuthUnreachable         = reason("OAuthUnreachable", Traits{Rank: TakesPart})
	HostUnreachable          = reason("HostUnreachable", Traits{Rank: TakesPart})
	NTPMissing               = reason("NTPMissing", Traits{Rank: Hint})
	ClockUnsynchronized      = reason("ClockUnsynchronized", Traits{Rank: Hint, AboutEdges: true})
	NotPermitted             = reason("NotPermitted", Traits{})
	NamesOverridden          = reason("NamesOverridden", Traits{})
	AccessOpened             = reason("AccessOpened", Traits{})
	AccessRefused            = reason("AccessRefused", Traits{})
	LoadBalancersUnreachable = reason("LoadBalancersUnreachable", Traits{})
	ServedByOthers           = reason("ServedByOthers", Traits{})
	FailoverDegraded         = reason("FailoverDegraded", Traits{Rank: TakesPart, AboutEdges: true, Follows: true})
	NotApplied               = reason("NotApplied", Traits{})
	Paused                   = reason("Paused", Traits{})
	RemovalScheduled         = reason("RemovalScheduled", Traits{Rank: TakesPart})
	Removing                 = reason("Removing", Traits{})
	EdgeUnavailable          = reason("EdgeUnavailable", Traits{Rank: TakesPart, AboutEdges: true, Follows: true})
	UpdatePending            = reason("UpdatePending", Traits{})
	EdgeNotReady             = reason("EdgeNotReady", Traits{AboutEdges: true, Follows: true})
	AddressCheckPending      = reason("AddressCheckPending", Traits{})
	WaitingForControlPlane   = reason("WaitingForControlPlane", Traits{})
	WaitingForEndpoint       = reason("WaitingForEndpoint", Traits{})
	EndpointStale            = reason("EndpointStale", Traits{})
	WaitingForNetwork        = reason("WaitingForNetwork", Traits{})
	InstallationIncomplete   = reason("InstallationIncomplete", Traits{})
	EdgesCannotStart         = reason("EdgesCannotStart", Traits{Rank: PreventsNodes})
	DrainInterrupts          = reason("DrainInterrupts", Traits{})
	NetworkTestFailed        = reason("NetworkTestFailed", Traits{})
	CheckIncomplete          = reason("CheckIncomplete", Traits{})
)
