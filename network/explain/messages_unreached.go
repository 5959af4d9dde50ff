// This file has the messages: addresses that VMs or edges do not reach.

package explain

import "github.com/cldmnky/oooi/network"

func unreachedMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.RecordsUnreachable: {
			What:   "Annotation {key} has records with addresses that VMs on network {network} ({cidr}) do not reach: {records}.",
			Effect: "VMs resolve the names, but connections to them fail.",
			Fix:    "Set addresses of hosts on the network, or set annotation gateway.",
		},
		network.RelaysUnreachable: {
			What:   "Annotation {key} has addresses that are no hosts on network {network} ({cidr}): {servers}.",
			Effect: "Edges have no route to these relay agents, so their VMs get no address.",
			Fix:    "Set the addresses that the relay agents have on the network.",
		},
		network.NameServersUnreachable: {
			What:   "DHCP sends the DNS servers in annotation {key} to VMs on network {network} ({cidr}), which reach none of them: {servers}.",
			Effect: "VMs cannot resolve names, so nodes do not become Ready.",
			Fix:    "Set the address of a DNS server on the network, add dns to annotation services, or set annotation gateway.",
		},
		network.UpstreamsNotByGateway: {
			What:   "Edges of network {network} ask the DNS servers {servers} through the pod network, not through gateway {gateway}.",
			Effect: "If only the gateway leads to them, they do not answer.",
			Fix: "No action is needed if the pod network reaches them. Otherwise name their networks in annotation client-networks, " +
				"unless the network is of OVN-Kubernetes. Or set annotation {key} to a DNS server on the network.",
		},
		network.UpstreamIsVM: {
			What:   "Annotation {key} names {server}, which is the address of VM {vm} on network {network}.",
			Effect: "That VM can give any answer to the other VMs. While it is down, names outside the plan do not resolve.",
			Fix:    "Set the address of a DNS server that is no VM of this cluster.",
		},
		network.ClientNetworkOverlaps: {
			What:   "Annotation {key} names {clientNetwork} (network {network}), which overlaps {other}.",
			Effect: "Edges need their own way there, so hosts in {clientNetwork} reach nothing at the service VIP. Others are served.",
			Fix:    "Set annotation {key} to the smaller networks that the clients are in.",
		},
		network.UpstreamUnreachable: {
			What: "Annotation {key} names {server}, which is no host of network {network} ({cidr}). It is an address of the edges, or the " +
				"network or broadcast address.",
			Effect: "Edges do not ask this server.",
			Fix:    "Set the address of a DNS server.",
		},
		network.TimeServersUnreachable: {
			What:   "VMs on network {network} ({cidr}) do not reach the time servers {servers}.",
			Effect: "If clocks drift, TLS fails.",
			Fix: "Remove annotation {key}: edges then serve the time. Or set {key} to a time server on the network, " +
				"or set annotation gateway.",
		},
		network.OnlyTimeServersUnreachable: {
			What:   "VMs on network {network} ({cidr}) do not reach the time servers {servers}, and edges run no NTP server there.",
			Effect: "If clocks drift, TLS fails.",
			Fix: "Set annotation {key} to a time server on the network, or set annotation gateway. If VMs boot from the network, " +
				"you can also remove {key} and add ntp to annotation services.",
		},
		network.AppsAddressUnreachable: {
			What: "VMs on network {network} ({cidr}) do not reach annotation {key} ({address}).",
			Effect: "Connections to {name} fail, so the console and ingress operators of the hosted cluster stay degraded. " +
				"A load balancer of the hosted cluster with this address is not affected.",
			Fix: "Set annotation {key} to an address on the network that serves {name} on port 443, or set annotation gateway.",
		},
		network.PublishedIsSpecial: {
			What:   "HyperShift publishes a service at {address}, which lies in the special-purpose block {other}.",
			Effect: "VMs cannot connect to such an address on another host.",
			Fix:    "Create the cluster with another address, or with a host name.",
		},
		network.CIDRHasNodeAPI: {
			What: "CIDR {cidr} of network {network} contains {address}, which each node has on its loopback interface. There it " +
				"reaches the hosted API server (spec.networking.apiServer.advertiseAddress).",
			Effect: "Nodes reach no host of the network at {address}. DHCP does not assign it.",
			Fix:    "Set another CIDR for the network ({where}), unless no host has this address.",
		},
		network.AddressIsNodeAPI: {
			What: "The {role} {address} of network {network} is the address at which each node reaches the hosted API server " +
				"(spec.networking.apiServer.advertiseAddress).",
			Effect: "Nodes have this address on their loopback interface, so they do not reach another host there.",
			Fix:    "Set annotation {key} to another address, or set another CIDR for the network.",
		},
	}
}
