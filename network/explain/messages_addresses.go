// This file has the messages: the addresses of a network.

package explain

import "github.com/cldmnky/oooi/network"

func addressesMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.CIDRTooSmallForEdges: {
			What:   "CIDR {cidr} of network {network} is too small for the edge addresses.",
			Effect: "By default, these are its second to fifth usable addresses.",
			Fix:    "Set a larger CIDR ({where}). A /28 is the smallest that needs no other annotation.",
		},
		network.CIDRTooSmallForVMs: {
			What:   "CIDR {cidr} of network {network} has no addresses for VMs.",
			Effect: "By default, VMs get the tenth usable address to the second-to-last.",
			Fix:    "Set a larger CIDR ({where}), or set annotation dhcp-range.",
		},
		network.CIDRNotSet: {
			What:   "Network {network} has no CIDR.",
			Effect: "VMs cannot boot from it.",
			Fix:    "Set {where}.",
		},
		network.CIDROnlyIPv6: {
			What:   "Network {network} has no IPv4 CIDR: spec.networking.machineNetwork has only {found}.",
			Effect: "VMs cannot boot from it, because only IPv4 is provided.",
			Fix:    "Set {where}.",
		},
		network.NetworkCIDRNotSet: {
			What:   "Network {network} has no CIDR.",
			Effect: "It is not served.",
			Fix:    "Set {where}.",
		},
		network.NetworkCIDROnlyIPv6: {
			What:   "Network {network} has no IPv4 CIDR: spec.networking.machineNetwork has only {found}.",
			Effect: "It is not served, because only IPv4 is provided.",
			Fix:    "Set {where}.",
		},
		network.NetworkCIDRAmbiguous: {
			What:   "Network {network} has no CIDR.",
			Effect: "The second entry of spec.networking.machineNetwork ({found}) is not used, because it does not name a network.",
			Fix:    "Set {where}.",
		},
		network.EdgeAddressCount: {
			What:   "Annotation edge-addresses has {count} addresses, but network {network} needs four.",
			Effect: "With one edge, the fourth address is reserved, so that a second edge changes no address.",
			Fix:    "Set the next-hop VIP, the service VIP, and one address for each of two edges.",
		},
		network.GatewayOutsideCIDR: {
			What:   "Gateway {gateway} is not a host address of {cidr} (network {network}).",
			Effect: "VMs cannot reach it.",
			Fix:    "Set annotation gateway to an address in {cidr}.",
		},
		network.DHCPRangeOutsideCIDR: {
			What: "DHCP range address {address} is not a host address of {cidr} (network {network}).",
			Fix:  "Set annotation dhcp-range to host addresses of {cidr}.",
		},
		network.EdgeAddressOutsideCIDR: {
			What: "The {role} {address} is not a host address of {cidr} (network {network}).",
			Fix:  "Set annotation edge-addresses to four host addresses of {cidr}.",
		},
		network.EdgeAddressRepeated: {
			What: "Annotation edge-addresses contains {address} twice (network {network}).",
			Fix:  "Set annotation edge-addresses to four different addresses.",
		},
		network.EdgeAddressIsGateway: {
			What:   "The {role} {address} of network {network} is also the gateway.",
			Effect: "Two hosts cannot have one address.",
			Fix:    "Set annotation edge-addresses to four other addresses.",
		},
		network.EdgeAddressInDHCPRange: {
			What:   "The DHCP range {range} of network {network} contains the {role} {address}.",
			Effect: "A VM could get the address of an edge.",
			Fix:    "Set annotation dhcp-range or edge-addresses so that they do not overlap.",
		},
	}
}

func addressesMessagesMore() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.MTUExceedsNAD: {
			What:   "Annotation mtu ({mtu}) is larger than the MTU of the NetworkAttachmentDefinition of network {network} ({ofNAD}).",
			Effect: "VMs send packets that their own network interface drops.",
			Fix:    "Set annotation mtu to {ofNAD} or less, or a larger mtu in spec.config.",
		},
		network.CIDRIsSpecial: {
			What:   "CIDR {cidr} of network {network} overlaps the special-purpose block {other}.",
			Effect: "Hosts on the network cannot have these addresses.",
			Fix:    "Set another CIDR for the network ({where}).",
		},
		network.EdgeAddressExcluded: {
			What:   "Annotation dhcp-exclude ({range}) contains the {role} {address} of network {network}.",
			Effect: "Excluded addresses belong to other hosts.",
			Fix:    "Set annotation edge-addresses to four other addresses.",
		},
		network.ReservationOutsideCIDR: {
			What: "Reserved address {address} (MAC {mac}) is not a host address of {cidr} (network {network}).",
			Fix:  "Set the reservation to a host address of {cidr}.",
		},
		network.ReservationOfEdgeAddress: {
			What: "Reserved address {address} (MAC {mac}) is an edge address or the gateway of network {network}.",
			Fix:  "Set the reservation to another address.",
		},
		network.ReservedAddressRepeated: {
			What: "Address {address} of network {network} is reserved for two MACs, {otherMAC} and {mac}.",
			Fix:  "Remove one of the two reservations.",
		},
		network.ReservedMACRepeated: {
			What: "MAC {mac} has two reservations on network {network}.",
			Fix:  "Remove one of the two reservations.",
		},
		network.DHCPRangeEmpty: {
			What:   "All addresses of the DHCP range {range} of network {network} are excluded, reserved, or have a name.",
			Effect: "No VM gets an address.",
			Fix:    "Set a larger annotation dhcp-range, or take fewer addresses out of it ({keys}).",
		},
		network.VMsExceedDHCPRange: {
			What: "Network {network} has {count} DHCP addresses, but NodePool {nodePools} may run {vms} VMs at once, " +
				"counting those that an update adds.",
			Effect: "The last VMs get no address.",
			Fix:    "Set a larger annotation dhcp-range, or lower the limits of the NodePools.",
		},
		network.VMHasEdgeAddress: {
			What:   "VM {vm} already uses {address}, which would be the {role} of network {network}.",
			Effect: "Two hosts cannot have one address.",
			Fix:    "Set annotation edge-addresses to four free addresses, or give the VM another address.",
		},
		network.AppsAddressIsEdge: {
			What:   "Annotation apps-address ({address}) is an edge address of network {network}, where no ingress listens.",
			Effect: "{name} is not resolved.",
			Fix:    "Set annotation apps-address to an address that serves {name} on port 443.",
		},
		network.AppsLoadBalancerInUse: {
			What:   "The load balancer of {name} has {address} on network {network}, and {holder} has that address, too.",
			Effect: "Edges serve {name} at the service VIP. Other hosts may reach one or the other at {address}.",
			Fix:    "Give the load balancer another address.",
		},
	}
}
