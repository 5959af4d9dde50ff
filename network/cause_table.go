// This file is the table of causes. NewProblem makes a problem from it, and
// docs/problems.md is generated from it.

package network

import (
	"slices"
	"strings"
)

// A CauseInfo describes the problems of one Cause.
type CauseInfo struct {
	Cause  Cause
	Reason Reason
	// Severity is the highest that a problem of this cause has. An Error becomes a
	// Warning when it is about a part without which the rest can be served. An edge
	// that starts is Waiting.
	Severity Severity
	// Args are the names of the arguments, separated by spaces.
	Args string
}

// ArgNames returns the names of the arguments. None: nil.
func (c CauseInfo) ArgNames() []string { return strings.Fields(c.Args) }

// Causes returns all causes, each once.
func Causes() []CauseInfo {
	return slices.Concat(
		addressesCauses(), conflictsCauses(), servicesCauses(), annotationsCauses(),
		nadsCauses(), endpointsCauses(), reachCauses(), permissionsCauses(), accessCauses(), edgesCauses())
}

// of returns p with another subject.
func (p Problem) of(subject Subject) Problem {
	p.Subject = subject
	return p
}

// warning returns p with severity Warning if it was Error. It is for a part without
// which the rest can be served.
func (p Problem) warning() Problem {
	if p.Severity == SeverityError {
		p.Severity, p.Confined = SeverityWarning, false
	}
	return p
}

// NewProblem returns a problem with the Reason and Severity that the table has for
// cause c. keys are what the user can change, the best first.
func NewProblem(c Cause, subject Subject, args Args, keys ...string) Problem {
	info := byCause[c]
	return Problem{Reason: info.Reason, Cause: c, Severity: info.Severity, Subject: subject, Keys: keys, Args: args}
}

// byCause is the table by its causes. It is made once, and never changes.
var byCause = indexed(Causes())

func indexed(all []CauseInfo) map[Cause]CauseInfo {
	out := map[Cause]CauseInfo{}
	for _, info := range all {
		out[info.Cause] = info
	}
	return out
}

func addressesCauses() []CauseInfo {
	return []CauseInfo{
		{CIDRTooSmallForEdges, CIDRTooSmall, SeverityError, "network cidr where"},
		{CIDRTooSmallForVMs, CIDRTooSmall, SeverityError, "network cidr where"},
		{CIDRNotSet, CIDRMissing, SeverityError, "network where"},
		{CIDROnlyIPv6, CIDRMissing, SeverityError, "network where found"},
		{NetworkCIDRNotSet, WaitingForNetwork, SeverityWaiting, "network where"},
		{NetworkCIDROnlyIPv6, WaitingForNetwork, SeverityWaiting, "network where found"},
		{NetworkCIDRAmbiguous, WaitingForNetwork, SeverityWaiting, "network where found"},
		{NetworkCIDRByName, CIDRMissing, SeverityInfo, "network cidr nodePool otherNodePool"},
		{EdgeAddressCount, AnnotationInvalid, SeverityError, "network count"},
		{EdgeAddressesUnused, AnnotationUnknown, SeverityWarning, "network count addresses"},
		{ExclusionOutsideCIDR, AnnotationUnknown, SeverityWarning, "network range cidr"},
		{ExclusionOutsideRange, AnnotationUnknown, SeverityInfo, "network range pool"},
		{DHCPSettingsUnused, AnnotationUnknown, SeverityInfo, "network annotations"},
		{ClusterCIDRUnused, AnnotationUnknown, SeverityWarning, "value"},
		{ClusterAddressesUnused, AnnotationUnknown, SeverityWarning, "value"},
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
		{DHCPRangeEmpty, RangeTooSmall, SeverityError, "network range"},
		{MTUExceedsNAD, AnnotationInvalid, SeverityWarning, "network mtu ofNAD"},
		{VMHasEdgeAddress, AddressConflict, SeverityError, "network vm role address"},
		{AppsAddressIsEdge, AddressConflict, SeverityWarning, "network name address"},
		{AppsLoadBalancerInUse, AddressConflict, SeverityWarning, "network name address holder"},
		{RecordsUnreachable, AddressConflict, SeverityWarning, "network records cidr"},
		{RelaysUnreachable, AddressConflict, SeverityWarning, "network servers cidr"},
		{NameServersUnreachable, AddressConflict, SeverityError, "network servers cidr"},
		{UpstreamUnreachable, AddressConflict, SeverityWarning, "network server cidr"},
		{UpstreamsNotByGateway, AddressConflict, SeverityInfo, "network servers gateway"},
		{UpstreamIsVM, AddressConflict, SeverityWarning, "network server vm"},
		{ClientNetworkOverlaps, AddressConflict, SeverityWarning, "network clientNetwork other"},
	}
}

