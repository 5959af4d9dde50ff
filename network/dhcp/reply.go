// This file decides the answer to one message of a client (RFC 2131 section 4.3).
// It reads no clock, no socket and no store; what must be written before the
// answer leaves is part of its verdict.

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
	// quarantine is how long an address that a client found in use is given to
	// nobody.
	quarantine = time.Hour
)

// An Outcome says in a word what was decided, for metrics and logs.
type Outcome string

// The outcomes. From Malformed on, the client hears nothing.
const (
	Offered  Outcome = "offered"
	Granted  Outcome = "granted"
	Refused  Outcome = "refused"
	Informed Outcome = "informed"
	// Malformed: no DHCP request by Ethernet, or one that lacks what its type needs.
	Malformed Outcome = "malformed"
	// Relayed by somebody whom the plan does not name.
	Relayed Outcome = "relayed"
	// OtherServer was chosen by the client.
	OtherServer Outcome = "other-server"
	// UnknownMachine: the plan answers only machines of the cluster.
	UnknownMachine Outcome = "unknown-machine"
	// UnknownClient asks for an address we know nothing of: RFC 2131 has us silent,
	// since another server may know.
	UnknownClient Outcome = "unknown-client"
	// Exhausted: there is no address for it.
	Exhausted Outcome = "exhausted"
	// KeptForMachines: it is no machine, and what is left is for those that are.
	KeptForMachines Outcome = "kept-for-machines"
	// LeftToSibling: the other edge answers (Leaves).
	LeftToSibling Outcome = "left-to-sibling"
	// NotReady: not all leases or machines are known, so nothing new is promised.
	NotReady Outcome = "not-ready"
	Declined Outcome = "declined"
	// DeclineIgnored: the machine is reported to use the address.
	DeclineIgnored Outcome = "decline-ignored"
	Released       Outcome = "released"
	// NotHeld: declines or releases what it does not have, or informs from an
	// address that is not of this network.
	NotHeld Outcome = "not-held"
)

// A Verdict is what is done about one message.
type Verdict struct {
	Outcome Outcome
	MAC     string
	Machine string
	// Address that is offered, granted, refused, declined or released.
	Address netip.Addr
	// Why it is refused, in words for the client (option 56) and the log.
	Why string
	// Next is written before the answer leaves, where Was is what is known of its
	// address (zero: nothing). A zero Next: there is nothing to write.
	Was, Next network.Lease
	// Anyway: the answer leaves though Next could not be written for now, because
	// the address is this client's already. Next is then written later.
	Anyway bool
	// Remove is deleted: what is released, or what the client had before.
	Remove network.Lease
	// Answer is sent to To. Nil: silence.
	Answer *dhcpv4.DHCPv4
	To     netip.AddrPort
	// LeftOut are options the client asked for that its packet has no room for.
	LeftOut []uint8
}

// Reply decides about one message at now. Of the network it reads CIDR, DHCP, and
// the addresses that are ours.
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
	if n.DHCP.IgnoreUnknownClients && c.machine == "" && !c.reservation().IsValid() {
		return x.silent(UnknownMachine)
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

// An exchange is one message of one client. Asked is option 50, has is ciaddr;
// zero where the client says none.
type exchange struct {
	client
	request    *dhcpv4.DHCPv4
	asked, has netip.Addr
}

func (x exchange) silent(o Outcome) Verdict {
	return Verdict{Outcome: o, MAC: x.mac, Machine: x.machine}
}

// discover offers, and writes nothing.
func (x exchange) discover() Verdict {
	if _, known := x.known.Leases.Of(x.mac); !x.known.Complete && !known {
		return x.silent(NotReady)
	}
	a, ok := x.address(x.asked)
	switch {
	case !ok && !x.room():
		return x.silent(KeptForMachines)
	case !ok:
		return x.silent(Exhausted)
	}
	v := x.silent(Offered)
	v.Address = a
	v.Answer, v.LeftOut = x.answer(dhcpv4.MessageTypeOffer, a)
	v.To = x.to(v.Answer)
	return v
}

// requested tells the four states of RFC 2131 section 4.3.2 apart.
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

// selecting: the client takes our offer.
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

// renewing, or rebinding: the client uses the address. One that we know nothing
// of is adopted where nobody else has it, so that lost leases cut off nobody.
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
	if !known && x.machine == "" {
		return x.silent(UnknownClient)
	}
	if a, ok := x.address(x.asked); !ok || a != x.asked {
		return x.deny(x.asked)
	}
	return x.grant(x.asked)
}

