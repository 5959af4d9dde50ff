// This file defines the possible decisions about a message.

package reply

import (
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/network"
)

// An Outcome names a decision for metrics and logs.
type Outcome string

// The outcomes. From Malformed on, the client gets no reply.
const (
	Offered  Outcome = "offered"
	Granted  Outcome = "granted"
	Refused  Outcome = "refused"
	Informed Outcome = "informed"
	// Malformed: not a DHCP request over Ethernet, or a required field is missing.
	Malformed Outcome = "malformed"
	// Relayed: the message came from a relay that the plan does not list.
	Relayed Outcome = "relayed"
	// OtherServer: the client chose another server.
	OtherServer Outcome = "other-server"
	// UnknownClient: the plan serves only VMs of the cluster.
	UnknownClient Outcome = "unknown-client"
	// UnknownAddress: this server has no record that it assigned the address. RFC 2131 requires silence, since another server may
	// know it.
	UnknownAddress Outcome = "unknown-address"
	// Exhausted: the pool has no free address.
	Exhausted Outcome = "exhausted"
	// ReservedForVMs: the client is unknown, and the rest of the pool is for VMs.
	ReservedForVMs Outcome = "reserved-for-vms"
	// LeftToPeer: the peer replies (Defers).
	LeftToPeer Outcome = "left-to-peer"
	// NotReady: not all leases and VMs were read, so no address is assigned.
	NotReady Outcome = "not-ready"
	// NotFresh: the store does not answer now, so the peer may have assigned the address. A client whose lease is known may still
	// renew, as long as network.Lease.Promised allows.
	NotFresh Outcome = "not-fresh"
	Declined Outcome = "declined"
	// DeclineIgnored: the VM uses the address according to KubeVirt or to ARP, or too many addresses were declined.
	DeclineIgnored Outcome = "decline-ignored"
	// ReleaseIgnored: RFC 2131 section 4.3.4 would end the lease. But any host can send a DHCPRELEASE with the MAC of a VM, and
	// another client could get the VM's address. The lease expires instead.
	ReleaseIgnored Outcome = "release-ignored"
	// NotHeld: the client declines an address that it does not have, or sends INFORM from outside the network.
	NotHeld Outcome = "not-held"
)

// A Verdict is the decision about one message.
type Verdict struct {
	Outcome Outcome
	MAC     string
	// VM is the name of the VM with this MAC. Empty: an unknown client.
	VM string
	// Address is the address that is offered, granted, refused or declined.
	Address netip.Addr
	// Why is why the address is refused, for the client (option 56) and the log.
	Why string
	// Next is the lease to write before the reply, in place of Was on the same address. Zero Was: the address has no lease. Zero
	// Next: nothing is written.
	Was, Next network.Lease
	// Anyway is until when the stored lease allows the client to use the address, even if Next cannot be written. The reply
	// promises at most this time, and Next is written later. Zero: without the write there is no reply.
	Anyway time.Time
	// Confirm: before the reply, the leases on Address and of MAC are read from the store again, and the message is decided again.
	// If they cannot be read, there is no reply.
	Confirm bool
	// Remove is the client's previous lease, on another address, which is deleted after the reply. Zero: none.
	Remove network.Lease
	// Answer is sent to To. Nil: no reply.
	Answer *dhcpv4.DHCPv4
	To     netip.AddrPort
	// Ask: before the offer, a probe checks whether another host uses Address, which the client did not have.
	Ask bool
	// LeftOut are the codes of requested options that do not fit into the packet.
	LeftOut []uint8
}

// Waits reports whether a lease is written, removed or read before the reply is sent.
func (v Verdict) Waits() bool {
	return v.Next.Address.IsValid() || v.Remove.Address.IsValid() || v.Confirm
}

// Instead returns a verdict about the same client and address with another outcome, which sends and writes nothing.
func (v Verdict) Instead(o Outcome) Verdict {
	return Verdict{Outcome: o, MAC: v.MAC, VM: v.VM, Address: v.Address}
}
