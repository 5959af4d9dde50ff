// Package edge is what a server of ours needs where it runs: its part of the
// plan and that part's changes, sockets that are bound to a device, readiness
// over a Unix socket, and, inside a cluster, the objects it watches, the leases it
// keeps and what it reports. It decides nothing about DHCP, DNS or proxying.
//
// # Isolation
//
// Every socket is bound to its device (SO_BINDTODEVICE, no privilege needed) or
// is a Unix socket: by Linux's weak host model a machine that routes by an edge
// otherwise reaches any socket on the pod's other addresses. An edge in whose
// network namespace the kernel would forward must not serve; see Forwards.
//
// # Without the API server
//
// An edge starts from the plan it was given as a file, and goes on from what it
// last knew while the API server is away. Nothing here waits for a watch before
// it answers; what has not been seen yet is told apart from what is empty.
package edge
