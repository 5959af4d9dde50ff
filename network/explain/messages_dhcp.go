// This file has the messages: what the DHCP servers of edges report about addresses and
// leases.

package explain

import "github.com/cldmnky/oooi/network"

func dhcpMessages() map[network.Cause]Message {
	return map[network.Cause]Message{
		network.PoolExhausted: {
			What: "DHCP on network {network} has had no free address since {since}. Of {size} addresses, {used} are assigned, " +
				"{declined} declined and {avoided} used by hosts without a lease.",
			Effect: "VMs that start get no address and do not become nodes. VMs that have an address keep it.",
			Fix:    "Set a larger annotation dhcp-range, or delete VMs that are not needed.",
		},
		network.EdgeLeasesUnwritten: {
			What:   "Edge {edge} of network {network} has failed to write new leases since {since}: {error}.",
			Effect: "This edge gives new VMs no address. VMs that have an address keep it.",
			Fix:    "Check quotas, policies and rights for Leases in the namespace of the hosted control plane.",
		},
		network.EdgeRenewalsUnwritten: {
			What: "Edge {edge} of network {network} has failed to write renewed leases since {since}: {error}.",
			Effect: "VMs that have an address keep it until {until} at least. Then they lose it, one after the other. " +
				"This edge gives new VMs no address.",
			Fix: "Before {until}, check policies and rights for Leases in the namespace of the hosted control plane, and the API server.",
		},
		network.PoolAddressOfVM: {
			What:   "VM {vm} (MAC {mac}) is named as the host of {addresses} in the DHCP range of network {network}. It has no lease for that.",
			Effect: "DHCP avoids these addresses while others are free.",
			Fix:    "Check VM {vm} first: another VM can forge this. Then remove the addresses from it, or delete it.",
		},
		network.PoolAddressOfHost: {
			What:   "Another host (MAC {mac}) has {addresses} in the DHCP range of network {network}. It has no lease for that.",
			Effect: "DHCP avoids these addresses while others are free.",
			Fix:    "Remove the addresses from the host, or add them to annotation dhcp-exclude.",
		},
		network.PoolAddressDeclined: {
			What:   "A VM on network {network} declined {addresses} of the DHCP range. The edge knows no host that answers for these addresses.",
			Effect: "DHCP assigns them to no VM for five minutes, or for one hour if a host answered.",
			Fix:    "Check that VM first: it may be wrong. If hosts on the VLAN have these addresses, add them to annotation dhcp-exclude.",
		},
		network.ReservationUsed: {
			What:   "Address {address} of network {network} is reserved for MAC {reserved}, but {user} has it.",
			Effect: "The client with MAC {reserved} gets another address until this one is free.",
			Fix:    "Free the address: delete that VM, or change the address of that host. Then restart the client.",
		},
	}
}