func conflictsCauses() []CauseInfo {
	return []CauseInfo{
		{PublishedInCIDR, AddressConflict, SeverityError, "network cidr address"},
		{PublishedIsSpecial, AddressConflict, SeverityError, "address other"},
		{CIDRHasNodeAPI, AddressConflict, SeverityWarning, "network cidr address where"},
		{AddressIsNodeAPI, AddressConflict, SeverityError, "network role address"},
		{CIDRIsSpecial, AddressConflict, SeverityError, "network cidr other where"},
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
		{PinnedRole, AddressConflict, SeverityWarning, "network nodePools"},
		{PinnedNADMoved, AddressConflict, SeverityWarning, "network former wanted"},
		{PinnedNADChanged, AddressConflict, SeverityWarning, "network former wanted"},
		{PinnedOVNChanged, AddressConflict, SeverityWarning, "network former wanted"},
		{AddressUsedByOther, AddressInUse, SeverityError, "network role address mac"},
		{ProxyARP, AddressInUse, SeverityWarning, "network mac"},
		{AddressUsedByVM, AddressInUse, SeverityWarning, "network vm role address mac"},
		{VIPOfVM, AddressInUse, SeverityWarning, "network role address mac vm"},
		{VIPOfHost, AddressInUse, SeverityWarning, "network role address mac"},
		{PeerAddressOfVM, AddressInUse, SeverityWarning, "network address mac vm"},
		{PeerAddressOfHost, AddressInUse, SeverityWarning, "network address mac"},
		{PoolAddressOfVM, AddressInUse, SeverityWarning, "network addresses mac vm"},
		{PoolAddressOfHost, AddressInUse, SeverityWarning, "network addresses mac"},
		{PoolAddressDeclined, AddressInUse, SeverityWarning, "network addresses"},
		{ReservationUsed, AddressInUse, SeverityWarning, "network address reserved user"},
		{PoolExhausted, AddressesExhausted, SeverityWarning, "network since size used declined avoided"},
		{EdgeLeasesUnwritten, LeasesNotWritten, SeverityWarning, "network edge since error"},
		{EdgeRenewalsUnwritten, LeasesNotWritten, SeverityWarning, "network edge since until error"},
		{DHCPServerOfVM, RogueDHCPServer, SeverityWarning, "network address mac vm"},
		{DHCPServerOfHost, RogueDHCPServer, SeverityWarning, "network address mac"},
		{DHCPServerUnlocated, RogueDHCPServer, SeverityWarning, "network address"},
		{SharedAddresses, NetworkShared, SeverityError, "network hostedCluster addresses"},
		{SharedAddressesByName, NetworkShared, SeverityError, "network hostedCluster addresses"},
		{SharedNetworkPending, NetworkShared, SeverityError, "network hostedCluster"},
		{NADDuplicatesRunning, NetworkShared, SeverityWarning, "network other"},
		{NADsOnOneNetwork, NetworkShared, SeverityError, "nad otherNAD layer2 nodePools"},
	}
}

