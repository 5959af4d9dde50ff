// This file decides the reply to one message of a client (RFC 2131 section 4.3). It
// reads no clock and no socket, and writes no store. What must be written before the
// reply is part of its verdict.

package dhcp

import (
	"bytes"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/iana"

	"github.com/cldmnky/oooi/network"
)

const (
	serverPort, clientPort = 67, 68
	// quarantine is how long a declined address is not assigned.
	quarantine = time.Hour
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
	Declined Outcome = "declined"
	// DeclineIgnored: KubeVirt reports that the VM uses the address.
	DeclineIgnored Outcome = "decline-ignored"
	Released       Outcome = "released"
	// NotHeld: the client declines or releases an address that it does not have, or
	// sends INFORM from outside the network.
	NotHeld Outcome = "not-held"
)

// A Verdict is the decision about one message.
type Verdict struct {
	Outcome Outcome
	MAC     string
	// VM is the name of the VM with this MAC. Empty: an unknown client.
	VM string
	// Address is offered, granted, refused, declined or released.
	Address netip.Addr
	// Why it is refused, for the client (option 56) and the log.
	Why string
	// Next is written before the reply is sent, if Was is still the stored lease of its
	// address (zero: none). A zero Next: nothing is written.
	Was, Next network.Lease
	// Anyway: the reply is sent even if Next cannot be written, because the client
	// already has the address. Next is then written later.
	Anyway bool
	// Remove is deleted: the released lease, or the client's previous one.
	Remove network.Lease
	// Answer is sent to To. Nil: no reply.
	Answer *dhcpv4.DHCPv4
	To     netip.AddrPort
	// LeftOut lists requested options that do not fit into the packet.
	LeftOut []uint8
}

// Reply decides about one message at now. It reads the network's CIDR, its DHCP
// settings and the addresses of its edges.
func Reply(n network.Network, k Known, request *dhcpv4.DHCPv4, now time.Time) Verdict {
	if request.OpCode != dhcpv4.OpcodeBootRequest || request.HWType != iana.HWTypeEthernet ||
		len(request.ClientHWAddr) != 6 || request.ClientHWAddr[0]&1 != 0 ||
		bytes.Equal(request.ClientHWAddr, make([]byte, 6)) {
		return Verdict{Outcome: Malformed}
	}
	c := newClient(n, k, request.ClientHWAddr.String(), now)
	x := exchange{client: c, request: request, asked: addr(request.RequestedIPAddress()), has: addr(request.ClientIPAddr)}
	if relay := addr(request.GatewayIPAddr); relay.IsValid() && !slices.Contains(n.DHCP.Relays, relay) {
		return x.silent(Relayed)
	}
	if server := addr(request.ServerIdentifier()); server.IsValid() && server != n.DHCP.ServerID {
		return x.silent(OtherServer)
	}
	if n.DHCP.IgnoreUnknownClients && c.vm == "" && !c.reservation().IsValid() {
		return x.silent(UnknownClient)
	}
	switch request.MessageType() {
	case dhcpv4.MessageTypeDiscover:
		return x.discover()
	case dhcpv4.MessageTypeRequest:
		return x.requested()
	case dhcpv4.MessageTypeDecline:
		return x.decline()
	case dhcpv4.MessageTypeRelease:
		return x.release()
	case dhcpv4.MessageTypeInform:
		return x.inform()
	}
	return x.silent(Malformed)
}

// An exchange is one message of one client. Asked is option 50, has is ciaddr; zero
// if the client sent none.
type exchange struct {
	client
	request    *dhcpv4.DHCPv4
	asked, has netip.Addr
}

func (x exchange) silent(o Outcome) Verdict {
	return Verdict{Outcome: o, MAC: x.mac, VM: x.vm}
}

// discover offers an address and writes nothing.
func (x exchange) discover() Verdict {
	if _, known := x.known.Leases.Of(x.mac); !x.known.Complete && !known {
		return x.silent(NotReady)
	}
	a, ok := x.address(x.asked)
	switch {
	case !ok && !x.room():
		return x.silent(ReservedForVMs)
	case !ok:
		return x.silent(Exhausted)
	}
	v := x.silent(Offered)
	v.Address = a
	v.Answer, v.LeftOut = x.answer(dhcpv4.MessageTypeOffer, a)
	v.To = x.to(v.Answer)
	return v
}

