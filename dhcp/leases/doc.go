// Package leases holds the leases of one network in memory, with an index for each lookup
// of a DHCP server: the lease on an address, the leases of a MAC or a VM, and the addresses
// of a range that have no lease or an expired lease.
//
// It chooses no address, stores nothing durably, and never reads a clock.
package leases
