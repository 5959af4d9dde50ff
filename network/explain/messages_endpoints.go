// This file has the messages: endpoints that HyperShift or Services publish.

package explain

import "github.com/cldmnky/oooi/network"

func endpointsMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.APIEndpointUnknown: {
			What:   "HyperShift has not yet published the API server ({object}).",
			Effect: "Nothing is applied until it does. The API server will be at {at}.",
		},
		network.APIServiceMissing: {
			What:   "Service {object} of the API server does not exist yet.",
			Effect: "Nothing is applied until it does.",
		},
		network.ControlPlaneMissing: {
			What:   "HyperShift has not yet created the control plane in namespace {namespace}.",
			Effect: "Nothing is applied until it does.",
		},
		network.ControlPlaneGone: {
			What:   "The HostedControlPlane in namespace {namespace} was deleted.",
			Effect: "Edges keep serving until Kubernetes deletes them, too. No change is applied.",
			Fix:    "If the hosted cluster is to stay, find out who deleted the HostedControlPlane. HyperShift creates it again.",
		},
		network.EndpointPending: {
			What:   "{service} is not published yet ({object}).",
			Effect: "It will be served at {at}.",
		},
		network.RouteHostPending: {
			What:   "{service} is not served yet, because {object} has no host.",
			Effect: "It will be served at {at}.",
		},
		network.NodePortPending: {
			What:   "{service} is not served yet, because {object} has no node port.",
			Effect: "It will be served at {at}.",
		},
		network.LoadBalancerPending: {
			What:   "{service} is not served yet, because the load balancer of {object} is not provisioned.",
			Effect: "It will be served at {at}.",
		},
		network.EndpointServiceMissing: {
			What: "{subject} is not served yet, because {object} does not exist.",
		},
		network.EndpointPortMissing: {
			What: "{subject} is not served, because {object} has no port {port}, which its Route names.",
		},
		network.BaseDomainPending: {
			What:   "*.apps is not served yet, because HyperShift has not set {object}.",
			Effect: "With base domain passthrough, it takes the domain from the management cluster.",
		},
		network.IngressServicePending: {
			What:   "{name} is not served yet, because {object} does not exist.",
			Effect: "HyperShift creates it when the hosted cluster has an ingress.",
		},
		network.IngressCopyPending: {
			What:   "{name} is not served yet, because the hosted cluster's Service openshift-ingress/router-default has no copy.",
			Effect: "The cloud provider of the hosted cluster makes the copy when the ingress is of type LoadBalancerService.",
			Fix: "If it is of another type, create Service {service} of type LoadBalancer with the node ports of the guest's router as " +
				"target ports. Or set annotation apps-address to an address that serves {name} on port 443.",
		},
		network.IngressAddressMissing: {
			What:   "{name} is not resolved on the network.",
			Effect: "The console and ingress operators of the hosted cluster stay degraded.",
			Fix: "Create Service {service} of type LoadBalancer with the node ports of the guest's router as target ports. Or set " +
				"annotation apps-address to an address that serves {name} on port 443.",
		},
		network.IngressAddressUnknown: {
			What:   "No object of the management cluster has the address of {name}. Other DNS servers resolve it, or nothing does.",
			Effect: "If VMs do not reach its address on port 443, the console and ingress operators of the hosted cluster stay degraded.",
			Fix: "If so, create Service {service} of type LoadBalancer with the node ports of the guest's router as target ports. Or set " +
				"annotation apps-address.",
		},
		network.EndpointAtIPv6: {
			What: "{service} is published at an IPv6 address, which is not served.",
			Fix:  "Publish it at a host name or an IPv4 address.",
		},
		network.IPv6Networks: {
			What:   "The cluster has IPv6 networks ({networks}), but only IPv4 is provided.",
			Effect: "IPv4 traffic is unaffected.",
		},
	}
}

func endpointsMessagesMore() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.TooManyPublished: {
			What:   "Services ask to be published at more than {most} places.",
			Effect: "Service {service} is not fully published, nor are {count} newer Services.",
			Fix:    "Remove annotation publish from some of them.",
		},
		network.PublishedIsIngress: {
			What: "Service {service} is not published at {at}, because it is the ingress of the hosted cluster, which is " +
				"served as *.apps.",
			Fix: "Remove annotation publish from it.",
		},
		network.PublishedByGuest: {
			What:   "Service {service} is not published, because it is a copy of Service {guestService} of the hosted cluster.",
			Effect: "Users of the hosted cluster cannot change where its nodes connect to.",
			Fix:    "Remove annotation publish from both Services. Publish another Service of the control plane namespace.",
		},
		network.PublishedHasNoPort: {
			What:   "Service {service} is not published at {at}.",
			Effect: "It has no TCP port, or it is of type ExternalName.",
			Fix:    "Publish a Service with a TCP port.",
		},
		network.StrategyUnsupported: {
			What:   "On KubeVirt, HyperShift does not publish {service} with strategy {strategy} ({field}).",
			Effect: "The strategy cannot be changed later.",
			Fix:    "Create the cluster with one of: {strategies}.",
		},
		network.NodePortAddressMissing: {
			What:   "{service} is published with a NodePort without an address ({field}).",
			Effect: "VMs have no address to connect to.",
			Fix:    "Create the cluster with an address.",
		},
		network.EndpointPortInvalid: {
			What:   "{subject} has a port that is not from 1 to 65535.",
			Effect: "It is not served.",
			Fix:    "Correct the port in the object that publishes it.",
		},
		network.NodePortAddressIsLocalhost: {
			What:   "{service} is published at localhost ({field}).",
			Effect: "Each VM would connect to itself.",
			Fix:    "Create the cluster with an address or a DNS name.",
		},
		network.PublishedHostInvalid: {
			What:   "{service} is published at an invalid host name ({field}).",
			Effect: "It cannot be changed later.",
			Fix:    "Create the cluster with a DNS name such as blue.example.com.",
		},
		network.APIRouteHostMissing: {
			What: "The API server is published with a Route without a host name ({field}), which HyperShift refuses.",
			Fix:  "Create the cluster with a host name. If its command line has no flag for it, edit the output of --render.",
		},
	}
}

func routesMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.RouteHostIsAddress: {
			What:   "Route {route} has the address {address} as its host.",
			Effect: "It is not served, because Routes are distinguished by their host name.",
			Fix:    "Set a DNS name as its host.",
		},
		network.RouteServiceMissing: {
			What: "Route {route} is not served, because {object} does not exist.",
			Fix:  "Create it if VMs need the Route, or delete the Route.",
		},
		network.RoutePortMissing: {
			What: "Route {route} is not served, because {object} has no port {port}, which the Route names.",
			Fix:  "Correct spec.port of the Route if VMs need it, or delete the Route.",
		},
		network.RouteAlternatesUnused: {
			What: "Route {route} has several Services. Edges send all its connections to {object}, and none to {services}.",
			Fix:  "Remove the others from spec.alternateBackends, or publish them with annotation publish.",
		},
		network.IgnitionRouteNotAdmitted: {
			What:   "No router has admitted {object}.",
			Effect: "HyperShift creates Ignition's certificate only after that, so new nodes cannot boot.",
			Fix:    "Check which routers select the Route. VMs do not use the router.",
		},
	}
}
