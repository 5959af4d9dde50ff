// This file has the messages: what VMs cannot reach on a network without a gateway.

package explain

import "github.com/cldmnky/oooi/network"

func reachMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.OAuthBehindGateway: {
			What:   "OAuth is published at the address {address}, and network {network} has gateway {gateway}.",
			Effect: "Pods of the hosted cluster send their traffic to the gateway, so logins to the console fail.",
			Fix: "Publish OAuth with a host name, set routingViaHost in OVN-Kubernetes, or route {address} from the gateway " +
				"to the next-hop VIP.",
		},
		network.TimeServersMissing: {
			What:   "Annotation services leaves out ntp on networks without a gateway ({networks}), so VMs there have no time server.",
			Effect: "If clocks drift, TLS fails.",
			Fix: "Add ntp to annotation services, or set annotation ntp-servers to a time server on the network. " +
				"If VMs use the time of their hosts, no action is needed.",
		},
		network.GuestProxyUnreachable: {
			What:   "Nodes use the HTTP proxy {proxy} (spec.configuration.proxy), but network {network} has no gateway.",
			Effect: "Nodes do not become Ready unless the network reaches the proxy.",
			Fix:    "Give the proxy an address on the network (annotation dns-records), or set annotation gateway.",
		},
		network.ExternalHostsOff: {
			What:   "Annotation {key} is none, and network {network} has no gateway.",
			Effect: "Nodes do not become Ready unless another host on the network serves {hosts}.",
			Fix:    "Set annotation {key} to auto, or set annotation gateway.",
		},
		network.ExternalHostsNotServed: {
			What:   "Annotation services leaves out dns or proxy, and network {network} has no gateway.",
			Effect: "Nodes do not become Ready unless your own servers serve {hosts}.",
			Fix:    "Add dns and proxy to annotation services, or set annotation gateway.",
		},
	}
}

func registriesMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.RegistryIsAddress: {
			What:   "Images are pulled from an IP address ({hosts}), which clients do not send as TLS server name.",
			Effect: "Nodes cannot pull these images.",
			Fix:    "Give the registry a DNS name, or set annotation gateway.",
		},
		network.RegistryIsPlainHTTP: {
			What:   "Images are pulled with plain HTTP ({hosts}), which has no TLS server name.",
			Effect: "Nodes cannot pull these images.",
			Fix:    "Serve the registry with HTTPS, or set annotation gateway.",
		},
		network.RegistryInManagementCluster: {
			What:   "Images are pulled from inside the management cluster ({hosts}).",
			Effect: "Nodes cannot pull these images.",
			Fix:    "Use a registry outside of the management cluster, or publish its Service with annotation publish.",
		},
		network.RegistryNameInvalid: {
			What:   "Images are pulled from a host that is not a full DNS name ({hosts}).",
			Effect: "Nodes cannot pull these images.",
			Fix:    "Give the registry a DNS name, or set annotation gateway.",
		},
		network.TooManyRegistries: {
			What:   "Images are pulled from more than {most} registries.",
			Effect: "Nodes cannot reach {count} of the mirrors.",
			Fix:    "Remove mirrors from spec.imageContentSources, or set annotation gateway.",
		},
		network.RegistryMayRedirect: {
			What:   "Images are pulled from {hosts}. oooi does not know whether these registries redirect to other hosts.",
			Effect: "Nodes reach no host that is not named.",
			Fix:    "If a registry redirects, name those hosts in annotation allowed-hosts. If none does, name the registries there.",
		},
		network.ReleaseMayNameOthers: {
			What:   "A release image is on {hosts}, and spec.imageContentSources has no mirror.",
			Effect: "If the release names images on other hosts, such as quay.io, nodes cannot pull these.",
			Fix:    "Name those hosts in annotation allowed-hosts, or their mirror in spec.imageContentSources.",
		},
		network.ManagementProxyUnreadable: {
			What:   "The operator's HTTPS_PROXY is not a valid URL.",
			Effect: "Nodes cannot pull images from {hosts}.",
			Fix:    "Correct HTTPS_PROXY of the operator, or name the hosts in NO_PROXY.",
		},
		network.ManagementProxyNeedsPassword: {
			What:   "The HTTP proxy of the management cluster needs a password, which edges do not have.",
			Effect: "Nodes cannot pull images from {hosts}.",
			Fix:    "Name the hosts in NO_PROXY if they can be reached without the proxy.",
		},
		network.ManagementProxyNotHTTP: {
			What:   "The proxy of the management cluster is not an http:// proxy.",
			Effect: "Nodes cannot pull images from {hosts}.",
			Fix:    "Name the hosts in NO_PROXY if they can be reached without the proxy.",
		},
		network.RegistryNotPermitted: {
			What:   "Images are on {hosts}, which the operator's flag --permit-hosts does not permit.",
			Effect: "Nodes cannot pull these images.",
			Fix:    "Ask the administrator of the management cluster to permit the hosts, or use a registry that is permitted.",
		},
		network.RegistryPortNotPermitted: {
			What:   "Images are on {hosts}, but the operator's flag --permit-ports does not permit the ports.",
			Effect: "Nodes cannot pull these images.",
			Fix:    "Ask the administrator of the management cluster to permit the ports, or serve the registry on port 443.",
		},
	}
}
