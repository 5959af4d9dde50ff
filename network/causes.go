// This file has the name of every Cause. cause_table.go has their reasons and
// arguments, and network/explain has a message for each.

package network

// The addresses of a network.
const (
	CIDRTooSmallForEdges     Cause = "CIDRTooSmallForEdges"
	CIDRTooSmallForVMs       Cause = "CIDRTooSmallForVMs"
	CIDRNotSet               Cause = "CIDRNotSet"
	CIDROnlyIPv6             Cause = "CIDROnlyIPv6"
	NetworkCIDRNotSet        Cause = "NetworkCIDRNotSet"
	NetworkCIDROnlyIPv6      Cause = "NetworkCIDROnlyIPv6"
	NetworkCIDRForBootOnly   Cause = "NetworkCIDRForBootOnly"
	NetworkCIDRAmbiguous     Cause = "NetworkCIDRAmbiguous"
	EdgeAddressCount         Cause = "EdgeAddressCount"
	GatewayOutsideCIDR       Cause = "GatewayOutsideCIDR"
	DHCPRangeOutsideCIDR     Cause = "DHCPRangeOutsideCIDR"
	EdgeAddressOutsideCIDR   Cause = "EdgeAddressOutsideCIDR"
	EdgeAddressRepeated      Cause = "EdgeAddressRepeated"
	EdgeAddressIsGateway     Cause = "EdgeAddressIsGateway"
	EdgeAddressInDHCPRange   Cause = "EdgeAddressInDHCPRange"
	EdgeAddressExcluded      Cause = "EdgeAddressExcluded"
	ReservationOutsideCIDR   Cause = "ReservationOutsideCIDR"
	ReservationOfEdgeAddress Cause = "ReservationOfEdgeAddress"
	ReservedAddressRepeated  Cause = "ReservedAddressRepeated"
	ReservedMACRepeated      Cause = "ReservedMACRepeated"
	VMsExceedDHCPRange       Cause = "VMsExceedDHCPRange"
	VMHasEdgeAddress         Cause = "VMHasEdgeAddress"
	AppsAddressIsEdge        Cause = "AppsAddressIsEdge"
)

// Conflicts with other networks, with addresses in use, and with other hosted clusters.
const (
	PublishedInCIDR        Cause = "PublishedInCIDR"
	CIDROverlapsManagement Cause = "CIDROverlapsManagement"
	PublishedInManagement  Cause = "PublishedInManagement"
	CIDROverlapsGuest      Cause = "CIDROverlapsGuest"
	PublishedInGuest       Cause = "PublishedInGuest"
	NetworksOverlap        Cause = "NetworksOverlap"
	NetworkOverlapsRemoved Cause = "NetworkOverlapsRemoved"
	PinnedCIDRRemoved      Cause = "PinnedCIDRRemoved"
	PinnedCIDRChanged      Cause = "PinnedCIDRChanged"
	PinnedAddressesChanged Cause = "PinnedAddressesChanged"
	PinnedSettingsRefused  Cause = "PinnedSettingsRefused"
	AddressUsedByOther     Cause = "AddressUsedByOther"
	ProxyARP               Cause = "ProxyARP"
	AddressUsedByVM        Cause = "AddressUsedByVM"
	PeerAddressOfVM        Cause = "PeerAddressOfVM"
	PeerAddressOfHost      Cause = "PeerAddressOfHost"
	DHCPServerOfVM         Cause = "DHCPServerOfVM"
	DHCPServerOfHost       Cause = "DHCPServerOfHost"
	DHCPServerElsewhere    Cause = "DHCPServerElsewhere"
	SharedAddresses        Cause = "SharedAddresses"
	SharedNetworkPending   Cause = "SharedNetworkPending"
	NADDuplicatesRunning   Cause = "NADDuplicatesRunning"
	NADsOnOneNetwork       Cause = "NADsOnOneNetwork"
)

