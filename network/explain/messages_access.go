// This file has the messages: what is opened to the management cluster, and what is not.

package explain

import "github.com/cldmnky/oooi/network"

// notOpen is what an entry means that is left out.
const notOpen = "This entry of annotation management-access is left out, and the others stay."

func accessMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.AccessOpen: {
			What:   "Pods of namespaces {namespaces} reach {destinations} on network {network} through Service {service}.",
			Effect: "Callers need no token. HyperShift's own policies also admit pods of the ingress and of monitoring.",
			Fix:    "To close it, remove annotation management-access.",
		},
		network.AccessOpenToAccounts: {
			What:   "ServiceAccounts {accounts} reach {destinations} on network {network} through Service {service}, from pods of namespaces {namespaces}.",
			Effect: "Each of them needs a token. HyperShift's own policies also admit pods of the ingress and of monitoring.",
			Fix:    "To close it, remove annotation management-access.",
		},
		network.AccessNameUnknown: {
			What:   "{entry} is not open, because {name} is not nodes, apps, an address or a name in annotation dns-records.",
			Effect: notOpen,
			Fix:    "Write the word nodes or apps, add the name to annotation dns-records, or name its address.",
		},
		network.AccessToEdge: {
			What:   "{entry} is not open, because edges answer at address {address}.",
			Effect: notOpen,
			Fix:    "Name a VM or another host of the network. Pods reach the control plane itself through its Services.",
		},
		network.AccessToNoHost: {
			What:   "{entry} is not open, because no host has address {address} in {cidr}.",
			Effect: notOpen,
			Fix:    "Name the address of a host of the network.",
		},
		network.AccessOutsideNetworks: {
			What:   "{entry} is not open, because address {address} is on no network that edges serve (CIDRs: {cidrs}).",
			Effect: notOpen,
			Fix:    "Name an address on a network, or remove the entry.",
		},
		network.AccessPortInUse: {
			What:   "{entry} is not open, because edges use that port for {use}.",
			Effect: notOpen,
			Fix:    "Choose another port before the equals sign.",
		},
		network.AccessPortRepeated: {
			What:   "{entry} is not open, because {other} has the same port.",
			Effect: "Both entries of annotation management-access are left out, and the others stay.",
			Fix:    "Choose another port before the equals sign of one of them.",
		},
		network.AccessPortWithoutToken: {
			What:   "{entry} is not open, because annotation management-access-accounts is set and plain TCP carries no token.",
			Effect: notOpen,
			Fix:    "Remove the port before the equals sign, so that callers use HTTP CONNECT. Or remove annotation management-access-accounts.",
		},
		network.AccessIngressUnknown: {
			What:   "{entry} is not open, because the ingress of the hosted cluster is not known at this port.",
			Effect: notOpen,
			Fix:    "It opens when the ingress is known. Or set annotation apps-address to the address of the ingress on the network.",
		},
		network.AccessNeedsLeases: {
			What:   "{entry} is not open on network {network}, because annotation services leaves out dhcp there.",
			Effect: "Edges find VMs by the leases that they gave. This entry has no effect on that network.",
			Fix:    "Name addresses in annotation management-access, or add dhcp to annotation services.",
		},
		network.AccessNoNetwork: {
			What:   "{entry} is not open, because no VM boots from a network that edges serve.",
			Effect: notOpen,
			Fix:    "Name addresses of hosts in annotation management-access.",
		},
		network.AccessSettingUnused: {
			What:   "Annotation {key} has no effect, because annotation management-access is not set.",
			Effect: "Nothing is open to pods of the management cluster.",
			Fix:    "Set annotation management-access, or remove {key}.",
		},
	}
}
