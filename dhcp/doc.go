// Package dhcp serves DHCP (RFC 2131) on one network from its plan (network.Network). The server runs in an
// edge, a pod of oooi on the network. If a network has two edges, each is the other's peer. VMs are those of the
// hosted cluster, and all other clients are unknown clients.
//
// # Parts
//
//   - Package reply decides, without I/O, the reply to one message, what must be written first, and where
//     the reply is sent. reply.Defers decides which edge replies.
//   - A Store is where Server writes leases: Lease objects (package edge/kube), or leases.Memory without a cluster.
//   - Server reads the sockets of package udp, writes leases and sends replies. A goroutine for each
//     socket only queues messages, and sending never blocks. Package recent is the Server's memory of messages.
//
// # Two edges, one server
//
// Both edges of a network use the same server identifier. The address that a MAC is
// offered depends only on the MAC, the plan and the leases, so both edges offer the
// same one. An offer writes nothing. The write before an ACK is a compare-and-swap on
// the address. A hash of the client selects the edge that replies to a broadcast
// (RFC 3074). The other edge also replies if its peer does not serve, or if the client
// asks again (reply.Defers).
//
// An edge may be cut off from the store. It then learns late what its peer writes and removes.
// These rules keep an address from being assigned twice, and a client from losing its address:
//
//   - If a client accepts an offer, or remembers an address, its lease is always written, even if the edge
//     knows the lease: the peer may have ended it.
//   - A RELEASE has no effect (reply.ReleaseIgnored).
//   - A renewal that cannot be written promises at most what the stored lease allows (network.Lease.Promised).
//   - An edge offers nothing, and refuses no client, while the store does not answer.
//   - Before a client is refused, its leases are read from the store again.
//
// # Client identity
//
// The server identifies a client by its MAC (chaddr). The client identifier (option 61) is echoed
// (RFC 6842) and selects only the edge that replies. It does not identify a client: a node's initrd
// and its installed system send different identifiers, and cloned disks send equal ones.
//
// # Assignment
//
// A VM keeps its address, known from a lease or from KubeVirt, before any address is assigned. So the server
// assigns nothing until it has read leases and VMs. Unknown clients get the addresses that are not reserved for
// VMs (reply.PoolRemaining). A lease is deleted one day after its address became free. The address of a VM is
// free once the VM has been gone for five minutes (reply.VMs.Gone). It is assigned only if no other address is
// free. A VM with a new MAC inherits the address of its previous MAC.
//
// # Limits
//
// The messages of one MAC cause at most four writes in any four seconds, and put at most three addresses
// into quarantine in any hour (budget.go). A MAC without writes left still gets the lease that this edge
// wrote for it a moment ago. MACs are easily forged, so limits apply to all MACs together, too. At most a
// tenth of the range is in quarantine, and no address that VMs need. A client with a lease can always
// renew it.
//
// # Without privileges
//
// The server has no raw socket. So a reply to a client without an address goes to 255.255.255.255, even without
// the broadcast flag (RFC 2131 section 4.1). Clients accept this.
//
// # Addresses in use
//
// Before a client is offered an address that it did not have, the server checks whether
// a host uses the address (RFC 2131 section 3.1, ask.go). It checks through the kernel's
// ARP. An offer waits up to 200 ms for answers; offers wait in parallel. A client that
// detects a conflict later sends DHCPDECLINE.
package dhcp
