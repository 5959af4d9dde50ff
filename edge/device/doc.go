// Package device holds one snapshot of an edge's network interface: its carrier,
// addresses, forwarding and routes. The kernel pushes changes through netlink, so
// readers do not poll. The package only reads, and it needs no privilege.
package device