func servicesCauses() []CauseInfo {
	return []CauseInfo{
		{SecondaryWithoutDHCP, ServedByOthers, SeverityInfo, "network"},
		{SecondaryWithoutCIDR, ServedByOthers, SeverityInfo, "network where"},
		{SecondaryCIDRForBootOnly, ServedByOthers, SeverityInfo, "network where found"},
		{SecondaryCIDRRemoved, ServedByOthers, SeverityWarning, "network cidr where"},
		{SecondaryInUse, ServedByOthers, SeverityInfo, "network"},
		{ServicesEmpty, AnnotationInvalid, SeverityError, "network"},
		{DHCPByOthers, ServedByOthers, SeverityInfo, "network addresses options"},
		{DNSByOthers, ServedByOthers, SeverityInfo, "network names address"},
		{DNSAndProxyByOthers, ServedByOthers, SeverityInfo, "network names"},
		{ProxyByOthers, ServedByOthers, SeverityInfo, "network endpoints"},
		{ListenerInUse, AddressConflict, SeverityError, "at by"},
		{ListenerWithoutServerNames, AddressConflict, SeverityWarning, "at by"},
		{PortReservedForDNS, AddressConflict, SeverityError, "at"},
		{BackendNameInUse, AddressConflict, SeverityError, "at by"},
		{ServerNameMissing, PublishingUnsupported, SeverityError, "at"},
		{RegistryNotServed, ImagesUnreachable, SeverityWarning, "registry"},
		{LastGoodEndpoint, EndpointStale, SeverityWarning, "object"},
		{LastGoodIngress, EndpointStale, SeverityWarning, "name service"},
		{FailoverAnnouncementIgnored, FailoverDegraded, SeverityWarning, "network edge nextHop serviceVIP arpAnnounce source"},
		{FailoverServiceVIPIgnored, FailoverDegraded, SeverityWarning, "network edge nextHop serviceVIP arpAnnounce source"},
		{FailoverTargetsAnswered, FailoverDegraded, SeverityWarning, "network edge nextHop"},
		{FailoverCheckFailed, FailoverDegraded, SeverityWarning, "network edge nextHop error"},
		{PeerNotHeard, EdgesPartitioned, SeverityWarning, "network edge"},
		{EdgesHeld, EdgesPartitioned, SeverityWarning, "network edge minutes"},
		{PlansDiffer, EdgesServeDifferentPlans, SeverityWarning, "network edge"},
		{EdgeHasTwoPods, EdgeDuplicated, SeverityWarning, "network edge"},
		{EdgeHearsNothing, EdgeImpaired, SeverityWarning, "network edge"},
		{EdgeReachesLess, EdgeImpaired, SeverityWarning, "network edge"},
		{EdgeLacksClientRoutes, EdgeImpaired, SeverityWarning, "network edge"},
		{EdgeRefusesConfiguration, EdgeImpaired, SeverityWarning, "network edge error"},
		{EdgeOpensNoPort, EdgeImpaired, SeverityWarning, "network edge ports"},
		{EdgeReachesNoEndpoint, EdgeImpaired, SeverityWarning, "network edge backends"},
		{NoEdgeReachesEndpoint, WaitingForEndpoint, SeverityWaiting, "service"},
		{EdgeAnswersForgedSources, SourcesUnverified, SeverityWarning, "network edge"},
		{EdgeAnswersForgedIPv6Sources, SourcesUnverified, SeverityWarning, "network edge"},
		{EdgeTakesForgedRedirects, SourcesUnverified, SeverityWarning, "network edge"},
		{EdgeHasAdvertisedRoute, RogueRouter, SeverityWarning, "network edge"},
		{EdgeClockUnsynchronized, ClockUnsynchronized, SeverityWarning, "network edge error command"},
		{OneClockUnsynchronized, ClockUnsynchronized, SeverityWarning, "network edge error other command move"},
		{NetworkClocksUnsynchronized, ClockUnsynchronized, SeverityWarning, "network error command"},
	}
}

func annotationsCauses() []CauseInfo {
	return []CauseInfo{
		{AnnotationUnreadable, AnnotationInvalid, SeverityError, "value want"},
		{AnnotationNotString, AnnotationInvalid, SeverityError, "value"},
		{CIDRHasHostBits, AnnotationInvalid, SeverityError, "value want"},
		{RangeReversed, AnnotationInvalid, SeverityError, "value"},
		{RangeTooLong, AnnotationInvalid, SeverityError, "value most"},
		{ListTooLong, AnnotationInvalid, SeverityError, "count most"},
		{ListEntryRepeated, AnnotationInvalid, SeverityError, "value"},
		{HostInManagementCluster, AnnotationInvalid, SeverityError, "value"},
		{HostInHostedCluster, AnnotationInvalid, SeverityError, "value"},
		{HostIsAddress, AnnotationInvalid, SeverityError, "value"},
		{HostHasOneLabel, AnnotationInvalid, SeverityError, "value"},
		{AnnotationMisplaced, AnnotationUnknown, SeverityWarning, "places"},
		{AnnotationMisspelled, AnnotationUnknown, SeverityWarning, "meant"},
		{AnnotationNotKnown, AnnotationUnknown, SeverityWarning, ""},
		{AnnotationPrefixMisspelled, AnnotationUnknown, SeverityWarning, "meant"},
		{AnnotationNotPerNodePool, AnnotationUnknown, SeverityWarning, "meant nodePool"},
		{LabelNotAnnotation, AnnotationUnknown, SeverityWarning, ""},
		{PublishedElsewhere, AnnotationUnknown, SeverityWarning, "namespace"},
		{NodePoolNotFound, AnnotationUnknown, SeverityWarning, "nodePool"},
		{NADValueUnused, AnnotationUnknown, SeverityWarning, "network value otherValue source"},
		{ClusterCIDRNotTaken, AnnotationUnknown, SeverityWarning, "network value cidr"},
		{GatewayOnSecondary, AnnotationUnknown, SeverityInfo, "network gateway"},
		{ClientNetworksOnSecondary, AnnotationUnknown, SeverityInfo, "network"},
		{ClientNetworksWithoutGateway, AnnotationUnknown, SeverityWarning, "network"},
		{NodePoolSettingsDiffer, AnnotationInvalid, SeverityError, "network nodePools otherNodePool"},
		{NodePoolValuesDiffer, AnnotationInvalid, SeverityError, "network nodePools otherNodePool value otherValue"},
		{NodePoolOverridesOthers, AnnotationInvalid, SeverityError, "network nodePools otherNodePool value otherValue"},
	}
}

