// Package dhcp serves DHCP (RFC 2131) on one network from its plan.
//
// # Parts
//
//   - Reply is pure: what is answered to one message, what must be written before
//     the answer leaves, and where it goes; Leaves, which edge answers
//   - Leases, Machines and Store say what Reply reads and what Server writes;
//     Files keeps leases without a cluster
//   - Server reads a UDP socket that the caller bound to the network's device,
//     writes what Reply asks to have written, and answers
//
// # Several edges, one server
//
// Every edge of a network answers with the same server identifier, and the
// address a MAC is offered follows from the MAC, the plan and the leases alone:
// whichever edge is heard first, the other agrees. Nothing is written for an
// offer. The write that precedes an ACK is a compare-and-swap on the address. Which
// edge answers a broadcast follows from a hash of the client (RFC 3074); the other
// answers too where that edge does not serve, or the client asks again (Leaves).
//
// # Who a client is
//
// Its MAC (chaddr). The client identifier (option 61) is echoed (RFC 6842) and
// decides no more than which edge answers: a node's initrd and its root send
// different ones, and cloned disks send the same.
//
// # Who gets what
//
// A machine keeps the address that it has, by lease or by what KubeVirt reports of
// it, before anybody is given one; so nothing new is promised until leases and
// machines have been read. Clients that are no machines get what is left over when
// as many addresses as the plan says are kept for machines (Room). A lease that
// nobody has come back for in a day is forgotten.
//
// # Without privileges
//
// There is no raw socket, so an answer to a client without an address is sent to
// 255.255.255.255 also where the client did not ask for broadcast (RFC 2131
// section 4.1 allows what the broadcast flag asks for; clients take it). Nothing
// probes an address before it is offered; a client that finds its address in use
// says so (DHCPDECLINE).
package dhcp