// requested distinguishes the four states of RFC 2131 section 4.3.2.
func (x exchange) requested() Verdict {
	switch {
	case x.request.Options.Has(dhcpv4.OptionServerIdentifier):
		return x.selecting()
	case x.has.IsValid():
		return x.renewing()
	case x.asked.IsValid():
		return x.rebooting()
	}
	return x.silent(Malformed)
}

// selecting: the client accepts our offer.
func (x exchange) selecting() Verdict {
	if !x.asked.IsValid() {
		return x.silent(Malformed)
	}
	if _, known := x.known.Leases.Of(x.mac); !x.known.Complete && !known {
		return x.silent(NotReady)
	}
	if a, ok := x.address(x.asked); !ok || a != x.asked {
		return x.refuse(x.asked, "this address is not offered to you")
	}
	return x.grant(x.asked)
}

// renewing or rebinding: the client uses the address. An unknown address is adopted if
// no other client has it, so that lost leases disconnect no client.
func (x exchange) renewing() Verdict {
	if a, ok := x.address(x.has); !ok || a != x.has {
		return x.deny(x.has)
	}
	return x.grant(x.has)
}

// rebooting (INIT-REBOOT): the client remembers an address.
func (x exchange) rebooting() Verdict {
	if !x.n.CIDR.Contains(x.asked) {
		return x.refuse(x.asked, "this address is of another network")
	}
	known := x.reservation().IsValid() || x.own().IsValid()
	if !known && !x.known.Complete {
		return x.silent(NotReady)
	}
	if !known && x.vm == "" {
		return x.silent(UnknownAddress)
	}
	if a, ok := x.address(x.asked); !ok || a != x.asked {
		return x.deny(x.asked)
	}
	return x.grant(x.asked)
}

// deny refuses the address that a client uses or remembers. It is silent about an
// address that we never assign and never assigned: another server may have.
func (x exchange) deny(a netip.Addr) Verdict {
	_, had := x.known.Leases.Of(x.mac)
	given := had || x.reservation().IsValid() || x.ours(a) || x.n.DHCP.Range.Contains(a) && !x.excluded(a)
	if x.n.CIDR.Contains(a) && !given {
		return x.silent(UnknownAddress)
	}
	return x.refuse(a, "this address is not yours any more")
}

// grant writes ahead: the stored expiry is one lease time after the one that the
// client gets, so that most renewals write nothing.
func (x exchange) grant(a netip.Addr) Verdict {
	v := x.silent(Granted)
	v.Address = a
	now := x.now.UTC().Truncate(time.Second)
	was, had := x.known.Leases.At(a)
	mine := had && was.MAC == x.mac
	if !mine || was.VM != x.vm || was.Expires.Before(now.Add(x.leaseTime())) {
		v.Was = was
		v.Next = network.Lease{Address: a, MAC: x.mac, VM: x.vm, Expires: now.Add(2 * x.leaseTime())}
	}
	// A client keeps its address while the store is not writable. No other client can
	// get it meanwhile, since that needs a write, too.
	v.Anyway = mine || x.has == a && !x.known.Complete
	if other, ok := x.known.Leases.Of(x.mac); ok && other.Address != a {
		v.Remove = other
	}
	v.Answer, v.LeftOut = x.answer(dhcpv4.MessageTypeAck, a)
	v.To = x.to(v.Answer)
	return v
}

// refuse sends DHCPNAK, which carries no configuration. An edge that has not read all
// leases refuses nothing, since its peer may have granted the address.
func (x exchange) refuse(a netip.Addr, why string) Verdict {
	if !x.known.Complete {
		return x.silent(NotReady)
	}
	v := x.silent(Refused)
	v.Address, v.Why = a, why
	v.Answer = x.blank(dhcpv4.MessageTypeNak)
	v.Answer.UpdateOption(dhcpv4.OptMessage(why))
	if set(x.request.GatewayIPAddr) {
		// The relay must broadcast it, since the client has no valid address.
		v.Answer.SetBroadcast()
	}
	v.To = x.to(v.Answer)
	return v
}

