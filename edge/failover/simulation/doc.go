// Package simulation runs the decisions of edge/failover against simulated faults. It has no
// product code. Its tests run two edges of one network, and the VMs that route through them, on a
// simulated clock: a simulated minute takes some milliseconds.
//
// # What is simulated
//
//   - Two edges, and in some faults a second pod with the number of edge 1. Each has
//     a kernel, a failover agent, an Envoy and its reach to the API server. The agent is
//     failover.Next itself. Each part fails alone: it hangs, it is killed, or the whole pod is stopped.
//   - A kernel answers ARP for the next-hop VIP and for its edge address. It refuses datagrams
//     for closed ports with ICMP, as fast as Linux does: six at once, then one a second.
//   - Two networks. Each edge loses a percentage of what it sends and of what it receives, on
//     each network. At 100 % it is mute, or deaf. The VLAN may also be cut into two sides, and
//     heartbeats alone may be filtered.
//   - VMs with Linux's neighbor states for the next-hop VIP, and edges with the same states
//     for their peer's address. The first answer wins. An entry does not change twice within a
//     second (locktime). A kernel repeats an announcement's request twice.
//   - The API server: up, down, slow, or dark for one edge.
//
// # What is measured
//
// The gap of a VM is the longest time during which no new connection works although an edge could
// carry it. A VM connects all the time. The cuts of a VM are the resets of its long connection. A
// reset comes when its packets reach a kernel that does not know the connection, or when its Envoy
// ends. A connection whose packets reach nothing stalls, which is not a cut.
//
// # What is left out
//
// Loss below 100 % hits heartbeats, ARP, probes and announcements, but not the VM's own
// connections. TCP repeats what is lost, and decisions do not change that. DHCP, names, routes
// and the plan are left out. So are switches that learn late, answers of a router with proxy ARP,
// and announcements of a kernel that starts (except in one fault). Processes take no time unless
// a fault stops them. Hosts on the VLAN are honest.
package simulation
