// Package dhcp serves DHCP (RFC 2131) on one network from its plan.
//
// # Parts
//
//   - Reply is pure: the reply to one message, what must be written first, and where
//     the reply is sent. Defers decides which edge replies.
//   - Leases, VMs and Store are what Reply reads and Server writes. Files stores
//     leases without a cluster.
//   - Server reads a UDP socket that the caller bound to the network's device,
//     writes leases and sends replies.
//
// # Two edges, one server
//
// Both edges of a network use the same server identifier. The address that a MAC is
// offered depends only on the MAC, the plan and the leases, so both edges offer the
// same one. An offer writes nothing. The write before an ACK is a compare-and-swap on
// the address. A hash of the client selects the edge that replies to a broadcast
// (RFC 3074). The other edge also replies if its peer does not serve, or if the client
// asks again (Defers).
//
// # Client identity
//
// A client is its MAC (chaddr). The client identifier (option 61) is echoed (RFC 6842)
// and selects only the edge that replies. A node's initrd and its root send different
// identifiers, and cloned disks send equal ones.
//
// # Assignment
//
// A VM keeps its address, known from a lease or from KubeVirt, before any address is
// assigned. So the server assigns nothing until it has read leases and VMs. Unknown
// clients get the addresses that are not reserved for VMs (PoolRemaining). A lease is
// deleted one day after its address became free.
//
// # Without privileges
//
// There is no raw socket. So a reply to a client without an address goes to
// 255.255.255.255, even if the client did not set the broadcast flag (RFC 2131 section
// 4.1); clients accept it. The server does not probe an address before it offers it.
// A client that detects a conflict sends DHCPDECLINE.
package dhcp
