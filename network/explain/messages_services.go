// This file has the messages: parts that other servers provide, and connections that cannot be carried.

package explain

import "github.com/cldmnky/oooi/network"

func servicesMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.SecondaryWithoutDHCP: {
			What:   "Network {network} is not served.",
			Effect: "VMs do not boot from it, so it needs only DHCP, which annotation services leaves out.",
			Fix:    "To serve it, add dhcp to annotation services.",
		},
		network.ServicesEmpty: {
			What: "Annotation services names none of dhcp, dns and proxy for network {network}.",
			Fix:  "Name at least one of them, or remove the annotation.",
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
		network.LastGoodEndpoint: {
			What:   "The address of {subject} is currently unknown ({object}).",
			Effect: "Its last known address is still served.",
			Fix:    "If this persists, check {object}.",
		},
	}
}
