// This file has the messages: parts that other servers provide, and connections that cannot be carried.

package explain

import "github.com/cldmnky/oooi/network"

func servicesMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.ServicesEmpty: {
			What: "VMs boot from network {network}, but annotation services leaves out all servers.",
			Fix:  "Name at least one of dhcp, dns, ntp and proxy, or remove the annotation.",
		},
		network.DHCPByOthers: {
			What: "Annotation services leaves DHCP on network {network} to your own server.",
			Fix:  "Your server must exclude {addresses} and send these options: {options}.",
		},
		network.DNSByOthers: {
			What: "Annotation services leaves DNS on network {network} to your own server.",
			Fix:  "Your server must resolve {names} to {address}.",
		},
		network.DNSAndProxyByOthers: {
			What: "Annotation services leaves DNS and proxy on network {network} to your own servers.",
			Fix:  "Your DNS server must resolve {names} to your own proxy.",
		},
		network.ProxyByOthers: {
			What:   "Annotation services leaves the proxy on network {network} to your own servers.",
			Effect: "Edges carry no connections to {endpoints}.",
			Fix:    "Your servers must carry them. The edges resolve only the names in annotation dns-records.",
		},
		network.ListenerInUse: {
			What: "{subject} is not served at {at}, because {by} already uses that address and port.",
			Fix:  "Publish one of the two at another port or name.",
		},
		network.ListenerWithoutServerNames: {
			What:   "{subject} is not served at {at}.",
			Effect: "Every connection to that port goes to {by}, because its clients do not send a server name.",
			Fix:    "Publish it at another port.",
		},
		network.PortReservedForDNS: {
			What: "{subject} is not served at {at}, because that port is reserved for DNS.",
			Fix:  "Publish it at another port.",
		},
		network.BackendNameInUse: {
			What: "{subject} is not served at {at}, because another endpoint is already named {by}.",
			Fix:  "Give the Service another name.",
		},
		network.ServerNameMissing: {
			What:   "{subject} is not served at {at}.",
			Effect: "Connections to that port are distinguished by their TLS server name, and it has none.",
			Fix:    "Publish it with a host name.",
		},
		network.RegistryNotServed: {
			What:   "Edges cannot carry connections to {registry}.",
			Effect: "Nodes cannot pull images from it.",
			Fix:    "Fix the conflict that is reported for {registry}.",
		},
		network.LastGoodIngress: {
			What:   "The hosted cluster's Service openshift-ingress/router-default has no copy now.",
			Effect: "{name} still leads to the VMs as the last copy did.",
			Fix: "If the ingress is of another type now, create Service {service} of type LoadBalancer with the node ports of the guest's " +
				"router as target ports. Or set annotation apps-address to an address that serves {name} on port 443.",
		},
		network.LastGoodEndpoint: {
			What:   "The address of {subject} is currently unknown ({object}).",
			Effect: "Its last known address is still served.",
			Fix:    "If this persists, check {object}.",
		},
	}
}

func secondaryMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.SecondaryWithoutDHCP: {
			What:   "Network {network} is not served.",
			Effect: "VMs do not boot from it, so it needs only DHCP, which annotation services leaves out.",
			Fix:    "To serve it, add dhcp to annotation services.",
		},
		network.SecondaryWithoutCIDR: {
			What:   "Network {network} is not served, because it has no CIDR.",
			Effect: "VMs do not boot from it, and get addresses there from other servers, or have static ones.",
			Fix:    "To serve it, set {where}. To remove this hint, set annotation services to none on its NetworkAttachmentDefinition.",
		},
		network.SecondaryCIDRForBootOnly: {
			What: "Network {network} is not served, because it has no CIDR.",
			Effect: "spec.networking.machineNetwork ({found}) applies only to a network that VMs boot from. These VMs boot " +
				"from the pod network.",
			Fix: "To serve it, set {where}. To remove this hint, set annotation services to none on its NetworkAttachmentDefinition.",
		},
		network.SecondaryCIDRRemoved: {
			What:   "The CIDR of network {network} is no longer set.",
			Effect: "Its edges stay as they are, with CIDR {cidr}.",
			Fix:    "To keep them, set {cidr} again ({where}). To remove them, set annotation services to none on its NetworkAttachmentDefinition.",
		},
		network.SecondaryInUse: {
			What:   "Annotation services leaves out DHCP, the only server of network {network}, while VMs are on it.",
			Effect: "Its edges serve DHCP until no VM uses the network.",
		},
	}
}
