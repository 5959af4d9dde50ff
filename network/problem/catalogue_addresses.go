// This file declares the problems of one topic: the addresses of a network.

package problem

var (
	CIDRTooSmallForEdges = declare("CIDRTooSmallForEdges", Entry{Reason: CIDRTooSmall, Severity: SeverityError,
		What:   "CIDR {cidr} of network {network} is too small for the VIPs and the edge addresses.",
		Effect: "By default, the VIPs and the edge addresses are the second to fifth usable address of the CIDR.",
		Fix:    "Set a larger CIDR ({where}). A /28 is the smallest CIDR that needs no other annotation."})
	CIDRTooSmallForVMs = declare("CIDRTooSmallForVMs", Entry{Reason: CIDRTooSmall, Severity: SeverityError,
		What:   "CIDR {cidr} of network {network} has no addresses for VMs.",
		Effect: "By default, VMs get the tenth to the second-to-last usable address.",
		Fix:    "Set a larger CIDR ({where}), or set annotation dhcp-range."})
	CIDRNotSet = declare("CIDRNotSet", Entry{Reason: CIDRMissing, Severity: SeverityError,
		What:   "Network {network} has no IPv4 CIDR.",
		Effect: "VMs cannot boot from it. Edges serve only IPv4.",
		Fix:    "Set {where}."})
	NetworkCIDRNotSet = declare("NetworkCIDRNotSet", Entry{Reason: WaitingForNetwork, Severity: SeverityWaiting, Mistake: true,
		What:   "Network {network} has no IPv4 CIDR.",
		Effect: "It is not served. The first IPv4 entry of spec.networking.machineNetwork applies to one network only.",
		Fix:    "Set {where}."})
	NetworkCIDRByName = declare("NetworkCIDRByName", Entry{Reason: CIDRMissing, Severity: SeverityInfo,
		What:   "CIDR {cidr} of the HostedCluster applies to network {network}, because NodePool {nodePool} comes before {otherNodePool} by its name.",
		Effect: "Of several networks without another CIDR, that of the oldest NodePool gets it, but the creation times do not show which one is older.",
		Fix:    "To choose the network, set annotation {keys} on the HostedCluster."})
	EdgeAddressCount = declare("EdgeAddressCount", Entry{Reason: AnnotationInvalid, Severity: SeverityError,
		What:   "Annotation edge-addresses has {count} addresses, but network {network} needs four.",
		Effect: "With one edge, oooi reserves the fourth address for a second edge, which you can then add without changing other addresses.",
		Fix:    "Set the next-hop VIP, the service VIP, and one address for each of two edges."})
	EdgeAddressesUnused = declare("EdgeAddressesUnused", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning,
		What:   "Annotation edge-addresses has {count} addresses, but network {network} uses only the first four.",
		Effect: "Edges do not hold {addresses}, so VMs or other hosts can get them.",
		Fix:    "Remove them from the annotation, or exclude them with annotation dhcp-exclude."})
	ExclusionOutsideCIDR = declare("ExclusionOutsideCIDR", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning,
		What:   "Annotation dhcp-exclude has {range}, which is outside CIDR {cidr} of network {network}.",
		Effect: "The range has no effect. If it is misspelled, VMs can get addresses of other hosts.",
		Fix:    "Set annotation dhcp-exclude to addresses in {cidr}."})
	ExclusionOutsideRange = declare("ExclusionOutsideRange", Entry{Reason: AnnotationUnknown, Severity: SeverityInfo,
		What:   "Annotation dhcp-exclude has {range}, which is outside the DHCP range {pool} of network {network}.",
		Effect: "The range has no effect, because VMs get only addresses in the DHCP range."})
	DHCPSettingsUnused = declare("DHCPSettingsUnused", Entry{Reason: AnnotationUnknown, Severity: SeverityInfo,
		What:   "Edges do not run DHCP on network {network}, so these annotations have no effect there: {annotations}.",
		Effect: "Your own DHCP server decides the addresses and options of VMs.",
		Fix:    "Remove them, or add dhcp to annotation services."})
	ClusterCIDRUnused = declare("ClusterCIDRUnused", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning,
		What:   "Annotation cidr of the HostedCluster ({value}) applies only to a network that VMs boot from. VMs of this cluster boot from the pod network.",
		Effect: "The annotation has no effect.",
		Fix:    "Set annotation cidr on the NodePool or on the NetworkAttachmentDefinition."})
	ClusterAddressesUnused = declare("ClusterAddressesUnused", Entry{Reason: AnnotationUnknown, Severity: SeverityWarning,
		What:   "Annotation {key} of the HostedCluster has {value}, which is in the CIDR of no network.",
		Effect: "The annotation has no effect.",
		Fix:    "Set annotation {key} to addresses in the CIDR of a network."})
	GatewayOutsideCIDR = declare("GatewayOutsideCIDR", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "Gateway {gateway} is not a host address of {cidr} (network {network}).",
		Effect: "VMs cannot reach it.",
		Fix:    "Set annotation gateway to an address in {cidr}."})
	DHCPRangeOutsideCIDR = declare("DHCPRangeOutsideCIDR", Entry{Reason: AddressConflict, Severity: SeverityError,
		What: "DHCP range address {address} is not a host address of {cidr} (network {network}).",
		Fix:  "Set annotation dhcp-range to host addresses of {cidr}."})
	EdgeAddressOutsideCIDR = declare("EdgeAddressOutsideCIDR", Entry{Reason: AddressConflict, Severity: SeverityError,
		What: "The {role} {address} is not a host address of {cidr} (network {network}).",
		Fix:  "Set annotation edge-addresses to four host addresses of {cidr}."})
	EdgeAddressRepeated = declare("EdgeAddressRepeated", Entry{Reason: AddressConflict, Severity: SeverityError,
		What: "The {role} {address} of network {network} is also the {otherRole}.",
		Fix:  "Set annotation edge-addresses to four different addresses, other than the gateway."})
	EdgeAddressInDHCPRange = declare("EdgeAddressInDHCPRange", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "The DHCP range {range} of network {network} contains the {role} {address}.",
		Effect: "A VM could get the address of an edge.",
		Fix:    "Set annotation dhcp-range or edge-addresses so that they do not overlap."})
	EdgeAddressExcluded = declare("EdgeAddressExcluded", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "Annotation dhcp-exclude ({range}) contains the {role} {address} of network {network}.",
		Effect: "Excluded addresses belong to other hosts.",
		Fix:    "Set annotation edge-addresses to four other addresses."})
	ReservationUnusable = declare("ReservationUnusable", Entry{Reason: AddressConflict, Severity: SeverityError,
		What: "Reserved address {address} (MAC {mac}) is not a host address of {cidr} (network {network}), or is an edge address or the gateway.",
		Fix:  "Set the reservation to another host address of {cidr}."})
	ReservationRepeated = declare("ReservationRepeated", Entry{Reason: AddressConflict, Severity: SeverityError,
		What: "Reservations {reservation} and {otherReservation} of network {network} have the same address or the same MAC.",
		Fix:  "Remove one of the two reservations."})
	VMsExceedDHCPRange = declare("VMsExceedDHCPRange", Entry{Reason: RangeTooSmall, Severity: SeverityWarning, Mistake: true,
		What:   "Network {network} has {count} DHCP addresses, but NodePool {nodePools} may run {vms} VMs at once, counting those that an update adds.",
		Effect: "VMs get no address when all DHCP addresses are assigned.",
		Fix:    "Set a larger annotation dhcp-range, or lower the limits of the NodePools."})
	DHCPRangeEmpty = declare("DHCPRangeEmpty", Entry{Reason: RangeTooSmall, Severity: SeverityError,
		What:   "All addresses of the DHCP range {range} of network {network} are excluded, reserved, or have a DNS name.",
		Effect: "No VM gets an address.",
		Fix:    "Set a larger annotation dhcp-range, or take fewer addresses out of it ({keys})."})
	MACShared = declare("MACShared", Entry{Reason: AddressConflict, Severity: SeverityWarning,
		What:   "VMs {vms} have the same MAC address {mac} on {nad}.",
		Effect: "DHCP gives them one address, and switches send frames to one of them.",
		Fix:    "Give each VM a MAC address of its own. Look for the address in annotation kubevirt-vm-jsonpatch of HyperShift."})
	MACPatched = declare("MACPatched", Entry{Reason: AddressConflict, Severity: SeverityWarning, PreventsNodes: true,
		What:   "Annotation {annotation} gives the MAC address {mac} to each VM of NodePool {nodePools}.",
		Effect: "DHCP gives these VMs one address, and switches send frames to one of them.",
		Fix:    "Remove macAddress from the annotation."})
	MACPatchedForUpdates = declare("MACPatchedForUpdates", Entry{Reason: AddressConflict, Severity: SeverityWarning,
		What:   "Annotation {annotation} gives the MAC address {mac} to the VM of NodePool {nodePools}. An update creates its new VM before it deletes the old one.",
		Effect: "During an update, both VMs have one address, so the new node may not become Ready.",
		Fix:    "Remove macAddress from the annotation. Or set maxSurge to 0 and maxUnavailable to 1 in spec.management.replace.rollingUpdate."})
	MTUExceedsNAD = declare("MTUExceedsNAD", Entry{Reason: AnnotationInvalid, Severity: SeverityWarning,
		What:   "Annotation mtu ({mtu}) is larger than the MTU of the interfaces of VMs on network {network} ({ofNAD}).",
		Effect: "VMs send packets that their own network interface drops.",
		Fix:    "Set annotation mtu to {ofNAD} or less, or a larger mtu in spec.config of the NetworkAttachmentDefinition."})
	VMHasEdgeAddress = declare("VMHasEdgeAddress", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "VM {vm} already uses {address}, which would be the {role} of network {network}.",
		Effect: "Two hosts cannot have one address.",
		Fix:    "Set annotation edge-addresses to four free addresses, or give the VM another address."})
	NodeHasEdgeAddress = declare("NodeHasEdgeAddress", Entry{Reason: AddressConflict, Severity: SeverityWarning,
		What:   "The {role} {address} of network {network} is also an address of {node}.",
		Effect: "If the node has it on this network, two hosts interrupt each other's connections.",
		Fix:    "Set annotation edge-addresses to four free addresses, or give the node another address."})
	VMsOutsideCIDR = declare("VMsOutsideCIDR", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "VMs {vms} have addresses {addresses} on network {network}. Its CIDR is {cidr}.",
		Effect: "Edges do not serve these VMs. The CIDR is wrong, or another DHCP server assigns addresses.",
		Fix:    "Set {where} to the network of the VMs. Or stop the other DHCP server, or correct its pool."})
	GatewayIsVM = declare("GatewayIsVM", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "VM {vm} has {gateway}, the gateway of network {network}.",
		Effect: "Two hosts cannot have one address, and with this gateway DHCP takes it from the VM.",
		Fix:    "Set annotation gateway to the address of the router, or give the VM another address."})
	AddressKeptByVM = declare("AddressKeptByVM", Entry{Reason: AddressConflict, Severity: SeverityWarning,
		What:   "VMs {vms} on network {network} have {addresses}, which annotation {key} ({values}) takes from them.",
		Effect: "A VM with a DHCP lease keeps its address while it runs, because Kubernetes loses a node if its address changes. The annotation applies when the VM is gone.",
		Fix:    "Replace these VMs, or change annotation {key}."})
	AddressSharedByVMs = declare("AddressSharedByVMs", Entry{Reason: AddressConflict, Severity: SeverityWarning,
		What:   "VMs {vms} report the same address {address} on network {network}.",
		Effect: "Connections to it reach only one of them, and DHCP renews it for only one.",
		Fix:    "Remove the address from the VM that has no DHCP lease for it."})
	AppsAddressShared = declare("AppsAddressShared", Entry{Reason: AddressConflict, Severity: SeverityWarning,
		What:   "Annotation {key} ({address}) is also the address of *.apps of hosted cluster {hostedCluster}.",
		Effect: "Unless the host there selects clusters by server name, the console of one cluster is that of the other.",
		Fix:    "Set annotation {key} to the address of the ingress of this cluster."})
	AppsAddressIsEdge = declare("AppsAddressIsEdge", Entry{Reason: AddressConflict, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation apps-address ({address}) is an edge address of network {network}, where no ingress listens.",
		Effect: "{name} is not resolved.",
		Fix:    "Set annotation apps-address to an address that serves {name} on port 443."})
	RecordIsEdge = declare("RecordIsEdge", Entry{Reason: AddressConflict, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation dns-records gives {name} the address {address}, which is an edge address of network {network}.",
		Effect: "Edges forward no connection to that name.",
		Fix:    "Set the address of the host, publish its Service with annotation publish, or allow it with annotation allowed-hosts."})
	JoinSubnetsDiffer = declare("JoinSubnetsDiffer", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "ovnKubernetesConfig of the hosted cluster has internalJoinSubnet {cidr}, but v4InternalSubnet {otherCIDR} applies.",
		Effect: "The network operator of the hosted cluster accepts only equal subnets, so nodes do not become Ready.",
		Fix:    "Create the cluster without internalJoinSubnet. To choose the subnet, set v4InternalSubnet instead, which needs HyperShift 0.1.80 and release 4.23, or later."})
	HostedNetworksOverlap = declare("HostedNetworksOverlap", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "{field} {cidr} and {otherField} {otherCIDR} of the hosted cluster overlap.",
		Effect: "HyperShift refuses such a HostedCluster, so it creates neither a control plane nor nodes.",
		Fix:    "Create the cluster with networks that do not overlap."})
	FamiliesMixed = declare("FamiliesMixed", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "The first networks of the hosted cluster, and the address of its API for nodes, mix IPv4 and IPv6 ({networks}).",
		Effect: "HyperShift refuses such a HostedCluster, so it creates neither a control plane nor nodes.",
		Fix:    "Create the cluster with the IPv4 network first in each list, and an IPv4 advertiseAddress."})
	AdvertiseAddressUnusable = declare("AdvertiseAddressUnusable", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "spec.networking.apiServer.advertiseAddress is {address}, which is not an address that pods can connect to.",
		Effect: "HyperShift refuses such a HostedCluster, or pods of the hosted cluster do not reach its API server.",
		Fix:    "Create the cluster without the field, or with another address."})
	NetworkTypeRefused = declare("NetworkTypeRefused", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "spec.networking.networkType is {networkType}, which releases since 4.11 do not have.",
		Effect: "HyperShift refuses such a HostedCluster, so it creates neither a control plane nor nodes.",
		Fix:    "Create the cluster with OVNKubernetes."})
	ServiceNetworkTooSmall = declare("ServiceNetworkTooSmall", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "The Service network of the hosted cluster is {cidr}. It is too small: the DNS of the hosted cluster needs the tenth address.",
		Effect: "HyperShift cannot create the configuration of nodes from it, so HyperShift creates no VMs.",
		Fix:    "Create the cluster with a larger spec.networking.serviceNetwork, such as a /16."})
	ServiceFamiliesDiffer = declare("ServiceFamiliesDiffer", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "Services of the hosted cluster have {networks}, and pods have {pods}.",
		Effect: "The network operator of the hosted cluster requires one Service network for each IP family of pods. It refuses all others, so nodes do not become Ready.",
		Fix:    "Create the cluster with one spec.networking.serviceNetwork for each family of spec.networking.clusterNetwork."})
	OVNIPv6WithoutPods = declare("OVNIPv6WithoutPods", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "{field} of the hosted cluster is {cidr}, but its pods have no IPv6.",
		Effect: "The network operator of the hosted cluster refuses that, so nodes do not become Ready.",
		Fix:    "Create the cluster without the field."})
	MachineIPv6WithoutPods = declare("MachineIPv6WithoutPods", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "spec.networking.machineNetwork has {cidr}, but pods have no IPv6.",
		Effect: "Releases 4.23 and later then set an IPv6 subnet for OVN-Kubernetes. The network operator of the hosted cluster refuses it, so nodes do not become Ready.",
		Fix:    "Create the cluster without that network."})
	IPv6JoinSubnetsDiffer = declare("IPv6JoinSubnetsDiffer", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "ovnKubernetesConfig of the hosted cluster has v6InternalSubnet {cidr}, but ipv6.internalJoinSubnet is {otherCIDR}.",
		Effect: "The network operator of the hosted cluster refuses that, so nodes do not become Ready.",
		Fix:    "Create the cluster with ipv6.internalJoinSubnet {cidr} instead of v6InternalSubnet."})
	RouterMustAdvertiseIPv6 = declare("RouterMustAdvertiseIPv6", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning,
		What:   "Pods or Services have IPv6 ({networks}), but edges provide IPv4 only.",
		Effect: "OVN-Kubernetes starts only on nodes that have an IPv6 address and route. Without a router on their network that advertises both, no node becomes Ready.",
		Fix:    "Let a router at fe80::1 on the network advertise an IPv6 prefix, and no DNS server. Up to HyperShift 0.1.81, nodes need DHCPv6, too. Or create the cluster with IPv4 networks only: they cannot be changed later."})
	OVNMTUTooLarge = declare("OVNMTUTooLarge", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning,
		What:   "ovnKubernetesConfig.mtu of the hosted cluster is {mtu}, and network {network} has MTU {networkMTU}.",
		Effect: "The MTU of the network must be at least 100 bytes larger than that of the pod network. If the difference is less than 58 bytes, OVN-Kubernetes does not start, and nodes do not become Ready.",
		Fix:    "If the network carries such packets, set mtu in spec.config of its NetworkAttachmentDefinition to {least} or more, and remove a smaller annotation mtu. Otherwise create the cluster with a smaller ovnKubernetesConfig.mtu: the field cannot change."})
	NetworkMTUsDiffer = declare("NetworkMTUsDiffer", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning,
		What:   "VMs boot from networks with MTU {mtu} and MTU {otherMTU}, and no ovnKubernetesConfig.mtu applies to the hosted cluster.",
		Effect: "The first node determines the MTU of the pod network. If this MTU is too large for another network, nodes on that network do not become Ready.",
		Fix:    "Set annotation mtu to the same value for all. Or create the cluster with ovnKubernetesConfig.mtu {least}, which releases before 4.22 ignore."})
	NodeMTUTooSmall = declare("NodeMTUTooSmall", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning,
		What:   "Network {network} has MTU {mtu}, but nodes of the cluster run with MTU {otherMTU}.",
		Effect: "The first node determined the MTU of the pod network. OVN-Kubernetes refuses nodes with an MTU below {least}, so new nodes on {network} do not become Ready.",
		Fix:    "Set mtu in spec.config of the NetworkAttachmentDefinition to {otherMTU}. Remove annotation mtu, or set it to {otherMTU}."})
	OVNMTUUnknown = declare("OVNMTUUnknown", Entry{Reason: PodNetworkUnsupported, Severity: SeverityInfo,
		What:   "ovnKubernetesConfig.mtu of the hosted cluster is {mtu}. Network {network} has the MTU of a device on the nodes, which no object shows.",
		Effect: "The network needs an MTU of {least} bytes or more. With a smaller MTU, OVN-Kubernetes may not start, and nodes do not become Ready.",
		Fix:    "Set annotation mtu to the MTU of the network."})
	JoinSubnetTooSmall = declare("JoinSubnetTooSmall", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "{field} of the hosted cluster (ovnKubernetesConfig) is {cidr}. It is too small for the {count} subnets that its pod network has for nodes.",
		Effect: "The network operator of the hosted cluster refuses that, so nodes do not become Ready.",
		Fix:    "Create the cluster with a larger {field}, with a smaller spec.networking.clusterNetwork, or with a shorter hostPrefix."})
	AllocationIgnored = declare("AllocationIgnored", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "Release {release} ignores spec.networking.allocateNodeCIDRs, which is Enabled.",
		Effect: "Nodes get no pod subnets. They do not become Ready with a network plugin that needs these subnets.",
		Fix:    "Use release 4.22 or later, or a network plugin that divides the pod network itself."})
	PodSubnetsTooFew = declare("PodSubnetsTooFew", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "The pod network {cidrs} has {count} subnets for nodes. The NodePools may have {vms} nodes at once, counting those that an update adds.",
		Effect: "A node without a subnet does not become Ready.",
		Fix:    "Lower the limits of the NodePools. Or create the cluster with a larger spec.networking.clusterNetwork, or a longer hostPrefix: the default is 23, and 64 for IPv6. With allocateNodeCIDRs, hostPrefix has no effect: each node gets a /24, or a /64 for IPv6."})
	HostPrefixRefused = declare("HostPrefixRefused", Entry{Reason: PodNetworkUnsupported, Severity: SeverityWarning, Mistake: true,
		What:   "Nodes of the hosted cluster get subnets with hostPrefix {hostPrefix} from the pod network {cidr}. It must be from {least} to {most}.",
		Effect: "The network operator of the hosted cluster refuses its whole configuration, so nodes do not become Ready.",
		Fix:    "Create the cluster with a hostPrefix from {least} to {most}, or with a larger network. The default is 23, and 64 for IPv6."})
	AppsLoadBalancerInUse = declare("AppsLoadBalancerInUse", Entry{Reason: AddressConflict, Severity: SeverityWarning,
		What:   "The load balancer of {name} has {address} on network {network}, and {holder} has that address, too.",
		Effect: "Edges serve {name} at the service VIP. Other hosts may reach one or the other at {address}.",
		Fix:    "Give the load balancer another address."})
	ServiceHasEdgeAddress = declare("ServiceHasEdgeAddress", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "The load balancer of Service {service} has {address}, which is the {role} of network {network}.",
		Effect: "Two hosts cannot have one address.",
		Fix:    "Set annotation edge-addresses to four free addresses, or give the load balancer another address."})
	RecordsUnreachable = declare("RecordsUnreachable", Entry{Reason: AddressConflict, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation {key} has records with addresses that VMs on network {network} ({cidr}) cannot reach: {records}.",
		Effect: "VMs resolve the names, but connections to these addresses fail.",
		Fix:    "Set addresses of hosts on the network. Or set annotation gateway, unless the addresses lie in a network of the hosted cluster."})
	AddressOfService = declare("AddressOfService", Entry{Reason: AddressConflict, Severity: SeverityInfo,
		What:   "Addresses {addresses} of {key} belong to {other} of the hosted cluster.",
		Effect: "Nodes on network {network} reach only Services of the hosted cluster at such addresses.",
		Fix:    "If another host has one of them, give the host another address. The networks of the hosted cluster cannot be changed."})
	RelaysUnreachable = declare("RelaysUnreachable", Entry{Reason: AddressConflict, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation {key} has addresses that are not host addresses of network {network} ({cidr}): {servers}.",
		Effect: "Edges have no route to these relay agents, so their VMs get no address.",
		Fix:    "Set the addresses that the relay agents have on the network."})
	NameServersUnreachable = declare("NameServersUnreachable", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "VMs on network {network} ({cidr}) reach none of the DNS servers in annotation {key}: {servers}.",
		Effect: "VMs resolve no names, so nodes that need one do not become Ready.",
		Fix:    "Set {key} to a DNS server with port 53 that is not an edge. Or add dns to annotation services. Beyond the network, VMs need annotation gateway."})
	NameServersMissing = declare("NameServersMissing", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "DHCP advertises no DNS server to VMs on network {network} ({cidr}), because annotation {key} leaves out dns.",
		Effect: "VMs resolve no names, so nodes that need one do not become Ready.",
		Fix:    "Add dns to annotation {key}, or set annotation dns-upstreams to a DNS server that VMs reach, with port 53."})
	NameServersInHostedCluster = declare("NameServersInHostedCluster", Entry{Reason: ImagesUnreachable, Severity: SeverityWarning,
		What:   "DHCP advertises only DNS servers inside the hosted cluster to VMs on network {network} ({cidr}): {servers}, in {other}.",
		Effect: "Nodes that join look for these servers inside the cluster. They then resolve no names, and pull no images.",
		Fix:    "Set annotation {key} to a DNS server outside of {other}. The networks of the hosted cluster cannot be changed."})
	UpstreamUnreachable = declare("UpstreamUnreachable", Entry{Reason: AddressConflict, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation {key} names {server}, which is not a host of network {network} ({cidr}). It is an address of the edges, or the network or broadcast address.",
		Effect: "Edges do not ask this server.",
		Fix:    "Set the address of a DNS server."})
	UpstreamOnOtherNetwork = declare("UpstreamOnOtherNetwork", Entry{Reason: AddressConflict, Severity: SeverityWarning,
		What:   "Annotation {key} names {server}, which is an address of network {otherNetwork}, not of network {network}.",
		Effect: "Edges of network {network} ask this server through the pod network. If it does not answer there, VMs do not resolve names that only it knows.",
		Fix:    "Set annotation {key} on each NodePool, to a server on its own network."})
	UpstreamsNotByGateway = declare("UpstreamsNotByGateway", Entry{Reason: AddressConflict, Severity: SeverityInfo,
		What:   "Edges of network {network} ask the DNS servers {servers} through the pod network, not through gateway {gateway}.",
		Effect: "If they can be reached only through the gateway, they do not answer.",
		Fix:    "No action is needed if the pod network reaches them. Otherwise name their networks in annotation client-networks, unless OVN-Kubernetes provides the network. Or set annotation {key} to a DNS server on the network."})
	UpstreamIsVM = declare("UpstreamIsVM", Entry{Reason: AddressConflict, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation {key} names {server}, which is the address of VM {vm} on network {network}.",
		Effect: "That VM can give any answer to the other VMs. While it is down, names outside the plan do not resolve.",
		Fix:    "Set the address of a DNS server that is not a VM of this cluster."})
	ClientNetworkOverlaps = declare("ClientNetworkOverlaps", Entry{Reason: AddressConflict, Severity: SeverityWarning, Mistake: true,
		What:   "Annotation {key} names {clientNetwork} (network {network}), which overlaps {other}.",
		Effect: "Edges or nodes use these addresses for {other}, so edges do not answer hosts there. Edges answer all other client networks.",
		Fix:    "Set annotation {key} to the smaller networks that the clients are in. Clients with addresses of {other} need other addresses."})
)