// Parts that other servers provide, and connections that cannot be carried.
const (
	SecondaryWithoutDHCP        Cause = "SecondaryWithoutDHCP"
	ServicesEmpty               Cause = "ServicesEmpty"
	DHCPByOthers                Cause = "DHCPByOthers"
	DNSByOthers                 Cause = "DNSByOthers"
	DNSAndProxyByOthers         Cause = "DNSAndProxyByOthers"
	ProxyByOthers               Cause = "ProxyByOthers"
	ListenerInUse               Cause = "ListenerInUse"
	ListenerWithoutServerNames  Cause = "ListenerWithoutServerNames"
	PortReservedForDNS          Cause = "PortReservedForDNS"
	BackendNameInUse            Cause = "BackendNameInUse"
	ServerNameMissing           Cause = "ServerNameMissing"
	RegistryNotServed           Cause = "RegistryNotServed"
	LastGoodEndpoint            Cause = "LastGoodEndpoint"
	FailoverAnnouncementIgnored Cause = "FailoverAnnouncementIgnored"
	FailoverServiceVIPIgnored   Cause = "FailoverServiceVIPIgnored"
	FailoverTargetsAnswered     Cause = "FailoverTargetsAnswered"
	FailoverCheckFailed         Cause = "FailoverCheckFailed"
	PeerNotHeard                Cause = "PeerNotHeard"
	EdgesHeld                   Cause = "EdgesHeld"
	PlansDiffer                 Cause = "PlansDiffer"
	EdgeHasTwoPods              Cause = "EdgeHasTwoPods"
	EdgeHearsNothing            Cause = "EdgeHearsNothing"
	EdgeReachesLess             Cause = "EdgeReachesLess"
	EdgeAnswersForgedSources    Cause = "EdgeAnswersForgedSources"
)

// Annotations whose values cannot be used.
const (
	AnnotationUnreadable    Cause = "AnnotationUnreadable"
	CIDRHasHostBits         Cause = "CIDRHasHostBits"
	RangeReversed           Cause = "RangeReversed"
	RangeTooLong            Cause = "RangeTooLong"
	ListTooLong             Cause = "ListTooLong"
	ListEntryRepeated       Cause = "ListEntryRepeated"
	HostInManagementCluster Cause = "HostInManagementCluster"
	HostInHostedCluster     Cause = "HostInHostedCluster"
	HostIsAddress           Cause = "HostIsAddress"
	HostHasOneLabel         Cause = "HostHasOneLabel"
	AnnotationRenamed       Cause = "AnnotationRenamed"
	AnnotationMisplaced     Cause = "AnnotationMisplaced"
	AnnotationMisspelled    Cause = "AnnotationMisspelled"
	AnnotationNotKnown      Cause = "AnnotationNotKnown"
	NodePoolNotFound        Cause = "NodePoolNotFound"
	NodePoolSettingsDiffer  Cause = "NodePoolSettingsDiffer"
	NodePoolValuesDiffer    Cause = "NodePoolValuesDiffer"
)

// NodePools, and the NetworkAttachmentDefinitions that they name.
const (
	NotKubeVirt            Cause = "NotKubeVirt"
	VMsOnOtherCluster      Cause = "VMsOnOtherCluster"
	NodePoolMissing        Cause = "NodePoolMissing"
	NetworkNotNamed        Cause = "NetworkNotNamed"
	NoNetworkNamed         Cause = "NoNetworkNamed"
	NADNameInvalid         Cause = "NADNameInvalid"
	NADNotFound            Cause = "NADNotFound"
	NADNotGiven            Cause = "NADNotGiven"
	NADConfigInvalid       Cause = "NADConfigInvalid"
	NADTypeUnsupported     Cause = "NADTypeUnsupported"
	NADHasIPAM             Cause = "NADHasIPAM"
	OVNPrimaryNetwork      Cause = "OVNPrimaryNetwork"
	OVNHasSubnets          Cause = "OVNHasSubnets"
	OVNOwnerHasSubnets     Cause = "OVNOwnerHasSubnets"
	OVNTopologyUnsupported Cause = "OVNTopologyUnsupported"
	SRIOVResourceMissing   Cause = "SRIOVResourceMissing"
	SRIOVResourceExhausted Cause = "SRIOVResourceExhausted"
	VMsHaveOtherRoute      Cause = "VMsHaveOtherRoute"
	NADNamespaceIsolated   Cause = "NADNamespaceIsolated"
	NADNamespaceDiffers    Cause = "NADNamespaceDiffers"
	NADNamespaceNotGranted Cause = "NADNamespaceNotGranted"
)