func nadsCauses() []CauseInfo {
	return []CauseInfo{
		{NotKubeVirt, PlatformUnsupported, SeverityError, "platform"},
		{VMsOnOtherCluster, ExternalInfrastructure, SeverityError, ""},
		{VMsInOtherNamespace, ExternalInfrastructure, SeverityError, "namespace controlPlane"},
		{NodePoolMissing, WaitingForNetwork, SeverityWaiting, ""},
		{NetworkNotNamed, NetworkMissing, SeverityError, "network"},
		{NetworkNotSelected, NetworkMissing, SeverityError, "network selected nodePools"},
		{NotSelectedInUse, NetworkMissing, SeverityWarning, "network"},
		{NoNetworkNamed, NetworkMissing, SeverityError, ""},
		{NADNameInvalid, NetworkMissing, SeverityError, "nad nodePools example part"},
		{NADNotFound, NetworkMissing, SeverityError, "nad nodePools types"},
		{NADNotGiven, WaitingForNetwork, SeverityWaiting, "nad"},
		{NADConfigInvalid, NetworkUnsupported, SeverityError, "nad error"},
		{NADTypeUnsupported, NetworkUnsupported, SeverityError, "nad type types"},
		{NADValueUnsupported, NetworkUnsupported, SeverityError, "nad setting value values"},
		{NADHasIPAM, NetworkUnsupported, SeverityError, "nad ipam"},
		{NADPortsIsolated, NetworkUnsupported, SeverityWarning, "nad"},
		{MacvlanModeUnsupported, NetworkUnsupported, SeverityError, "nad mode"},
		{OVNPrimaryNetwork, NetworkUnsupported, SeverityError, "nad"},
		{OVNHasSubnets, NetworkUnsupported, SeverityError, "nad subnets"},
		{OVNOwnerHasSubnets, NetworkUnsupported, SeverityError, "nad subnets owner"},
		{OVNTopologyUnsupported, NetworkUnsupported, SeverityError, "nad topology"},
		{SRIOVResourceMissing, NetworkUnsupported, SeverityError, "nad annotation"},
		{SRIOVResourceExhausted, NetworkUnsupported, SeverityError, "nad resource"},
		{ClientNetworksOnOVN, NetworkUnsupported, SeverityWarning, "network gateway"},
		{VMsHaveOtherRoute, NetworkUnsupported, SeverityWarning, "network nodePools"},
		{NADNamespaceIsolated, NADNamespaceNotAllowed, SeverityError, "nad namespace allowed nodePools"},
		{NADNamespaceNotGranted, NADNamespaceNotAllowed, SeverityError, "nad namespace annotation nodePools"},
		{NADNamespaceDiffers, NADNamespaceNotAllowed, SeverityWarning, "nad namespace nodePools"},
	}
}

