// This file has the messages: conflicts with what is elsewhere, in use, or another cluster's.

package explain

import "github.com/cldmnky/oooi/network"

func conflictsMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.PublishedInCIDR: {
			What:   "HyperShift publishes a service at {address}, which lies in CIDR {cidr} of network {network}.",
			Effect: "VMs would look for it on their own network.",
			Fix:    "Set another CIDR for the network, or create the cluster with a host name instead.",
		},
		network.CIDROverlapsManagement: {
			What:   "CIDR {cidr} of network {network} overlaps {other}.",
			Effect: "Edges could not reach it.",
			Fix:    "Set another CIDR for the network ({where}).",
		},
		network.PublishedInManagement: {
			What:   "HyperShift publishes a service at {address}, which belongs to {other}.",
			Effect: "Edges would take over the address and lose their connection to it.",
			Fix:    "Create the cluster with another address, or with a host name.",
		},
		network.CIDROverlapsGuest: {
			What:   "CIDR {cidr} of network {network} overlaps {other} of the hosted cluster.",
			Effect: "Its nodes could not reach each other.",
			Fix:    "Set another CIDR for the network ({where}). The networks of the hosted cluster cannot be changed.",
		},
		network.PublishedInGuest: {
			What:   "HyperShift publishes a service at {address}, which lies in {other} of the hosted cluster.",
			Effect: "Nodes would look for it inside the hosted cluster.",
			Fix:    "Create the cluster with another address, or with a host name.",
		},
		network.NetworksOverlap: {
			What:   "CIDR {cidr} of network {network} overlaps {otherCIDR} of network {otherNetwork}.",
			Effect: "Network {network} is not served, because two nodes could get the same address.",
			Fix:    "Set another CIDR for network {network} ({where}).",
		},
		network.NetworkOverlapsRemoved: {
			What:   "CIDR {cidr} of network {network} overlaps {otherCIDR} of network {otherNetwork}, which VMs still use.",
			Effect: "Network {network} is not served until they are gone, because two nodes could get the same address.",
			Fix:    "Set another CIDR for network {network} ({where}), or wait until the VMs are replaced.",
		},
		network.PinnedCIDRRemoved: {
			What:   "Network {network} is in use, so its addresses cannot change. Its CIDR is no longer set.",
			Effect: "CIDR {cidr} and edge addresses {addresses} remain until no VM uses the network.",
			Fix:    "To keep them, set {cidr} again ({where}).",
		},
		network.PinnedCIDRChanged: {
			What: "Network {network} is in use, so its addresses cannot change.",
			Effect: "The new CIDR {wanted} takes effect when no VM uses the network. Until then, {cidr} with edge addresses " +
				"{addresses} remains.",
			Fix: "To cancel the change, set the CIDR back to {cidr} ({where}).",
		},
		network.PinnedAddressesChanged: {
			What:   "Network {network} is in use, so its addresses cannot change.",
			Effect: "The new edge addresses {wanted} take effect when no VM uses the network.",
			Fix:    "To cancel the change, set annotation edge-addresses to {addresses}.",
		},
		network.PinnedSettingsRefused: {
			What:   "Network {network} is in use, so its addresses cannot change. Its new settings are invalid.",
			Effect: "CIDR {cidr} and edge addresses {addresses} remain.",
			Fix:    "Correct the settings, or restore the previous values.",
		},
		network.AddressUsedByOther: {
			What:   "The {role} {address} of network {network} is already in use by MAC {mac}.",
			Effect: "Two hosts with one address interrupt each other's connections.",
			Fix:    "Free the address, or set annotation edge-addresses to four free addresses.",
		},
		network.ProxyARP: {
			What:   "Router {mac} uses proxy ARP on network {network}, so address conflicts cannot be detected.",
			Effect: "VMs may send their traffic to the router instead of an edge.",
			Fix:    "Disable proxy ARP on that interface.",
		},
		network.SharedAddresses: {
			What: "Addresses {addresses} of network {network} are already used by hosted cluster {hostedCluster}, which " +
				"takes precedence.",
			Fix: "Set {keys} to free addresses. If there are none, first set a smaller dhcp-range on {hostedCluster}.",
		},
		network.SharedNetworkPending: {
			What:   "Hosted cluster {hostedCluster} on network {network} answers all DHCP clients.",
			Effect: "It would also answer the VMs of this cluster, so the network is not served.",
			Fix:    "Set annotation unknown-clients to ignore on {hostedCluster}. Its clients that are no VMs then get no address.",
		},
	}
}

