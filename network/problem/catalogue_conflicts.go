// This file declares the problems of one topic: conflicts with other networks, with addresses in use, and with other hosted clusters.

package problem

var (
	PublishedInCIDR = declare("PublishedInCIDR", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "HyperShift publishes a service at {address}, which lies in CIDR {cidr} of network {network}.",
		Effect: "VMs would look for the service on their own network.",
		Fix:    "Set another CIDR for the network, or create the cluster with a host name instead."})
	PublishedIsSpecial = declare("PublishedIsSpecial", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "HyperShift publishes a service at {address}, which lies in the special-purpose block {other}.",
		Effect: "VMs cannot connect to such an address on another host.",
		Fix:    "Create the cluster with another address, or with a host name."})
	CIDRHasNodeAPI = declare("CIDRHasNodeAPI", Entry{Reason: AddressConflict, Severity: SeverityWarning,
		What:   "CIDR {cidr} of network {network} contains {address}. Each node reaches the hosted API server at this address of its loopback interface (spec.networking.apiServer.advertiseAddress).",
		Effect: "Nodes cannot reach a host of the network at {address}. DHCP does not assign it.",
		Fix:    "If a host has this address, set another CIDR for the network ({where})."})
	PublishedIsNodeAPI = declare("PublishedIsNodeAPI", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "HyperShift publishes a service at {address}, the address at which each node reaches the hosted API server (spec.networking.apiServer.advertiseAddress).",
		Effect: "Nodes have this address on their loopback interface, so they do not reach the service there.",
		Fix:    "Create the cluster with another advertiseAddress, or with another address of the service."})
	AddressIsNodeAPI = declare("AddressIsNodeAPI", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "The {role} {address} of network {network} is the address at which each node reaches the hosted API server (spec.networking.apiServer.advertiseAddress).",
		Effect: "Nodes have this address on their loopback interface, so they do not reach another host there.",
		Fix:    "Set annotation {key} to another address, or set another CIDR for the network."})
	CIDRIsSpecial = declare("CIDRIsSpecial", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "CIDR {cidr} of network {network} overlaps the special-purpose block {other}.",
		Effect: "Hosts on the network cannot have these addresses.",
		Fix:    "Set another CIDR for the network ({where})."})
	CIDROverlapsManagement = declare("CIDROverlapsManagement", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "CIDR {cidr} of network {network} overlaps {other}.",
		Effect: "Edges could not reach these addresses.",
		Fix:    "Set another CIDR for the network ({where})."})
	PublishedInManagement = declare("PublishedInManagement", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "HyperShift publishes a service at {address}, which belongs to {other}.",
		Effect: "Edges would take over the address, and could not reach its owner.",
		Fix:    "Create the cluster with another address, or with a host name."})
	CIDROverlapsHostedCluster = declare("CIDROverlapsHostedCluster", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "CIDR {cidr} of network {network} overlaps {other} of the hosted cluster.",
		Effect: "Nodes of the hosted cluster could not reach each other.",
		Fix:    "Set another CIDR for the network ({where}). The networks of the hosted cluster cannot be changed."})
	PublishedInHostedCluster = declare("PublishedInHostedCluster", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "HyperShift publishes a service at {address}, which lies in {other} of the hosted cluster.",
		Effect: "Nodes would look for the service inside the hosted cluster.",
		Fix:    "Create the cluster with another address, or with a host name."})
	NetworksOverlap = declare("NetworksOverlap", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "CIDR {cidr} of network {network} overlaps {otherCIDR} of network {otherNetwork}.",
		Effect: "Network {network} is not served, because two nodes could get the same address.",
		Fix:    "Set another CIDR for network {network} ({where})."})
	NetworkOverlapsRemoved = declare("NetworkOverlapsRemoved", Entry{Reason: AddressConflict, Severity: SeverityError,
		What:   "CIDR {cidr} of network {network} overlaps {otherCIDR} of network {otherNetwork}, which VMs still use.",
		Effect: "Network {network} is not served until these VMs are gone, because two nodes could get the same address.",
		Fix:    "Set another CIDR for network {network} ({where})."})
	PinnedCIDRRemoved = declare("PinnedCIDRRemoved", Entry{Reason: AddressConflict, Severity: SeverityWarning, Mistake: true,
		What:   "Network {network} is in use, so its addresses cannot change. Its CIDR is no longer set.",
		Effect: "CIDR {cidr} and edge addresses {addresses} remain until no VM uses the network.",
		Fix:    "To keep them, set {cidr} again ({where})."})
	PinnedCIDRChanged = declare("PinnedCIDRChanged", Entry{Reason: AddressConflict, Severity: SeverityWarning, Mistake: true,
		What:   "Network {network} is in use, so its addresses cannot change.",
		Effect: "The new CIDR {wanted} takes effect when no VM uses the network. Until then, {cidr} with edge addresses {addresses} remains.",
		Fix:    "To cancel the change, set the CIDR back to {cidr} ({where})."})
	PinnedAddressesChanged = declare("PinnedAddressesChanged", Entry{Reason: AddressConflict, Severity: SeverityWarning, Mistake: true,
		What:   "Network {network} is in use, so its addresses cannot change.",
		Effect: "The new edge addresses {wanted} take effect when no VM uses the network.",
		Fix:    "To cancel the change, set annotation edge-addresses to {addresses}."})
	PinnedSettingsRefused = declare("PinnedSettingsRefused", Entry{Reason: AddressConflict, Severity: SeverityWarning, Mistake: true,
		What:   "Network {network} is in use, so its addresses cannot change. Its new settings are invalid.",
		Effect: "CIDR {cidr} and edge addresses {addresses} remain.",
		Fix:    "Correct the settings, or restore the previous values."})
	PinnedRole = declare("PinnedRole", Entry{Reason: AddressConflict, Severity: SeverityWarning,
		What:   "VMs boot from network {network}, so its edges cannot stop DNS and the proxy. NodePool {nodePools} now " + "lists another network first.",
		Effect: "The network remains as it is until no VM boots from it. VMs that have it as an additional network get its routes and " + "DNS server, too.",
		Fix:    "Replace the VMs that boot from it. To cancel the change, restore additionalNetworks and attachDefaultNetwork of the NodePool."})
	PinnedNADMoved = declare("PinnedNADMoved", Entry{Reason: AddressConflict, Severity: SeverityWarning,
		What:   "Network {network} is in use, so its edges cannot move. Its NetworkAttachmentDefinition was edited and now defines {wanted}.",
		Effect: "Edges and running VMs remain on {former}. VMs that start or migrate then run on {wanted}, where no edge serves them.",
		Fix:    "Change spec.config back to {former}. Or delete all VMs on the network: the edges then move to {wanted}."})
	PinnedNADChanged = declare("PinnedNADChanged", Entry{Reason: AddressConflict, Severity: SeverityWarning,
		What:   "Network {network} is in use, so its edges keep {former}. Its NetworkAttachmentDefinition now has {wanted}.",
		Effect: "VMs that start or migrate have {wanted}. Edges may not reach them, or lose large packets.",
		Fix:    "Change spec.config back to {former}. Or delete all VMs on the network: the edges then get {wanted}."})
	PinnedOVNChanged = declare("PinnedOVNChanged", Entry{Reason: AddressConflict, Severity: SeverityWarning,
		What:   "Network {network} is in use, and its NetworkAttachmentDefinition was edited from {former} to {wanted}.",
		Effect: "Running edges and VMs keep {former}. Each edge or VM that starts or migrates gets {wanted}, and loses its " + "connection to the others.",
		Fix:    "Change spec.config back to {former}. Or delete all VMs on the network: the edges are then recreated with {wanted}."})
	AddressUsedByOther = declare("AddressUsedByOther", Entry{Reason: AddressInUse, Severity: SeverityError,
		What:   "The {role} {address} of network {network} is already in use by MAC {mac}.",
		Effect: "Two hosts with one address interrupt each other's connections.",
		Fix:    "Free the address, or set annotation edge-addresses to four free addresses."})
	EdgeYieldsToHost = declare("EdgeYieldsToHost", Entry{Reason: AddressInUse, Severity: SeverityWarning,
		What:   "An edge of network {network} does not serve, because MAC {mac} claims to be an edge of another management cluster.",
		Effect: "If no edge of the network serves because of this, oooi removes the edges until their addresses are free.",
		Fix:    "If the hosted cluster still runs on another management cluster, remove it from one of the two. Otherwise find the host with this MAC."})
	EdgeYieldsToVM = declare("EdgeYieldsToVM", Entry{Reason: AddressInUse, Severity: SeverityWarning,
		What:   "An edge of network {network} does not serve. MAC {mac}, which is that of VM {vm}, claims to be an edge of another management cluster.",
		Effect: "If no edge of the network serves because of this, oooi removes the edges until their addresses are free.",
		Fix:    "Find the VM at fault: {vm}, or another VM that forges its MAC. Delete that VM. Filter forged MACs and addresses on the network."})
	ProxyARP = declare("ProxyARP", Entry{Reason: AddressInUse, Severity: SeverityWarning,
		What:   "Router {mac} uses proxy ARP on network {network}, so address conflicts cannot be detected.",
		Effect: "VMs may send their traffic to the router instead of an edge.",
		Fix:    "Disable proxy ARP on that interface."})
	AddressUsedByVM = declare("AddressUsedByVM", Entry{Reason: AddressInUse, Severity: SeverityWarning,
		What:   "VM {vm} (MAC {mac}) reports that it has the {role} {address} of network {network}.",
		Effect: "Edges keep the address. VMs that send to this VM instead lose their connection to the API server.",
		Fix:    "Remove the address from the VM, or delete the VM."})
	VIPOfVM = declare("VIPOfVM", Entry{Reason: AddressInUse, Severity: SeverityWarning,
		What:   "A host that is not an edge answers for the {role} {address} of network {network}. Its MAC {mac} is that of VM {vm}.",
		Effect: "VMs that send to that host cannot reach the edges. Other VMs are not affected.",
		Fix:    "Find the VM at fault: {vm}, or another VM that forges its MAC. Remove the address from that VM, or delete that VM. Filter forged addresses on the network."})
	VIPOfHost = declare("VIPOfHost", Entry{Reason: AddressInUse, Severity: SeverityWarning,
		What:   "A host that is not an edge (MAC {mac}) answers for the {role} {address} of network {network}. No VM of the cluster has this MAC.",
		Effect: "VMs that send to that host cannot reach the edges. Other VMs are not affected.",
		Fix:    "Find the host with this MAC on the VLAN, and remove the address from it. Filter forged addresses on the network."})
	PeerAddressOfVM = declare("PeerAddressOfVM", Entry{Reason: AddressInUse, Severity: SeverityWarning,
		What:   "Another host answers for edge address {address} of network {network}. Its MAC {mac} is that of VM {vm}.",
		Effect: "The edges do not hear each other on the VLAN, so a failover may take longer.",
		Fix:    "Find the VM at fault: {vm}, or another VM that forges its MAC. Delete that VM. Filter forged MACs and addresses on the network."})
	PeerAddressOfHost = declare("PeerAddressOfHost", Entry{Reason: AddressInUse, Severity: SeverityWarning,
		What:   "Another host (MAC {mac}) answers for edge address {address} of network {network}. No VM of the cluster has this MAC.",
		Effect: "The edges do not hear each other on the VLAN, so a failover may take longer.",
		Fix:    "Find the host with this MAC on the VLAN. Filter forged MACs and addresses on the network."})
	PoolAddressOfVM = declare("PoolAddressOfVM", Entry{Reason: AddressInUse, Severity: SeverityWarning,
		What:   "{addresses} in the DHCP range of network {network} are used without a lease. The MAC {mac} of the host is that of VM {vm}.",
		Effect: "DHCP avoids these addresses while others are free.",
		Fix:    "Find the VM at fault: {vm}, or another VM that forges its MAC. Remove the addresses from that VM, or delete that VM."})
	PoolAddressOfHost = declare("PoolAddressOfHost", Entry{Reason: AddressInUse, Severity: SeverityWarning,
		What:   "Another host (MAC {mac}) uses {addresses} in the DHCP range of network {network} without a lease.",
		Effect: "DHCP avoids these addresses while others are free.",
		Fix:    "Remove the addresses from the host, or add them to annotation dhcp-exclude."})
	PoolAddressDeclined = declare("PoolAddressDeclined", Entry{Reason: AddressInUse, Severity: SeverityWarning,
		What:   "A VM on network {network} declined {addresses} of the DHCP range. The edge found no host that answers for these addresses.",
		Effect: "DHCP does not assign them for five minutes, or for one hour if a host answered.",
		Fix:    "Check that VM first: its DHCP client may be wrong. If hosts on the VLAN have these addresses, add them to annotation dhcp-exclude."})
	ReservationUsed = declare("ReservationUsed", Entry{Reason: AddressInUse, Severity: SeverityWarning,
		What:   "Address {address} of network {network} is reserved for MAC {reserved}, but {user} has it.",
		Effect: "The client with MAC {reserved} gets another address until this one is free.",
		Fix:    "Free the address: delete that VM, or change the address of that host. Then restart the client."})
	PoolExhausted = declare("PoolExhausted", Entry{Reason: AddressesExhausted, Severity: SeverityWarning,
		What:   "DHCP on network {network} has had no free address since {since}. Of {size} addresses, {used} are assigned, {declined} declined and {avoided} used by hosts without a lease.",
		Effect: "VMs that start get no address and do not become nodes. VMs that have an address keep it.",
		Fix:    "Set a larger annotation dhcp-range, or delete VMs that are not needed."})
	EdgeLeasesUnwritten = declare("EdgeLeasesUnwritten", Entry{Reason: LeasesNotWritten, Severity: SeverityWarning,
		What:   "Edge {edge} of network {network} has failed to write new leases since {since}: {error}.",
		Effect: "This edge gives new VMs no address. VMs that have an address keep it.",
		Fix:    "Check quotas, policies and rights for Leases in the namespace of the hosted control plane."})
	EdgeRenewalsUnwritten = declare("EdgeRenewalsUnwritten", Entry{Reason: LeasesNotWritten, Severity: SeverityWarning,
		What:   "Edge {edge} of network {network} has failed to write renewed leases since {since}: {error}.",
		Effect: "VMs that have an address keep it until {until} at least. Then they lose it, one after the other. This edge gives new VMs no address.",
		Fix:    "Before {until}, check policies and rights for Leases in the namespace of the hosted control plane, and the API server."})
	DHCPServerOfVM = declare("DHCPServerOfVM", Entry{Reason: RogueDHCPServer, Severity: SeverityWarning,
		What:   "Another DHCP server was active on network {network} at {address} within the last hour. Its MAC {mac} is that of VM {vm}.",
		Effect: "VMs may get a wrong router or DNS server from it, and send their traffic there.",
		Fix:    "Find the VM at fault: {vm}, or another VM that forges its MAC. Stop the DHCP server of that VM, or delete that VM."})
	DHCPServerOfHost = declare("DHCPServerOfHost", Entry{Reason: RogueDHCPServer, Severity: SeverityWarning,
		What:   "Another DHCP server was active on network {network} at {address} within the last hour. No VM of the cluster has its MAC {mac}.",
		Effect: "VMs may get a wrong router or DNS server from it, and send their traffic there.",
		Fix:    "Stop that DHCP server. To use it instead of oooi, remove dhcp from annotation services."})
	DHCPServerUnlocated = declare("DHCPServerUnlocated", Entry{Reason: RogueDHCPServer, Severity: SeverityWarning,
		What:   "VMs on network {network} chose another DHCP server, which gives its address as {address}. Its MAC is unknown.",
		Effect: "VMs may get a wrong router or DNS server from it, and send their traffic there.",
		Fix:    "Find the host with this address on the VLAN, and stop its DHCP server."})
	SharedAddresses = declare("SharedAddresses", Entry{Reason: NetworkShared, Severity: SeverityError,
		What: "Addresses {addresses} of network {network} are already used by hosted cluster {hostedCluster}, which takes precedence.",
		Fix:  "Set {keys} to free addresses. If no address is free, first set a smaller dhcp-range on {hostedCluster}."})
	SharedAdditionalAddresses = declare("SharedAdditionalAddresses", Entry{Reason: NetworkShared, Severity: SeverityError,
		What: "Addresses {addresses} of additional network {network} are already used by hosted cluster {hostedCluster}, which takes precedence.",
		Fix:  "Set {keys} to free addresses on the HostedCluster, and the values of the network that VMs boot from on NodePools. If no address is free, first do the same on {hostedCluster}, with a smaller dhcp-range."})
	SharedAddressesByName = declare("SharedAddressesByName", Entry{Reason: NetworkShared, Severity: SeverityError,
		What:   "Hosted cluster {hostedCluster} wants the same addresses {addresses} of network {network}.",
		Effect: "Creation times do not say which cluster is older, so the names decide: {hostedCluster} takes precedence.",
		Fix:    "Set {keys} to free addresses. If no address is free, first set a smaller dhcp-range on {hostedCluster}."})
	SharedNetworkPending = declare("SharedNetworkPending", Entry{Reason: NetworkShared, Severity: SeverityError,
		What:   "Hosted cluster {hostedCluster} on network {network} answers all DHCP clients.",
		Effect: "It would also answer the VMs of this cluster, so the network is not served.",
		Fix:    "Set annotation unknown-clients to ignore on {hostedCluster}. Clients that are not VMs then get no address from it."})
	SharedNetworkOffered = declare("SharedNetworkOffered", Entry{Reason: NetworkShared, Severity: SeverityWarning,
		What: "HostedCluster {hostedClusters} uses network {network}, too, and answers every VM there.",
		Fix:  "Set annotation {key} to ignore on it."})
	SharedNetworkByOtherDHCP = declare("SharedNetworkByOtherDHCP", Entry{Reason: NetworkShared, Severity: SeverityWarning,
		What:   "HostedCluster {hostedClusters} uses network {network}, too, and annotation {key} leaves DHCP for VMs there to another server.",
		Effect: "Unless that server knows the MAC of each VM, VMs get routes and DNS servers of the wrong cluster, and do not become nodes.",
		Fix:    "Use a VLAN for each cluster, or let edges of all these clusters run DHCP."})
	SharedNetworkKeepsOther = declare("SharedNetworkKeepsOther", Entry{Reason: NetworkShared, Severity: SeverityInfo,
		What:   "HostedCluster {hostedClusters} uses network {network}, too.",
		Effect: "This cluster answers all clients there.",
		Fix:    "If the other cluster should be served, set annotation {key} to ignore on this one."})
	SharedNetworkDivided = declare("SharedNetworkDivided", Entry{Reason: NetworkShared, Severity: SeverityInfo,
		What:   "HostedCluster {hostedClusters} uses network {network}, too.",
		Effect: "The edges of each cluster answer only VMs of that cluster."})
	SharedNetworkTakesVMs = declare("SharedNetworkTakesVMs", Entry{Reason: NetworkShared, Severity: SeverityWarning,
		What:   "HostedCluster {hostedClusters} uses network {network}, too, but oooi does not serve it.",
		Effect: "Its VMs get addresses, routes and DNS servers of this cluster, so they may not reach their own control plane.",
		Fix:    "Set annotation {key} to ignore on this cluster. To serve the VMs of {hostedClusters}, set annotation network on it."})
	NADDuplicatesRunning = declare("NADDuplicatesRunning", Entry{Reason: NetworkShared, Severity: SeverityWarning,
		What:   "Network {network} is the same layer-2 network as {other}, which is in use.",
		Effect: "Edges serve it as {other} until no NodePool and no VM uses {other}. Then new edges replace them, and VMs have no service for up to two minutes.",
		Fix:    "To avoid this, name {other} in the NodePools again."})
	NADsOnOneNetwork = declare("NADsOnOneNetwork", Entry{Reason: NetworkShared, Severity: SeverityError,
		What:   "NetworkAttachmentDefinitions {otherNAD} and {nad} are the same layer-2 network ({layer2}).",
		Effect: "Only {otherNAD} is served, so that VMs do not get offers for both.",
		Fix:    "Remove {nad} from NodePool {nodePools}. If the NodePool does not name {otherNAD} yet, name it instead."})
)