// decline: the client found that another host uses the address. It sends DHCPDECLINE
// before it uses the address (RFC 2131 section 3.1, step 5), when KubeVirt does not
// report the address yet. So a DECLINE for an address that KubeVirt reports for this VM
// is ignored: a MAC is easily forged, and the node would lose its address.
func (x exchange) decline() Verdict {
	was, ok := x.known.Leases.At(x.asked)
	switch {
	case !ok || was.MAC != x.mac:
		return x.silent(NotHeld)
	case x.reported == x.asked:
		v := x.silent(DeclineIgnored)
		v.Address = x.asked
		return v
	}
	v := x.silent(Declined)
	v.Address, v.Was = x.asked, was
	v.Next = network.Lease{Address: x.asked, Expires: x.now.UTC().Truncate(time.Second).Add(quarantine)}
	return v
}

// release gets no reply.
func (x exchange) release() Verdict {
	was, ok := x.known.Leases.At(x.has)
	if !ok || was.MAC != x.mac {
		return x.silent(NotHeld)
	}
	v := x.silent(Released)
	v.Address, v.Remove = x.has, was
	return v
}

// inform: the client has a static address and requests the other options.
func (x exchange) inform() Verdict {
	if !x.n.CIDR.Contains(x.has) || x.ours(x.has) {
		return x.silent(NotHeld)
	}
	v := x.silent(Informed)
	v.Answer, v.LeftOut = x.answer(dhcpv4.MessageTypeAck, netip.Addr{})
	v.To = x.to(v.Answer)
	return v
}

// answer is a message with the plan's options. A zero address: no address and no lease
// time.
func (x exchange) answer(t dhcpv4.MessageType, a netip.Addr) (*dhcpv4.DHCPv4, []uint8) {
	m := x.blank(t)
	may := offers(x.n, x.vm)
	if a.IsValid() {
		m.YourIPAddr = a.AsSlice()
		for code, value := range timed(x.leaseTime(), x.mac) {
			m.Options[code] = value
		}
		mask := dhcpv4.OptionSubnetMask.Code()
		m.Options[mask] = may[mask]
	}
	if t == dhcpv4.MessageTypeAck {
		m.ClientIPAddr = x.request.ClientIPAddr
	}
	return m, fill(m, x.request, may)
}

// blank is a message with the fields of every reply (RFC 2131 table 3, RFC 6842, RFC
// 3046 section 2.2).
func (x exchange) blank(t dhcpv4.MessageType) *dhcpv4.DHCPv4 {
	m := &dhcpv4.DHCPv4{
		OpCode: dhcpv4.OpcodeBootReply, HWType: x.request.HWType, TransactionID: x.request.TransactionID,
		Flags: x.request.Flags, GatewayIPAddr: x.request.GatewayIPAddr, ClientHWAddr: x.request.ClientHWAddr,
		Options: dhcpv4.Options{},
	}
	m.UpdateOption(dhcpv4.OptMessageType(t))
	m.UpdateOption(dhcpv4.OptServerIdentifier(x.n.DHCP.ServerID.AsSlice()))
	for _, code := range []dhcpv4.OptionCode{dhcpv4.OptionClientIdentifier, dhcpv4.OptionRelayAgentInformation} {
		if value, ok := x.request.Options[code.Code()]; ok && (code != dhcpv4.OptionRelayAgentInformation || set(m.GatewayIPAddr)) {
			m.Options[code.Code()] = value
		}
	}
	return m
}

// to is the destination of a reply: the relay, the client's address, or broadcast.
// Without a raw socket, only broadcast reaches a client without an address. A NAK is
// broadcast, too.
func (x exchange) to(m *dhcpv4.DHCPv4) netip.AddrPort {
	relay := addr(x.request.GatewayIPAddr)
	switch {
	case relay.IsValid():
		return netip.AddrPortFrom(relay, serverPort)
	case x.has.IsValid() && m.MessageType() != dhcpv4.MessageTypeNak:
		return netip.AddrPortFrom(x.has, clientPort)
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{255, 255, 255, 255}), clientPort)
}

// addr converts ip; the zero Addr stands for none and for 0.0.0.0.
func addr(ip net.IP) netip.Addr {
	a, ok := netip.AddrFromSlice(ip.To4())
	if !ok || a.IsUnspecified() {
		return netip.Addr{}
	}
	return a
}

func set(ip net.IP) bool { return addr(ip).IsValid() }
