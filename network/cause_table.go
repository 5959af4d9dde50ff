// This file is the table of causes: for each its Reason, its usual Severity, and
// the names of its Args. NewProblem makes a problem from it.

package network

import (
	"slices"
	"strings"
)

// A Fact describes the problems of one Cause.
type Fact struct {
	Cause  Cause
	Reason Reason
	// Severity is the gravest that such a problem has: one about a part that is
	// left out is a Warning where this is Error.
	Severity Severity
	// Args are the names of the arguments, separated by spaces.
	Args string
}

// ArgNames are the names of the arguments. None: nil.
func (f Fact) ArgNames() []string { return strings.Fields(f.Args) }

// CauseTable describes all causes, each once.
func CauseTable() []Fact {
	return slices.Concat(
		addressesFacts(), conflictsFacts(), servicesFacts(), annotationsFacts(),
		nadsFacts(), endpointsFacts(), reachFacts(), edgesFacts())
}

// of is p about subject.
func (p Problem) of(subject Subject) Problem {
	p.Subject = subject
	return p
}

// warning is p about a part that is left out, so that it keeps nothing else from
// being served.
func (p Problem) warning() Problem {
	if p.Severity == SeverityError {
		p.Severity = SeverityWarning
	}
	return p
}

// NewProblem is a problem of cause c about subject, which the user fixes by one of
// keys, the best first. Reason and Severity come from the table.
func NewProblem(c Cause, subject Subject, args Args, keys ...string) Problem {
	p := Problem{Cause: c, Subject: subject, Args: args, Keys: keys}
	for _, f := range CauseTable() {
		if f.Cause == c {
			p.Reason, p.Severity = f.Reason, f.Severity
		}
	}
	return p
}

func addressesFacts() []Fact {
	return []Fact{
		{CIDRTooSmallForEdges, CIDRTooSmall, SeverityError, "network cidr where"},
		{CIDRTooSmallForVMs, CIDRTooSmall, SeverityError, "network cidr where"},
		{CIDRNotSet, CIDRMissing, SeverityError, "network where"},
		{CIDROnlyIPv6, CIDRMissing, SeverityError, "network where found"},
		{NetworkCIDRNotSet, WaitingForNetwork, SeverityWaiting, "network where"},
		{NetworkCIDROnlyIPv6, WaitingForNetwork, SeverityWaiting, "network where found"},
		{NetworkCIDRForBootOnly, WaitingForNetwork, SeverityWaiting, "network where found"},
		{NetworkCIDRAmbiguous, WaitingForNetwork, SeverityWaiting, "network where found"},
		{EdgeAddressCount, AnnotationInvalid, SeverityError, "network count"},
		{GatewayOutsideCIDR, AddressConflict, SeverityError, "network cidr gateway"},
		{DHCPRangeOutsideCIDR, AddressConflict, SeverityError, "network cidr address"},
		{EdgeAddressOutsideCIDR, AddressConflict, SeverityError, "network cidr role address"},
		{EdgeAddressRepeated, AddressConflict, SeverityError, "network address"},
		{EdgeAddressIsGateway, AddressConflict, SeverityError, "network role address"},
		{EdgeAddressInDHCPRange, AddressConflict, SeverityError, "network role address range"},
		{EdgeAddressExcluded, AddressConflict, SeverityError, "network role address range"},
		{ReservationOutsideCIDR, AddressConflict, SeverityError, "network cidr address mac"},
		{ReservationOfEdgeAddress, AddressConflict, SeverityError, "network address mac"},
		{ReservedAddressRepeated, AddressConflict, SeverityError, "network address mac otherMAC"},
		{ReservedMACRepeated, AddressConflict, SeverityError, "network mac"},
		{VMsExceedDHCPRange, RangeTooSmall, SeverityWarning, "network count nodePools vms"},
		{VMHasEdgeAddress, AddressConflict, SeverityError, "network vm role address"},
		{AppsAddressIsEdge, AddressConflict, SeverityWarning, "network name address"},
	}
}

func conflictsFacts() []Fact {
	return []Fact{
		{PublishedInCIDR, AddressConflict, SeverityError, "network cidr address"},
		{CIDROverlapsManagement, AddressConflict, SeverityError, "network cidr other where"},
		{PublishedInManagement, AddressConflict, SeverityError, "address other"},
		{CIDROverlapsGuest, AddressConflict, SeverityError, "network cidr other where"},
		{PublishedInGuest, AddressConflict, SeverityError, "address other"},
		{NetworksOverlap, AddressConflict, SeverityError, "network cidr otherNetwork otherCIDR where"},
		{NetworkOverlapsRemoved, AddressConflict, SeverityError, "network cidr otherNetwork otherCIDR where"},
		{PinnedCIDRRemoved, AddressConflict, SeverityWarning, "network cidr addresses where"},
		{PinnedCIDRChanged, AddressConflict, SeverityWarning, "network cidr addresses wanted where"},
		{PinnedAddressesChanged, AddressConflict, SeverityWarning, "network addresses wanted"},
		{PinnedSettingsRefused, AddressConflict, SeverityWarning, "network cidr addresses"},
		{AddressUsedByOther, AddressInUse, SeverityError, "network role address mac"},
		{ProxyARP, AddressInUse, SeverityWarning, "network mac"},
		{SharedAddresses, NetworkShared, SeverityError, "network hostedCluster addresses"},
		{SharedNetworkPending, NetworkShared, SeverityError, "network hostedCluster"},
		{NADDuplicatesRunning, NetworkShared, SeverityWarning, "network other"},
		{NADsOnOneNetwork, NetworkShared, SeverityError, "nad otherNAD layer2 nodePools"},
	}
}

