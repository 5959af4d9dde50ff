// This file holds what a decision about a message can be.

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
	// Relayed by a relay that the plan does not list.
	Relayed Outcome = "relayed"
	// OtherServer was chosen by the client.
	OtherServer Outcome = "other-server"
	// UnknownClient: the plan serves only VMs of the cluster.
	UnknownClient Outcome = "unknown-client"
	// UnknownAddress: the client requests an address that is not ours. RFC 2131
	// requires silence, since another server may know it.
	UnknownAddress Outcome = "unknown-address"
	// Exhausted: the pool has no free address.
	Exhausted Outcome = "exhausted"
	// ReservedForVMs: the client is unknown, and the rest of the pool is for VMs.
	ReservedForVMs Outcome = "reserved-for-vms"
	// LeftToPeer: the peer replies (Defers).
	LeftToPeer Outcome = "left-to-peer"
	// NotReady: not all leases and VMs were read, so no address is assigned.
	NotReady Outcome = "not-ready"
	// NotFresh: the store does not answer now. So nothing is offered and no client is
	// refused: the peer may have assigned the address. A client whose lease is known keeps
	// it while the lease allows.
	NotFresh Outcome = "not-fresh"
	Declined Outcome = "declined"
	// DeclineIgnored: KubeVirt reports that the VM uses the address, the client answers for it, or
	// too many addresses were declined.
	DeclineIgnored Outcome = "decline-ignored"
	// ReleaseIgnored: a DHCPRELEASE has neither a reply nor an effect. Any host can send one with the MAC of a VM, whose
	// address would be another client's a moment later. RFC 2131 section 4.3.4 would end the lease. It expires instead.
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
	// Address is offered, granted, refused or declined.
	Address netip.Addr
	// Why it is refused, for the client (option 56) and the log.
	Why string
	// Next is written before the reply is sent, if Was is still the stored lease of its
	// address (zero: none). A zero Next: nothing is written.
	Was, Next network.Lease
	// Anyway is until when the client may have the address if Next cannot be written: its
	// written lease allows that. The reply then promises no more, and Next is written later.
	// Zero: no reply without the write.
	Anyway time.Time
	// Confirm: the leases on Address and of MAC are read from the store again, and the
	// message is decided again, before the reply is sent. If they cannot be read, no reply is sent.
	Confirm bool
	// Remove is the client's previous lease, on another address. It is deleted once the reply is sent.
	Remove network.Lease
	// Answer is sent to To. Nil: no reply.
	Answer *dhcpv4.DHCPv4
	To     netip.AddrPort
	// Ask: before an offer, the network is asked whether another host uses Address. The client did
	// not have it.
	Ask bool
	// LeftOut lists requested options that do not fit into the packet.
	LeftOut []uint8
}

// Waits reports whether a lease is written, removed or read before the reply is sent.
func (v Verdict) Waits() bool {
	return v.Next.Address.IsValid() || v.Remove.Address.IsValid() || v.Confirm
}

// Instead is a verdict about the same client and address that has another outcome, and sends and writes nothing.
func (v Verdict) Instead(o Outcome) Verdict {
	return Verdict{Outcome: o, MAC: v.MAC, VM: v.VM, Address: v.Address}
}
