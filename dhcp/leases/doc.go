// Package leases holds the leases of one network in memory, with an index for each question
// of a DHCP server: which lease is on an address, which leases has a MAC or a VM, and which
// addresses of a range have no lease or an expired one.
//
// It chooses no address, stores nothing durably, and never reads a clock.
package leases