func servicesFacts() []Fact {
	return []Fact{
		{SecondaryWithoutDHCP, ServedByOthers, SeverityInfo, "network"},
		{ServicesEmpty, AnnotationInvalid, SeverityError, "network"},
		{DHCPByOthers, ServedByOthers, SeverityInfo, "network addresses options"},
		{DNSByOthers, ServedByOthers, SeverityInfo, "network names address"},
		{DNSAndProxyByOthers, ServedByOthers, SeverityInfo, "network names"},
		{ProxyByOthers, ServedByOthers, SeverityInfo, "network endpoints"},
		{ListenerInUse, AddressConflict, SeverityWarning, "at by"},
		{ListenerWithoutServerNames, AddressConflict, SeverityWarning, "at by"},
		{PortReservedForDNS, AddressConflict, SeverityWarning, "at"},
		{BackendNameInUse, AddressConflict, SeverityWarning, "at by"},
		{ServerNameMissing, PublishingUnsupported, SeverityWarning, "at"},
		{RegistryNotServed, ImagesUnreachable, SeverityWarning, "registry"},
		{LastGoodEndpoint, EndpointStale, SeverityWarning, "object"},
		{FailoverAnnouncementIgnored, FailoverDegraded, SeverityWarning, "network edge nextHop finding"},
		{PeerNotHeard, EdgesPartitioned, SeverityWarning, "network edge"},
	}
}

func annotationsFacts() []Fact {
	return []Fact{
		{AnnotationUnreadable, AnnotationInvalid, SeverityError, "value want"},
		{CIDRHasHostBits, AnnotationInvalid, SeverityError, "value want"},
		{RangeReversed, AnnotationInvalid, SeverityError, "value"},
		{RangeTooLong, AnnotationInvalid, SeverityError, "value most"},
		{ListTooLong, AnnotationInvalid, SeverityError, "count most"},
		{ListEntryRepeated, AnnotationInvalid, SeverityError, "value"},
		{HostInManagementCluster, AnnotationInvalid, SeverityError, "value"},
		{HostInHostedCluster, AnnotationInvalid, SeverityError, "value"},
		{HostIsAddress, AnnotationInvalid, SeverityError, "value"},
		{HostHasOneLabel, AnnotationInvalid, SeverityError, "value"},
		{AnnotationRenamed, AnnotationInvalid, SeverityError, "newKey"},
		{AnnotationMisplaced, AnnotationUnknown, SeverityWarning, "places"},
		{AnnotationMisspelled, AnnotationUnknown, SeverityWarning, "meant"},
		{AnnotationNotKnown, AnnotationUnknown, SeverityWarning, ""},
		{NodePoolNotFound, AnnotationUnknown, SeverityWarning, "nodePool"},
		{NodePoolSettingsDiffer, AnnotationInvalid, SeverityError, "network nodePools otherNodePool"},
		{NodePoolValuesDiffer, AnnotationInvalid, SeverityError, "network nodePools otherNodePool value otherValue"},
	}
}

func nadsFacts() []Fact {
	return []Fact{
		{NotKubeVirt, PlatformUnsupported, SeverityError, "platform"},
		{VMsOnOtherCluster, ExternalInfrastructure, SeverityError, ""},
		{NodePoolMissing, WaitingForNetwork, SeverityWaiting, ""},
		{NetworkNotNamed, NetworkMissing, SeverityError, "network"},
		{NoNetworkNamed, NetworkMissing, SeverityError, ""},
		{NADNameInvalid, NetworkMissing, SeverityError, "nad nodePools example part"},
		{NADNotFound, NetworkMissing, SeverityError, "nad nodePools types"},
		{NADNotGiven, WaitingForNetwork, SeverityWaiting, "nad"},
		{NADConfigInvalid, NetworkUnsupported, SeverityError, "nad error"},
		{NADTypeUnsupported, NetworkUnsupported, SeverityError, "nad type types"},
		{NADHasIPAM, NetworkUnsupported, SeverityError, "nad ipam"},
		{OVNPrimaryNetwork, NetworkUnsupported, SeverityError, "nad"},
		{OVNHasSubnets, NetworkUnsupported, SeverityError, "nad subnets"},
		{OVNOwnerHasSubnets, NetworkUnsupported, SeverityError, "nad subnets owner"},
		{OVNTopologyUnsupported, NetworkUnsupported, SeverityError, "nad topology"},
		{SRIOVResourceMissing, NetworkUnsupported, SeverityError, "nad annotation"},
		{SRIOVResourceExhausted, NetworkUnsupported, SeverityError, "nad resource"},
		{VMsHaveOtherRoute, NetworkUnsupported, SeverityWarning, "network nodePools"},
		{NADNamespaceIsolated, NADNamespaceNotAllowed, SeverityError, "nad namespace allowed nodePools"},
		{NADNamespaceDiffers, NADNamespaceNotAllowed, SeverityWarning, "nad namespace nodePools"},
	}
}

