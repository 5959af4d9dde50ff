// Package device reads the state of an edge's network interface from the kernel: its carrier,
// addresses, forwarding, routes, neighbors and connections. It also makes the kernel send ARP
// requests, and resets new connections of some hosts. It changes no setting, and needs no privilege.
package device
