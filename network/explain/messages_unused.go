// This file has the messages: addresses in annotations that have no effect.

package explain

import "github.com/cldmnky/oooi/network"

func unusedMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.EdgeAddressesUnused: {
			What:   "Annotation edge-addresses has {count} addresses, but network {network} uses only the first four.",
			Effect: "Edges do not hold {addresses}, so VMs or other hosts can get them.",
			Fix:    "Remove them from the annotation, or exclude them with annotation dhcp-exclude.",
		},
		network.ExclusionOutsideCIDR: {
			What:   "Annotation dhcp-exclude has {range}, which is outside CIDR {cidr} of network {network}.",
			Effect: "It has no effect. If it is misspelled, VMs can get addresses of other hosts.",
			Fix:    "Set annotation dhcp-exclude to addresses in {cidr}.",
		},
		network.ExclusionOutsideRange: {
			What:   "Annotation dhcp-exclude has {range}, which is outside the DHCP range {pool} of network {network}.",
			Effect: "It has no effect, because VMs get no other addresses.",
		},
		network.ClusterCIDRUnused: {
			What:   "Annotation cidr of the HostedCluster ({value}) applies to a network that VMs boot from. These VMs boot from the pod network.",
			Effect: "It has no effect.",
			Fix:    "Set annotation cidr on the NodePool or on the NetworkAttachmentDefinition.",
		},
		network.ClusterAddressesUnused: {
			What:   "Annotation {key} of the HostedCluster has {value}, which is in the CIDR of no network.",
			Effect: "It has no effect.",
			Fix:    "Set annotation {key} to addresses in the CIDR of a network.",
		},
		network.DHCPSettingsUnused: {
			What:   "Edges do not run DHCP on network {network}, so these annotations have no effect there: {annotations}.",
			Effect: "Your own DHCP server decides the addresses of VMs.",
			Fix:    "Remove them, or add dhcp to annotation services.",
		},
	}
}
