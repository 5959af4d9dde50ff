// Package edge is what a server needs inside an edge's pod. It provides the edge's part of
// the plan and its changes, sockets bound to a device, and readiness over a Unix socket.
// Inside a cluster it also provides the watched objects, the leases and the edge's report.
// It decides nothing about DHCP, DNS or proxying.
//
// # Isolation
//
// Every socket is bound to its device (SO_BINDTODEVICE, which needs no privilege) or is a
// Unix socket. Linux uses the weak host model: without the binding, a VM that routes
// through an edge could reach sockets on the pod's other addresses. An edge must not serve
// if the kernel would forward packets in its network namespace; see package device.
//
// # Without the API server
//
// An edge starts from the plan in a file, and uses the last known good state while the API
// server is unavailable. No answer waits for a watch. State that was not seen yet is
// distinct from empty state.
package edge
