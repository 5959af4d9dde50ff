// Package leases holds the leases of one network in memory, with an index for each lookup
// of a DHCP server. It finds the lease on an address, and the leases of a MAC or a VM. It
// also finds the addresses of a range that have no lease or an expired lease. Memory is the
// store of a server without a cluster.
//
// It chooses no address, stores nothing durably, and never reads a clock.
package leases