// deny refuses what a client uses or remembers. It is silent about an address of
// this network that we would not give and have not given: another server may have.
func (x exchange) deny(a netip.Addr) Verdict {
	_, had := x.known.Leases.Of(x.mac)
	given := had || x.reservation().IsValid() || x.ours(a) || x.n.DHCP.Range.Contains(a) && !x.excluded(a)
	if x.n.CIDR.Contains(a) && !given {
		return x.silent(UnknownClient)
	}
	return x.refuse(a, "this address is not yours any more")
}

// grant writes ahead: the lease as written ends a lease time after what the client
// is told, so that most renewals write nothing.
func (x exchange) grant(a netip.Addr) Verdict {
	v := x.silent(Granted)
	v.Address = a
	now := x.now.UTC().Truncate(time.Second)
	was, had := x.known.Leases.At(a)
	mine := had && was.MAC == x.mac
	if !mine || was.Machine != x.machine || was.Expires.Before(now.Add(x.leaseTime())) {
		v.Was = was
		v.Next = network.Lease{Address: a, MAC: x.mac, Machine: x.machine, Expires: now.Add(2 * x.leaseTime())}
	}
	// What a client has already it keeps while nothing can be written: nobody else
	// is given it meanwhile, since that would have to be written too.
	v.Anyway = mine || x.has == a && !x.known.Complete
	if other, ok := x.known.Leases.Of(x.mac); ok && other.Address != a {
		v.Remove = other
	}
	v.Answer, v.LeftOut = x.answer(dhcpv4.MessageTypeAck, a)
	v.To = x.to(v.Answer)
	return v
}

// refuse sends DHCPNAK, which carries no configuration. Who does not know every
// lease refuses nobody: the other edge may have granted it.
func (x exchange) refuse(a netip.Addr, why string) Verdict {
	if !x.known.Complete {
		return x.silent(NotReady)
	}
	v := x.silent(Refused)
	v.Address, v.Why = a, why
	v.Answer = x.blank(dhcpv4.MessageTypeNak)
	v.Answer.UpdateOption(dhcpv4.OptMessage(why))
	if set(x.request.GatewayIPAddr) {
		// The relay must broadcast it: the client has no address that works.
		v.Answer.SetBroadcast()
	}
	v.To = x.to(v.Answer)
	return v
}

// decline: the client found that somebody else uses the address we gave it. It
// says so before it uses the address (RFC 2131 section 3.1, step 5), and then
// KubeVirt does not report the address of it. So nobody is believed who declines
// what this very machine is reported to have: a MAC is easily forged, and the
// machine would lose a node's address at its next renewal.
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

// release is never answered.
func (x exchange) release() Verdict {
	was, ok := x.known.Leases.At(x.has)
	if !ok || was.MAC != x.mac {
		return x.silent(NotHeld)
	}
	v := x.silent(Released)
	v.Address, v.Remove = x.has, was
	return v
}

// inform: the client has an address by other means and asks for the rest.
func (x exchange) inform() Verdict {
	if !x.n.CIDR.Contains(x.has) || x.ours(x.has) {
		return x.silent(NotHeld)
	}
	v := x.silent(Informed)
	v.Answer, v.LeftOut = x.answer(dhcpv4.MessageTypeAck, netip.Addr{})
	v.To = x.to(v.Answer)
	return v
}

// answer is a message with the plan's options. A zero address: none is given, and
// no time for one.
func (x exchange) answer(t dhcpv4.MessageType, a netip.Addr) (*dhcpv4.DHCPv4, []uint8) {
	m := x.blank(t)
	may := offers(x.n, x.machine)
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

// blank is a message with what every one carries (RFC 2131 table 3, RFC 6842,
// RFC 3046 section 2.2).
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

// to is where an answer goes: to the relay, to the address the client uses, or to
// everybody, since a client without an address can be reached only so without a
// raw socket. A refusal is for everybody too.
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

// addr is the zero Addr for none and for 0.0.0.0.
func addr(ip net.IP) netip.Addr {
	a, ok := netip.AddrFromSlice(ip.To4())
	if !ok || a.IsUnspecified() {
		return netip.Addr{}
	}
	return a
}

func set(ip net.IP) bool { return addr(ip).IsValid() }
