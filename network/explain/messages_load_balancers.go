// This file has the messages: the hosted cluster's load balancers, and its ingress through the management cluster.

package explain

import "github.com/cldmnky/oooi/network"

// notLed is what a Service means that is left out.
const notLed = "Clients reach nothing through it. Other Services are not affected."

func loadBalancersMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.LoadBalancersOpen: {
			What:   "Anyone who reaches a load balancer of the hosted cluster ({services}) reaches its VMs on network {network} through edges.",
			Effect: "Annotations management-access-from and management-access-accounts do not apply to load balancers.",
			Fix:    "To close them, remove loadbalancers from annotation management-access.",
		},
		network.LoadBalancerNotTCP: {
			What:   "Service {service} has {protocol} ports {ports}, and edges carry TCP only.",
			Effect: "Clients reach nothing at these ports. TCP ports are not affected.",
			Fix:    "Use TCP, or a load balancer that has an address on the network itself.",
		},
		network.LoadBalancerPortInUse: {
			What:   "Service {service} leads to port {port}, which edges use for {use}.",
			Effect: "Clients reach nothing at this port. Other ports and Services are not affected.",
			Fix:    "Set another nodePort for the Service in the hosted cluster.",
		},
		network.LoadBalancerPortInvalid: {
			What:   "Port {port} of Service {service} has no node port from 30000 to 32767.",
			Effect: "Edges do not open it, so clients reach nothing there. Other ports and Services are not affected.",
			Fix:    "Set allocateLoadBalancerNodePorts of the Service in the hosted cluster to true, or its nodePort to a port from 30000 to 32767.",
		},
		network.LoadBalancerPortShared: {
			What:   "Service {service} leads to node port {port}, as Service {other} does.",
			Effect: "Clients reach nothing at this port of the first one. Other ports and Services are not affected.",
			Fix:    "One of the two copies is stale, because its Service in the hosted cluster was deleted. Delete that copy.",
		},
		network.LoadBalancerOnlyIPv6: {
			What:   "Service {service} has IPv6 addresses only, and edges serve IPv4.",
			Effect: notLed,
			Fix:    "Set its ipFamilies to IPv4.",
		},
		network.LoadBalancerIPv6: {
			What:   "Service {service} has IPv4 and IPv6 addresses, and edges serve IPv4.",
			Effect: "Clients reach nothing at its IPv6 address. Its IPv4 address works.",
		},
		network.LoadBalancerOfOthers: {
			What:   "Service {service} has a selector of others.",
			Effect: notLed,
			Fix:    "Remove the selector. HyperShift's cloud controller sets none if its configuration has selectorless: true.",
		},
		network.LoadBalancerSourcesHidden: {
			What:   "Service {service} has loadBalancerSourceRanges that edges cannot enforce.",
			Effect: notLed,
			Fix:    "Create the Service again with externalTrafficPolicy: Local and at most {most} ranges, or remove its loadBalancerSourceRanges.",
		},
		network.LoadBalancersTooMany: {
			What:   "Load balancers of the hosted cluster ({services}) do not lead to edges, because the limit for all together is {most}.",
			Effect: "Clients reach nothing through these. Other load balancers are not affected.",
			Fix:    "Delete load balancers that are not needed, or publish several names through the ingress.",
		},
		network.LoadBalancersNotLed: {
			What:   "Load balancers of the hosted cluster ({services}) do not lead to edges of network {network} yet.",
			Effect: "They will once each edge that runs has opened their ports.",
		},
		network.LoadBalancersToNoRoute: {
			What:   "Load balancers of the hosted cluster ({services}) lead to addresses of VMs, and no router leads to the network of these VMs.",
			Effect: "Clients reach nothing through the load balancers and the ingress of the hosted cluster.",
			Fix:    "Set annotation management-access to loadbalancers,apps:443. Edges then carry their connections.",
		},
		network.IngressLoadBalancerToAdd: {
			What:   "Service {service} of the ingress does not lead to edges.",
			Effect: "Clients outside reach no name of the ingress through its Route. Other load balancers are not affected.",
			Fix:    "Add apps:443 to annotation management-access.",
		},
	}
}
