// This file has the messages: edges and failover.

package explain

import "github.com/cldmnky/oooi/network"

func edgesMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.AddressCheckRunning: {
			What:   "Network {network} is not ready: oooi is checking for address conflicts (Deployment {deployment}).",
			Effect: "Edges are created when the check passes.",
			Fix:    "If this takes longer than a minute, check its pod: {command}",
		},
		network.AddressCheckRefused: {
			What:   "Network {network} is not ready: the pod of Deployment {deployment} cannot be created ({error}).",
			Effect: "Edges are created after that pod has checked for address conflicts.",
			Fix:    "Check its pod: {command}",
		},
		network.EdgePodNotReady: {
			What:   "{subject} is not ready.",
			Effect: "If its peer also fails, network {network} has no {services}.",
			Fix:    "Check its pod: {command}",
		},
		network.EdgeNotServing: {
			What:   "{subject} does not serve ({error}).",
			Effect: "If its peer also fails, network {network} has no {services}.",
			Fix:    "Correct what it reports. Its pod: {command}",
		},
		network.NetworkEdgeNotServing: {
			What:   "{subject} does not serve ({error}), and network {network} has no other ready edge.",
			Effect: "VMs on the network have no {services}.",
			Fix:    "Correct what it reports. Its pod: {command}",
		},
		network.EdgePodRefused: {
			What:   "The pod of {subject} cannot be created ({error}).",
			Effect: "If its peer also fails, network {network} has no {services}.",
			Fix:    "Check its pod: {command}",
		},
		network.EdgePodTerminating: {
			What:   "The previous pod of {subject} has not terminated.",
			Effect: "If its peer also fails, network {network} has no {services}.",
			Fix:    "If its node is lost, delete the Node or taint it node.kubernetes.io/out-of-service:NoExecute. Check its pod: {command}",
		},
		network.NetworkEdgeNotReady: {
			What:   "{subject} is not ready, and no other edge of network {network} is.",
			Effect: "VMs on the network have no {services}.",
			Fix:    "Check its pod: {command}",
		},
		network.NetworkEdgeRefused: {
			What:   "The pod of {subject} cannot be created ({error}), and network {network} has no other ready edge.",
			Effect: "VMs on the network have no {services}.",
			Fix:    "Check its pod: {command}",
		},
		network.NetworkEdgeTerminating: {
			What:   "The previous pod of {subject} has not terminated, and network {network} has no other ready edge.",
			Effect: "VMs on the network have no {services}.",
			Fix:    "If its node is lost, delete the Node or taint it node.kubernetes.io/out-of-service:NoExecute. Check its pod: {command}",
		},
		network.EdgeOverdue: {
			What:   "{subject} has been unavailable for more than {minutes} minutes.",
			Effect: "Its PodDisruptionBudget was removed, so the node of {peer} can be drained.",
			Fix:    "If only one node can run edges, set annotation edges to 1. If other nodes can, set annotation edge-node-selector.",
		},
		network.EdgeRolloutHeld: {
			What: "{subject} keeps its previous version until {peer} is ready.",
			Fix:  "To replace it anyway, delete Deployment {deployment}.",
		},
		network.EdgeMissing: {
			What:   "{subject} does not exist.",
			Effect: "If its peer also fails, network {network} has no {services}.",
			Fix:    "Another problem or line Paused says why the operator does not create it.",
		},
		network.NetworkEdgesMissing: {
			What:   "Network {network} has no edge.",
			Effect: "VMs on the network have no {services}.",
			Fix:    "Another problem or line Paused says why the operator creates none.",
		},
	}
}

func failoverMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.FailoverAnnouncementIgnored: {
			What: "Edge {edge} of network {network} cannot announce next-hop VIP {nextHop} and service VIP {serviceVIP}, because its " +
				"kernel sends ARP requests from {source} (arp_announce is {arpAnnounce}).",
			Effect: "When the other edge fails, VMs may notice it only after 40 to 50 s.",
			Fix:    "Set sysctl net.ipv4.conf.all.arp_announce=0 on the management nodes, then restart the edge's pod.",
		},
		network.FailoverServiceVIPIgnored: {
			What: "Edge {edge} of network {network} cannot announce service VIP {serviceVIP}, because its kernel sends ARP requests " +
				"from {source} (arp_announce is {arpAnnounce}).",
			Effect: "VMs with the route through next-hop VIP {nextHop} are not affected. When the other edge fails, other hosts may " +
				"notice it only after 40 to 50 s.",
			Fix: "Set sysctl net.ipv4.conf.all.arp_announce=0 on the management nodes, then restart the edge's pod.",
		},
		network.FailoverTargetsAnswered: {
			What: "Edge {edge} of network {network} cannot announce next-hop VIP {nextHop} to VMs, because a router answers for " +
				"every address (proxy ARP).",
			Effect: "When the other edge fails, VMs may notice it only after 40 to 50 s.",
			Fix:    "Disable proxy ARP on the router's interface on this network.",
		},
		network.FailoverCheckFailed: {
			What:   "Edge {edge} of network {network} cannot check whether it can announce next-hop VIP {nextHop} to VMs ({error}).",
			Effect: "When the other edge fails, VMs may notice it only after 40 to 50 s.",
			Fix:    "Fix the cause that the error names, then restart the edge's pod.",
		},
		network.EdgeClockUnsynchronized: {
			What: "Edge {edge} of network {network} serves no time, because the clock of its management cluster node " +
				"is not synchronized ({error}).",
			Effect: "VMs that use edge {edge} do not set their clocks.",
			Fix:    "Check the time sources of that node: chronyc sources. To find the node: {command}",
		},
		network.OneClockUnsynchronized: {
			What: "Edge {edge} of network {network} serves no time, because the clock of its management cluster node " +
				"is not synchronized ({error}).",
			Effect: "VMs that use edge {edge} do not set their clocks. Edge {other} serves the time, but VMs do not move to it for that.",
			Fix: "Check the time sources of that node: chronyc sources. To find the node: {command}. " +
				"To move the VMs to edge {other}: {move}",
		},
		network.NetworkClocksUnsynchronized: {
			What: "No edge of network {network} serves the time, because the clocks of their management cluster nodes " +
				"are not synchronized ({error}).",
			Effect: "VMs on the network do not set their clocks. If clocks drift, TLS fails.",
			Fix: "Check the time sources of these nodes: chronyc sources. Or set annotation {key} to a time server on the network. " +
				"To find the nodes: {command}",
		},
		network.PeerNotHeard: {
			What:   "Both edges of network {network} serve, but edge {edge} cannot reach its peer on the VLAN (UDP port 7788).",
			Effect: "VMs may notice only after 40 to 50 s that an edge has failed, and VMs that reach only that edge lose service.",
			Fix:    "Check the VLAN on the switch ports of both nodes. Annotation edge-node-selector keeps edges on nodes that have it.",
		},
		network.EdgesHeld: {
			What:   "The edges of network {network} are not replaced, and cannot be drained, because edge {edge} cannot reach its peer.",
			Effect: "This ends when both edges reach each other, or after {minutes} minutes.",
			Fix:    "To drain a node at once, delete its edge pod: open connections through it are reset, and its VMs may lose service.",
		},
		network.PlansDiffer: {
			What:   "The edges of network {network} serve different plans, as edge {edge} reports.",
			Effect: "The edge with the older plan serves former names, addresses and endpoints.",
			Fix:    "Check that both edge pods reach the API server of the management cluster. Otherwise delete the pod that logs errors.",
		},
		network.EdgeHasTwoPods: {
			What:   "Two pods run as edge {edge} of network {network}.",
			Effect: "The older pod leaves VMs to the younger one.",
			Fix:    "If the node of the older pod is lost, delete the Node or taint it node.kubernetes.io/out-of-service:NoExecute.",
		},
		network.EdgeHearsNothing: {
			What:   "Edge {edge} of network {network} receives nothing from the VLAN.",
			Effect: "Its peer serves the VMs. If the peer also fails, they have no service.",
			Fix:    "Check the VLAN on the switch port of its node.",
		},
		network.EdgeReachesLess: {
			What:   "Edge {edge} of network {network} cannot connect VMs to the API server of the hosted cluster, but its peer can.",
			Effect: "Its peer serves the VMs. If the peer also fails, they cannot reach the API server.",
			Fix:    "Check the cluster network of its node, and container envoy of its pod.",
		},
	}
}