func conflictsMessagesMore() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.VIPOfVM: {
			What:   "A host that is no edge answers for the {role} {address} of network {network}. VM {vm} (MAC {mac}) is named as this host.",
			Effect: "VMs that send to it reach no server of the edges. The edges serve all others.",
			Fix:    "Check VM {vm} first: another VM can forge this. Then remove the address from it, or delete it. Filter forged addresses on the network.",
		},
		network.VIPOfHost: {
			What:   "A host that is no edge (MAC {mac}) answers for the {role} {address} of network {network}. No VM of the cluster has this MAC.",
			Effect: "VMs that send to it reach no server of the edges. The edges serve all others.",
			Fix:    "Find the host with this MAC on the VLAN, and remove the address from it. Filter forged addresses on the network.",
		},
		network.AddressUsedByVM: {
			What:   "VM {vm} (MAC {mac}) reports that it has the {role} {address} of network {network}.",
			Effect: "Edges keep the address. VMs that send to this VM instead lose their connection to the API server.",
			Fix:    "Remove the address from the VM, or delete the VM.",
		},
		network.PinnedRole: {
			What: "VMs boot from network {network}, so its edges cannot stop DNS and the proxy. NodePool {nodePools} now has " +
				"another network before it.",
			Effect: "The network remains as it is until no VM boots from it. VMs that have it as a further network get its routes and " +
				"DNS server, too.",
			Fix: "Replace the VMs that boot from it. To cancel the change, restore additionalNetworks and attachDefaultNetwork of the NodePool.",
		},
		network.NotSelectedInUse: {
			What:   "VMs use network {network}, but annotation network does not select it.",
			Effect: "The network and its edges remain as they are until no VM uses it.",
			Fix:    "Delete or replace the VMs that use it. To keep the network, set annotation network to auto.",
		},
		network.PinnedNADMoved: {
			What:   "Network {network} is in use, so its edges cannot move. Its NetworkAttachmentDefinition was edited and now means {wanted}.",
			Effect: "Edges and running VMs remain on {former}. VMs that start or migrate come up on {wanted}, where no edge serves them.",
			Fix:    "Change spec.config back to {former}. Or delete all VMs on the network: the edges then move to {wanted}.",
		},
		network.PinnedNADChanged: {
			What:   "Network {network} is in use, so its edges keep {former}. Its NetworkAttachmentDefinition now has {wanted}.",
			Effect: "VMs that start or migrate have {wanted}. Edges may not reach them, or lose large packets.",
			Fix:    "Change spec.config back to {former}. Or delete all VMs on the network: the edges then get {wanted}.",
		},
		network.PinnedOVNChanged: {
			What: "Network {network} is in use, and its NetworkAttachmentDefinition was edited from {former} to {wanted}.",
			Effect: "Edges and VMs that run keep {former}. Edges use the same NetworkAttachmentDefinition, so each edge or VM that " +
				"starts or migrates has {wanted} and loses the others.",
			Fix: "Change spec.config back to {former}. Or delete all VMs on the network: the edges are then recreated with {wanted}.",
		},
		network.NADDuplicatesRunning: {
			What:   "Network {network} is the same layer-2 network as {other}, which is in use.",
			Effect: "It is served as {other} until no NodePool and no VM uses that one.",
		},
		network.NADsOnOneNetwork: {
			What:   "NetworkAttachmentDefinitions {otherNAD} and {nad} are the same layer-2 network ({layer2}).",
			Effect: "Only {otherNAD} is served, so that VMs do not get offers for both.",
			Fix:    "Name {otherNAD} in NodePool {nodePools}.",
		},
	}
}
