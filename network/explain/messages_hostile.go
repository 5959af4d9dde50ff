// This file has the messages: what hosts on a network do to edges and to VMs.

package explain

import "github.com/cldmnky/oooi/network"

func hostileMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.PeerAddressOfVM: {
			What:   "A host answers for edge address {address} of network {network}. VM {vm} (MAC {mac}) is named as this host.",
			Effect: "The edges do not hear each other on the VLAN, so a failover may take longer.",
			Fix:    "Check VM {vm} first: another VM can forge this. Then delete it. Filter forged MACs and addresses on the network.",
		},
		network.PeerAddressOfHost: {
			What:   "Another host (MAC {mac}) answers for edge address {address} of network {network}. No VM of the cluster has this MAC.",
			Effect: "The edges do not hear each other on the VLAN, so a failover may take longer.",
			Fix:    "Find the host with this MAC on the VLAN. Filter forged MACs and addresses on the network.",
		},
		network.DHCPServerOfVM: {
			What:   "Another DHCP server was active on network {network} at {address} within the last hour. VM {vm} (MAC {mac}) is named as its host.",
			Effect: "VMs may get a wrong router or DNS server from it, and send their traffic there.",
			Fix:    "Check VM {vm} first: another VM can forge this. Then stop its DHCP server, or delete it.",
		},
		network.DHCPServerOfHost: {
			What:   "Another DHCP server was active on network {network} at {address} within the last hour. Its MAC {mac} is that of no VM of the cluster.",
			Effect: "VMs may get a wrong router or DNS server from it, and send their traffic there.",
			Fix:    "Stop that DHCP server. To use it instead of oooi, remove dhcp from annotation services.",
		},
		network.DHCPServerUnlocated: {
			What:   "VMs on network {network} chose another DHCP server that names itself {address}. Its MAC is unknown.",
			Effect: "VMs may get a wrong router or DNS server from it, and send their traffic there.",
			Fix:    "Find the host with this address on the VLAN, and stop its DHCP server.",
		},
		network.EdgeLacksClientRoutes: {
			What:   "The kernel of edge {edge} of network {network} lacks a route to a network of annotation client-networks.",
			Effect: "The edge does not answer hosts there, nor ask DNS servers there. VMs are served.",
			Fix: "If the annotation has just changed, wait until the edge is recreated. Otherwise delete the edge's pod. If that does not help, " +
				"the CNI plugin ignores ipam.routes: use a NetworkAttachmentDefinition of type bridge for the network.",
		},
		network.EdgeRefusesConfiguration: {
			What:   "Envoy in edge {edge} of network {network} refuses a part of its configuration ({error}).",
			Effect: "It keeps the former part, so VMs do not get what changed there. It tries again every 10 s.",
			Fix:    "Correct what the error names. If nothing outside the edge is the cause, report the error as a defect of oooi.",
		},
		network.EdgeOpensNoPort: {
			What:   "Edge {edge} of network {network} cannot open ports {ports} for callers.",
			Effect: "It refuses connections to Service oooi-access and to load balancers there. Its other ports and VMs are not affected. It keeps trying.",
			Fix:    "Find in the log of its container access what prevents that. For a port that is in use, name another one in annotation management-access, or set another nodePort for the Service.",
		},
		network.EdgeReachesNoEndpoint: {
			What:   "Edge {edge} of network {network} finds no endpoint of {backends} that answers and is ready.",
			Effect: "It still dials them, and connections of VMs to them probably fail. Everything else is served.",
			Fix:    "Check the pods of the backend, or the external host. If only one edge has this problem, check the cluster network of its node.",
		},
		network.NoEdgeReachesEndpoint: {
			What:   "No edge finds an endpoint of Service {service} of the control plane that answers and is ready.",
			Effect: "Edges serve everything else.",
			Fix:    "Check the pods of the Service. If they are ready, check the NetworkPolicies of their namespace, and the cluster network.",
		},
		network.EdgeAnswersForgedSources: {
			What:   "The kernel of edge {edge} of network {network} does not verify source addresses (sysctl rp_filter).",
			Effect: "A VM that forges addresses can make the edge send ICMP replies and TCP resets into the pod network.",
			Fix: "On the management nodes, set the sysctl net.ipv4.conf.default.rp_filter to 1, and net.ipv4.conf.all.rp_filter " +
				"to 0 or 1. Then restart the edge's pod.",
		},
		network.EdgeAnswersForgedIPv6Sources: {
			What: "Edge {edge} takes IPv6 packets from network {network}, and the pod network has IPv6. The kernel does not verify " +
				"IPv6 source addresses.",
			Effect: "A VM that forges addresses can make the edge send ICMPv6 replies and TCP resets into the pod network.",
			Fix:    "On the management nodes, filter IPv6 on the bridge or the virtual functions of the VLAN.",
		},
		network.EdgeTakesForgedRedirects: {
			What:   "The kernel of edge {edge} of network {network} takes ICMP redirects with forged source addresses.",
			Effect: "A VM can make the edge send packets for the API server through another host of the pod network, for five minutes each.",
			Fix: "On the management nodes, set the sysctl net.ipv4.conf.default.rp_filter to 1, and net.ipv4.conf.all.rp_filter " +
				"to 0 or 1. Then restart the edge's pod.",
		},
		network.EdgeHasAdvertisedRoute: {
			What:   "A host on network {network} acts as an IPv6 router, and the kernel of edge {edge} has a route to it.",
			Effect: "Edges do not use the route, since they send IPv4 only. VMs may send their IPv6 traffic to that host.",
			Fix:    "Find the host that sends router advertisements on the VLAN. Filter them there. Then restart the edge's pod.",
		},
	}
}
