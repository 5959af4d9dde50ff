// Package device holds one snapshot of an edge's network interface: its carrier, addresses,
// forwarding and routes. The kernel pushes changes through netlink. The package only reads,
// and needs no privilege.
package device