func endpointsCauses() []CauseInfo {
	return []CauseInfo{
		{APIEndpointUnknown, WaitingForControlPlane, SeverityWaiting, "object at"},
		{APIServiceMissing, WaitingForControlPlane, SeverityWaiting, "object"},
		{ControlPlaneMissing, WaitingForControlPlane, SeverityWaiting, "namespace"},
		{ControlPlaneGone, WaitingForControlPlane, SeverityWaiting, "namespace"},
		{EndpointPending, WaitingForEndpoint, SeverityWaiting, "service object at"},
		{RouteHostPending, WaitingForEndpoint, SeverityWaiting, "service object at"},
		{NodePortPending, WaitingForEndpoint, SeverityWaiting, "service object at"},
		{LoadBalancerPending, WaitingForEndpoint, SeverityWaiting, "service object at"},
		{EndpointServiceMissing, WaitingForEndpoint, SeverityWaiting, "object"},
		{EndpointPortMissing, WaitingForEndpoint, SeverityWaiting, "object port"},
		{BaseDomainPending, WaitingForEndpoint, SeverityWaiting, "object"},
		{IngressServicePending, WaitingForEndpoint, SeverityWaiting, "name object"},
		{IngressCopyPending, WaitingForEndpoint, SeverityWaiting, "name service"},
		{IngressAddressMissing, AppsUnreachable, SeverityWarning, "name service"},
		{IngressAddressUnknown, AppsUnreachable, SeverityInfo, "name service"},
		{EndpointAtIPv6, IPv6NotServed, SeverityError, "service"},
		{IPv6Networks, IPv6NotServed, SeverityInfo, "networks"},
		{RouteHostIsAddress, PublishingUnsupported, SeverityWarning, "route address"},
		{RouteServiceMissing, PublishingUnsupported, SeverityInfo, "route object"},
		{RoutePortMissing, PublishingUnsupported, SeverityInfo, "route object port"},
		{RouteAlternatesUnused, PublishingUnsupported, SeverityInfo, "route object services"},
		{IgnitionRouteNotAdmitted, WaitingForEndpoint, SeverityWaiting, "object"},
		{TooManyPublished, PublishingUnsupported, SeverityWarning, "service count most"},
		{PublishedIsIngress, PublishingUnsupported, SeverityWarning, "service at"},
		{PublishedByGuest, PublishingUnsupported, SeverityWarning, "service guestService"},
		{PublishedHasNoPort, PublishingUnsupported, SeverityWarning, "service at"},
		{StrategyUnsupported, PublishingUnsupported, SeverityError, "field service strategy strategies"},
		{NodePortAddressMissing, PublishingUnsupported, SeverityError, "field service"},
		{EndpointPortInvalid, PublishingUnsupported, SeverityError, ""},
		{NodePortAddressIsLocalhost, PublishingUnsupported, SeverityError, "field service"},
		{PublishedHostInvalid, PublishingUnsupported, SeverityError, "field service"},
		{APIRouteHostMissing, PublishingUnsupported, SeverityError, "field"},
	}
}

func reachCauses() []CauseInfo {
	return []CauseInfo{
		{OAuthBehindGateway, OAuthUnreachable, SeverityWarning, "network gateway address"},
		{TimeServersMissing, NTPMissing, SeverityWarning, "networks"},
		{TimeServersUnreachable, NTPMissing, SeverityWarning, "network servers cidr"},
		{OnlyTimeServersUnreachable, NTPMissing, SeverityWarning, "network servers cidr"},
		{AppsAddressUnreachable, AppsUnreachable, SeverityWarning, "network name address cidr"},
		{GuestProxyUnreachable, ImagesUnreachable, SeverityWarning, "network proxy"},
		{ExternalHostsOff, ImagesUnreachable, SeverityWarning, "network hosts"},
		{ExternalHostsNotServed, ImagesUnreachable, SeverityWarning, "network hosts"},
		{RegistryIsAddress, ImagesUnreachable, SeverityWarning, "hosts"},
		{RegistryIsPlainHTTP, ImagesUnreachable, SeverityWarning, "hosts"},
		{RegistryInManagementCluster, ImagesUnreachable, SeverityWarning, "hosts"},
		{RegistryNameInvalid, ImagesUnreachable, SeverityWarning, "hosts"},
		{TooManyRegistries, ImagesUnreachable, SeverityWarning, "count most"},
		{RegistryMayRedirect, ImagesUnreachable, SeverityInfo, "hosts"},
		{ReleaseMayNameOthers, ImagesUnreachable, SeverityInfo, "hosts"},
		{ManagementProxyUnreadable, ImagesUnreachable, SeverityWarning, "hosts"},
		{ManagementProxyNeedsPassword, ImagesUnreachable, SeverityWarning, "hosts"},
		{ManagementProxyNotHTTP, ImagesUnreachable, SeverityWarning, "hosts"},
		{RegistryNotPermitted, ImagesUnreachable, SeverityWarning, "hosts"},
		{RegistryPortNotPermitted, ImagesUnreachable, SeverityWarning, "hosts"},
	}
}