// Endpoints that HyperShift or Services publish.
const (
	APIEndpointUnknown         Cause = "APIEndpointUnknown"
	APIServiceMissing          Cause = "APIServiceMissing"
	ControlPlaneMissing        Cause = "ControlPlaneMissing"
	EndpointPending            Cause = "EndpointPending"
	RouteHostPending           Cause = "RouteHostPending"
	NodePortPending            Cause = "NodePortPending"
	LoadBalancerPending        Cause = "LoadBalancerPending"
	EndpointServiceMissing     Cause = "EndpointServiceMissing"
	EndpointPortMissing        Cause = "EndpointPortMissing"
	BaseDomainPending          Cause = "BaseDomainPending"
	IngressServicePending      Cause = "IngressServicePending"
	IngressAddressMissing      Cause = "IngressAddressMissing"
	EndpointAtIPv6             Cause = "EndpointAtIPv6"
	IPv6Networks               Cause = "IPv6Networks"
	RouteHostIsAddress         Cause = "RouteHostIsAddress"
	TooManyPublished           Cause = "TooManyPublished"
	PublishedIsIngress         Cause = "PublishedIsIngress"
	PublishedHasNoPort         Cause = "PublishedHasNoPort"
	StrategyUnsupported        Cause = "StrategyUnsupported"
	NodePortAddressMissing     Cause = "NodePortAddressMissing"
	NodePortAddressIsLocalhost Cause = "NodePortAddressIsLocalhost"
	PublishedHostInvalid       Cause = "PublishedHostInvalid"
	APIRouteHostMissing        Cause = "APIRouteHostMissing"
)

// What VMs cannot reach on a network without a gateway.
const (
	OAuthBehindGateway           Cause = "OAuthBehindGateway"
	TimeServersMissing           Cause = "TimeServersMissing"
	GuestProxyUnreachable        Cause = "GuestProxyUnreachable"
	ExternalHostsOff             Cause = "ExternalHostsOff"
	ExternalHostsNotServed       Cause = "ExternalHostsNotServed"
	RegistryIsAddress            Cause = "RegistryIsAddress"
	RegistryIsPlainHTTP          Cause = "RegistryIsPlainHTTP"
	RegistryInManagementCluster  Cause = "RegistryInManagementCluster"
	RegistryNameInvalid          Cause = "RegistryNameInvalid"
	ManagementProxyUnreadable    Cause = "ManagementProxyUnreadable"
	ManagementProxyNeedsPassword Cause = "ManagementProxyNeedsPassword"
	ManagementProxyNotHTTP       Cause = "ManagementProxyNotHTTP"
	RegistryNotPermitted         Cause = "RegistryNotPermitted"
	RegistryPortNotPermitted     Cause = "RegistryPortNotPermitted"
)

// What the administrator of the management cluster does not permit, and names that the user
// overrides.
const (
	HostNotPermitted           Cause = "HostNotPermitted"
	HostPortNotPermitted       Cause = "HostPortNotPermitted"
	HostInsideManagement       Cause = "HostInsideManagement"
	UpstreamPortRefused        Cause = "UpstreamPortRefused"
	UpstreamIsSpecial          Cause = "UpstreamIsSpecial"
	UpstreamInManagement       Cause = "UpstreamInManagement"
	UpstreamNotPermitted       Cause = "UpstreamNotPermitted"
	EdgeNodesNotPermitted      Cause = "EdgeNodesNotPermitted"
	RecordOverridesEndpoint    Cause = "RecordOverridesEndpoint"
	RecordCoversTopLevelDomain Cause = "RecordCoversTopLevelDomain"
)

// Edges, and what the operator applies.
const (
	AddressCheckRunning    Cause = "AddressCheckRunning"
	AddressCheckRefused    Cause = "AddressCheckRefused"
	EdgePodNotReady        Cause = "EdgePodNotReady"
	EdgePodRefused         Cause = "EdgePodRefused"
	EdgePodTerminating     Cause = "EdgePodTerminating"
	NetworkEdgeNotReady    Cause = "NetworkEdgeNotReady"
	NetworkEdgeRefused     Cause = "NetworkEdgeRefused"
	NetworkEdgeTerminating Cause = "NetworkEdgeTerminating"
	EdgeOverdue            Cause = "EdgeOverdue"
	EdgeRolloutHeld        Cause = "EdgeRolloutHeld"
	PlanTooLarge           Cause = "PlanTooLarge"
	PlanUnreadable         Cause = "PlanUnreadable"
	WriteRefused           Cause = "WriteRefused"
)
