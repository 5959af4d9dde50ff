// This file has the messages: names decide, because creation times do not.

package explain

import "github.com/cldmnky/oooi/network"

func ageMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.SharedAddressesByName: {
			What:   "Hosted cluster {hostedCluster} wants the same addresses {addresses} of network {network}.",
			Effect: "Creation times do not say which cluster is older, so the names decide: {hostedCluster} takes precedence.",
			Fix:    "Set {keys} to free addresses. If there are none, first set a smaller dhcp-range on {hostedCluster}.",
		},
		network.NetworkCIDRByName: {
			What: "CIDR {cidr} of the HostedCluster applies to network {network}, because NodePool {nodePool} comes before " +
				"{otherNodePool} by its name.",
			Effect: "Creation times do not say which of the two is older. The oldest NodePool's network gets that CIDR.",
			Fix:    "To choose the network, set annotation {keys} on the HostedCluster.",
		},
	}
}