func permissionsCauses() []CauseInfo {
	return []CauseInfo{
		{HostNotPermitted, NotPermitted, SeverityWarning, "hosts"},
		{HostPortNotPermitted, NotPermitted, SeverityWarning, "hosts"},
		{HostInsideManagement, NotPermitted, SeverityWarning, "network hosts"},
		{HostInClientNetwork, NotPermitted, SeverityWarning, "network hosts"},
		{UpstreamPortRefused, NotPermitted, SeverityWarning, "network server"},
		{UpstreamIsSpecial, NotPermitted, SeverityWarning, "network server other"},
		{UpstreamInManagement, NotPermitted, SeverityWarning, "network server other"},
		{UpstreamNotPermitted, NotPermitted, SeverityWarning, "network server"},
		{EdgeNodesNotPermitted, NotPermitted, SeverityError, "labels"},
		{RecordOverridesEndpoint, NamesOverridden, SeverityWarning, "name addresses"},
		{RecordCoversTopLevelDomain, NamesOverridden, SeverityWarning, "name addresses"},
	}
}

func edgesCauses() []CauseInfo {
	return []CauseInfo{
		{AddressCheckRunning, AddressCheckPending, SeverityWaiting, "network deployment command"},
		{AddressCheckRefused, AddressCheckPending, SeverityWaiting, "network deployment command error"},
		{EdgeNotServing, EdgeUnavailable, SeverityWarning, "network services command error"},
		{EdgePodNotReady, EdgeUnavailable, SeverityWarning, "network services command"},
		{EdgePodRefused, EdgeUnavailable, SeverityWarning, "network services command error"},
		{EdgePodTerminating, EdgeUnavailable, SeverityWarning, "network services command"},
		{NetworkEdgeNotServing, EdgeNotReady, SeverityError, "network services command error"},
		{NetworkEdgeNotReady, EdgeNotReady, SeverityError, "network services command"},
		{NetworkEdgeRefused, EdgeNotReady, SeverityError, "network services command error"},
		{NetworkEdgeTerminating, EdgeNotReady, SeverityError, "network services command"},
		{EdgeOverdue, EdgeUnavailable, SeverityWarning, "peer minutes"},
		{EdgeRolloutHeld, EdgeUnavailable, SeverityWarning, "peer deployment"},
		{UpdateWaits, UpdatePending, SeverityInfo, "wave waves"},
		{UpdateStopped, UpdatePending, SeverityWarning, ""},
		{PlanTooLarge, NotApplied, SeverityError, "size most"},
		{PlanUnreadable, NotApplied, SeverityError, "namespace error"},
		{ObjectNotOwned, NotApplied, SeverityError, ""},
		{ControlPlaneNamespaceShared, NotApplied, SeverityError, "namespace hostedCluster"},
		{FieldUnreadable, NotApplied, SeverityError, "kind object fields"},
		{KindNotWatched, NotApplied, SeverityError, "kind error"},
		{WriteRefused, NotApplied, SeverityError, "error"},
		{DeleteRefused, NotApplied, SeverityError, "error"},
		{ReadFailed, NotApplied, SeverityError, "error"},
		{PlanInvalid, NotApplied, SeverityError, "error"},
		{EdgeMissing, EdgeUnavailable, SeverityWarning, "network services"},
		{NetworkEdgesMissing, EdgeNotReady, SeverityError, "network services"},
		{ClusterPaused, Paused, SeverityInfo, ""},
		{PausedUnserved, Paused, SeverityWaiting, ""},
		{RemovalPending, RemovalScheduled, SeverityWarning, "network deadline"},
		{RemovalNotStored, RemovalScheduled, SeverityWarning, "network"},
		{RemovalPendingVMsUnknown, RemovalScheduled, SeverityWarning, "network deadline error"},
		{ClusterDeleting, Removing, SeverityInfo, ""},
		{RemovalRunning, Removing, SeverityWaiting, ""},
		{RemovalHeld, Removing, SeverityError, "objects finalizers"},
		{RemovalUnsafe, NotApplied, SeverityError, ""},
	}
}