func endpointsFacts() []Fact {
	return []Fact{
		{APIEndpointUnknown, WaitingForControlPlane, SeverityWaiting, "object at"},
		{APIServiceMissing, WaitingForControlPlane, SeverityWaiting, "object"},
		{ControlPlaneMissing, WaitingForControlPlane, SeverityWaiting, "namespace"},
		{EndpointPending, WaitingForEndpoint, SeverityWaiting, "service object at"},
		{RouteHostPending, WaitingForEndpoint, SeverityWaiting, "service object at"},
		{NodePortPending, WaitingForEndpoint, SeverityWaiting, "service object at"},
		{LoadBalancerPending, WaitingForEndpoint, SeverityWaiting, "service object at"},
		{EndpointServiceMissing, WaitingForEndpoint, SeverityWaiting, "object"},
		{EndpointPortMissing, WaitingForEndpoint, SeverityWaiting, "object port"},
		{BaseDomainPending, WaitingForEndpoint, SeverityWaiting, "object"},
		{IngressServicePending, WaitingForEndpoint, SeverityWaiting, "name object"},
		{IngressAddressMissing, AppsUnreachable, SeverityWarning, "name"},
		{EndpointAtIPv6, IPv6NotServed, SeverityError, "service"},
		{IPv6Networks, IPv6NotServed, SeverityInfo, "networks"},
		{RouteHostIsAddress, PublishingUnsupported, SeverityWarning, "route address"},
		{TooManyPublished, PublishingUnsupported, SeverityWarning, "service count most"},
		{PublishedIsIngress, PublishingUnsupported, SeverityWarning, "service at"},
		{PublishedHasNoPort, PublishingUnsupported, SeverityWarning, "service at"},
		{StrategyUnsupported, PublishingUnsupported, SeverityError, "field service strategy strategies"},
		{NodePortAddressMissing, PublishingUnsupported, SeverityError, "field service"},
		{NodePortAddressIsLocalhost, PublishingUnsupported, SeverityError, "field service"},
		{PublishedHostInvalid, PublishingUnsupported, SeverityError, "field service"},
		{APIRouteHostMissing, PublishingUnsupported, SeverityError, "field"},
	}
}

func reachFacts() []Fact {
	return []Fact{
		{OAuthBehindGateway, OAuthUnreachable, SeverityWarning, "network gateway address"},
		{TimeServersMissing, NTPMissing, SeverityWarning, "networks"},
		{GuestProxyUnreachable, ImagesUnreachable, SeverityWarning, "network proxy"},
		{ExternalHostsOff, ImagesUnreachable, SeverityWarning, "network hosts"},
		{ExternalHostsNotServed, ImagesUnreachable, SeverityWarning, "network hosts"},
		{RegistryIsAddress, ImagesUnreachable, SeverityWarning, "hosts"},
		{RegistryIsPlainHTTP, ImagesUnreachable, SeverityWarning, "hosts"},
		{RegistryInManagementCluster, ImagesUnreachable, SeverityWarning, "hosts"},
		{RegistryNameInvalid, ImagesUnreachable, SeverityWarning, "hosts"},
		{ManagementProxyUnreadable, ImagesUnreachable, SeverityWarning, "hosts"},
		{ManagementProxyNeedsPassword, ImagesUnreachable, SeverityWarning, "hosts"},
		{ManagementProxyNotHTTP, ImagesUnreachable, SeverityWarning, "hosts"},
	}
}

func edgesFacts() []Fact {
	return []Fact{
		{AddressCheckRunning, AddressCheckPending, SeverityWaiting, "network deployment command"},
		{AddressCheckRefused, AddressCheckPending, SeverityWaiting, "network deployment command error"},
		{EdgePodNotReady, EdgeUnavailable, SeverityWarning, "network services command"},
		{EdgePodRefused, EdgeUnavailable, SeverityWarning, "network services command error"},
		{EdgePodTerminating, EdgeUnavailable, SeverityWarning, "network services command"},
		{NetworkEdgeNotReady, EdgeNotReady, SeverityError, "network services command"},
		{NetworkEdgeRefused, EdgeNotReady, SeverityError, "network services command error"},
		{NetworkEdgeTerminating, EdgeNotReady, SeverityError, "network services command"},
		{EdgeOverdue, EdgeUnavailable, SeverityWarning, "peer minutes"},
		{EdgeRolloutHeld, EdgeUnavailable, SeverityWarning, "edge peer"},
		{PlanTooLarge, NotApplied, SeverityError, "size most"},
		{PlanUnreadable, NotApplied, SeverityError, "namespace error"},
		{WriteRefused, NotApplied, SeverityError, "error"},
	}
}
