// Package reply decides the reply to one message of a client (RFC 2131 section 4.3), what must be written
// first, and which edge sends it. It does no I/O, and reads no clock.
package reply

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

const serverPort, clientPort = 67, 68

// Decide decides about one message at now. Of n, it reads the CIDR, the DHCP settings and the edges'
// addresses.
func Decide(n network.Network, k Known, request *dhcpv4.DHCPv4, now time.Time) Verdict {
	if request.OpCode != dhcpv4.OpcodeBootRequest || request.HWType != iana.HWTypeEthernet ||
		len(request.ClientHWAddr) != 6 || request.ClientHWAddr[0]&1 != 0 ||
		bytes.Equal(request.ClientHWAddr, make([]byte, 6)) {
		return Verdict{Outcome: Malformed}
	}
	if request.MessageType() != dhcpv4.MessageTypeDiscover {
		k.InUse = nil
	}
	c := newClient(n, k, request.ClientHWAddr.String(), now)
	x := exchange{client: c, request: request, asked: Addr(request.RequestedIPAddress()), has: Addr(request.ClientIPAddr)}
	if relay := Addr(request.GatewayIPAddr); relay.IsValid() && !slices.Contains(n.DHCP.Relays, relay) {
		return x.silent(Relayed)
	}
	if server := Addr(request.ServerIdentifier()); server.IsValid() && server != n.DHCP.ServerID {
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
		return x.silent(ReleaseIgnored)
	case dhcpv4.MessageTypeInform:
		return x.inform()
	}
	return x.silent(Malformed)
}

// An exchange is one message of one client. asked is option 50, and has is ciaddr. Each is zero if the client
// did not send it.
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
	if !x.known.Fresh {
		return x.silent(NotFresh)
	}
	a, ok := x.offerable()
	switch {
	case !ok && !x.room():
		return x.silent(ReservedForVMs)
	case !ok:
		return x.silent(Exhausted)
	}
	v := x.silent(Offered)
	v.Address, v.Ask = a, a != x.own() && a != x.reservation()
	v.Answer, v.LeftOut = x.answer(dhcpv4.MessageTypeOffer, a)
	v.To = x.to(v.Answer)
	return v
}

// offerable returns the address for a DISCOVER. Addresses that other hosts seem to use come last.
func (x exchange) offerable() (netip.Addr, bool) {
	inUse, avoided := x.known.InUse, false
	if inUse == nil {
		return x.address(x.asked)
	}
	x.known.InUse = func(a netip.Addr) (string, bool) {
		mac, spared := inUse(a)
		avoided = avoided || mac != "" && !spared
		return mac, spared
	}
	a, ok := x.address(x.asked)
	if !ok && avoided {
		x.scarce = true
		a, ok = x.address(x.asked)
	}
	return a, ok
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

// selecting decides about a client that accepts this server's offer. The lease is written even if it is
// known: the peer may have ended it, and assigned the address to another client.
func (x exchange) selecting() Verdict {
	if !x.asked.IsValid() {
		return x.silent(Malformed)
	}
	if _, known := x.known.Leases.Of(x.mac); !x.known.Complete && !known {
		return x.silent(NotReady)
	}
	// A client that overheard an offer to a VM must not take the address from the VM.
	_, _, vms := x.known.VMs.VM(x.known.Offered(x.asked))
	taken := x.vm == "" && vms && !x.holds(x.asked)
	if a, ok := x.address(x.asked); !ok || a != x.asked || taken {
		return x.refuse(x.asked, "this address is not offered to you")
	}
	return x.grant(x.asked).written(x)
}

// renewing decides about a client that renews or rebinds the address that it uses. If no client has a lease
// on it, this client gets one, so that lost leases do not disconnect clients. A VM that renews its lease uses the
// address, whatever its guest agent reports.
func (x exchange) renewing() Verdict {
	if x.vm != "" && x.holds(x.has) {
		x.reported = x.has
	}
	if a, ok := x.address(x.has); !ok || a != x.has {
		return x.deny(x.has)
	}
	return x.grant(x.has)
}

// rebooting decides about a client that remembers an address (INIT-REBOOT). If edges share the store, a write
// proves that the lease still exists. If its peer does not serve (Defers), an edge that is cut off grants the
// leases that it knows.
func (x exchange) rebooting() Verdict {
	if !x.n.CIDR.Contains(x.asked) {
		return x.deny(x.asked)
	}
	known := x.reservation().IsValid() || x.own().IsValid()
	if !known && !x.known.Complete {
		return x.silent(NotReady)
	}
	if !known && x.vm == "" {
		v := x.silent(UnknownAddress)
		// The peer may have assigned the address a moment ago.
		v.Address, v.Confirm = x.asked, x.n.DHCP.Range.Contains(x.asked)
		return v
	}
	if a, ok := x.address(x.asked); !ok || a != x.asked {
		return x.deny(x.asked)
	}
	v := x.grant(x.asked)
	if x.known.Shared {
		// The lease may have ended at the peer. Only the store knows.
		unwritten := v.Anyway
		v = v.written(x)
		v.Anyway = unwritten
	}
	return v
}

// deny refuses the address that a client uses or remembers. If another server may have assigned the address,
// there is no reply. There is none either if KubeVirt reports the address for this VM, and no other host has
// it: another server may still renew it.
func (x exchange) deny(a netip.Addr) Verdict {
	inside := x.n.CIDR.Contains(a)
	_, had := x.known.Leases.Of(x.mac)
	given := had || x.reservation().IsValid() || x.ours(a) || x.n.DHCP.Range.Contains(a) && !x.excluded(a)
	uses := a == x.reported && !x.ours(a) && x.available(a)
	switch {
	case uses || inside && !given:
		return x.silent(UnknownAddress)
	case !inside:
		return x.refuse(a, "this address belongs to another network")
	}
	return x.refuse(a, "this address is no longer yours")
}

// grant returns a verdict that grants a. A lease is written ahead: the stored expiry is one lease time
// after the client's, so that most renewals write nothing. If a write fails, the reply promises at most
// what the stored lease allows (network.Lease.Promised).
func (x exchange) grant(a netip.Addr) Verdict {
	v := x.silent(Granted)
	v.Address = a
	now := x.now.UTC().Truncate(time.Second)
	was, had := x.known.Leases.At(a)
	mine := had && was.MAC == x.mac
	if !mine || was.VM != x.vm || was.Expires.Before(now.Add(x.leaseTime())) {
		v = v.written(x)
	}
	if until := was.Promised(x.leaseTime()); mine && until.After(x.now) {
		v.Anyway = until
	}
	if other, ok := x.known.Leases.Of(x.mac); ok && other.Address != a {
		v.Remove = other
	}
	v.Answer, v.LeftOut = x.answer(dhcpv4.MessageTypeAck, a)
	v.To = x.to(v.Answer)
	return v
}

// written makes v a grant that needs a write, even if the lease is known.
func (v Verdict) written(x exchange) Verdict {
	v.Was, _ = x.known.Leases.At(v.Address)
	v.Next = network.Lease{Address: v.Address, MAC: x.mac, VM: x.vm, Expires: x.now.UTC().Truncate(time.Second).Add(2 * x.leaseTime())}
	// A peer that is cut off from the store may have promised all that the previous lease allows
	// (network.Lease.Promised). So the new expiry is not earlier, even with a shorter lease time.
	if v.Was.MAC == x.mac {
		shorter := max(0, time.Duration(v.Was.LeaseTime)-x.leaseTime())
		if until := v.Was.Expires.Add(shorter); until.After(v.Next.Expires) {
			v.Next.Expires = until
		}
	}
	v.Anyway = time.Time{}
	return v
}

// refuse returns a verdict with a DHCPNAK. An edge that has not read all leases, or not recently, sends no
// DHCPNAK, since its peer may have granted the address. Before an address of the network is refused, its
// leases are read again.
func (x exchange) refuse(a netip.Addr, why string) Verdict {
	switch {
	case !x.known.Complete:
		return x.silent(NotReady)
	case !x.known.Fresh:
		return x.silent(NotFresh)
	}
	v := x.silent(Refused)
	v.Address, v.Why, v.Confirm = a, why, x.n.CIDR.Contains(a)
	v.Answer = x.blank(dhcpv4.MessageTypeNak)
	v.Answer.UpdateOption(dhcpv4.OptMessage(why))
	if set(x.request.GatewayIPAddr) {
		// The relay must broadcast the NAK, since the client has no valid address.
		v.Answer.SetBroadcast()
	}
	v.To = x.to(v.Answer)
	return v
}

// decline decides about a client that found another host with the address. A client checks that before it
// uses the address (RFC 2131 section 3.1, step 5), so before KubeVirt reports it. A DECLINE for an address
// that KubeVirt reports for this VM is ignored: a MAC is easily forged, and the node would lose its
// address.
func (x exchange) decline() Verdict {
	was, ok := x.known.Leases.At(x.asked)
	switch {
	case !ok || was.MAC != x.mac:
		return x.silent(NotHeld)
	case !x.known.Fresh:
		return x.silent(NotFresh)
	case x.reported == x.asked:
		v := x.silent(DeclineIgnored)
		v.Address = x.asked
		return v
	}
	v := x.silent(Declined)
	v.Address, v.Was = x.asked, was
	v.Next = network.Lease{Address: x.asked, Expires: x.now.UTC().Truncate(time.Second).Add(network.Quarantine)}
	return v
}

// inform decides about a client that has a static address, and requests the other options.
func (x exchange) inform() Verdict {
	if !x.n.CIDR.Contains(x.has) || x.ours(x.has) {
		return x.silent(NotHeld)
	}
	v := x.silent(Informed)
	v.Answer, v.LeftOut = x.answer(dhcpv4.MessageTypeAck, netip.Addr{})
	v.To = x.to(v.Answer)
	return v
}

// answer returns a message with the plan's options, and the codes of those that do not fit. If a is
// zero, the message has no address and no lease time.
func (x exchange) answer(t dhcpv4.MessageType, a netip.Addr) (*dhcpv4.DHCPv4, []uint8) {
	m := x.blank(t)
	may := offersTo(x.n, x.vm, x.request)
	if a.IsValid() {
		m.YourIPAddr = a.AsSlice()
		PutTimes(m.Options, x.leaseTime(), x.mac)
		m.Options[dhcpv4.OptionSubnetMask.Code()] = mask(x.n.CIDR)
	}
	if t == dhcpv4.MessageTypeAck {
		m.ClientIPAddr = x.request.ClientIPAddr
	}
	return m, fill(m, x.request, may)
}

// blank returns a message with the fields of every reply (RFC 2131 table 3, RFC 6842, RFC
// 3046 section 2.2).
func (x exchange) blank(t dhcpv4.MessageType) *dhcpv4.DHCPv4 {
	m := &dhcpv4.DHCPv4{
		OpCode: dhcpv4.OpcodeBootReply, HWType: x.request.HWType, TransactionID: x.request.TransactionID,
		Flags: x.request.Flags, GatewayIPAddr: x.request.GatewayIPAddr, ClientHWAddr: x.request.ClientHWAddr,
		Options: make(dhcpv4.Options, mostOffers+8),
	}
	m.Options[dhcpv4.OptionDHCPMessageType.Code()] = []byte{byte(t)}
	m.Options[dhcpv4.OptionServerIdentifier.Code()] = x.n.DHCP.ServerID.AsSlice()
	for _, code := range []dhcpv4.OptionCode{dhcpv4.OptionClientIdentifier, dhcpv4.OptionRelayAgentInformation} {
		if value, ok := x.request.Options[code.Code()]; ok && (code != dhcpv4.OptionRelayAgentInformation || set(m.GatewayIPAddr)) {
			m.Options[code.Code()] = value
		}
	}
	return m
}

// to returns the destination of a reply: the relay if there is one, else the client's address, else
// broadcast. Without a relay, each NAK is broadcast. Without a raw socket, only broadcast reaches a
// client without an address. Only a client that renews, rebinds or sends INFORM has an address: ciaddr
// in other messages, where RFC 2131 table 5 requires zero, is ignored.
func (x exchange) to(m *dhcpv4.DHCPv4) netip.AddrPort {
	relay, kind := Addr(x.request.GatewayIPAddr), x.request.MessageType()
	uses := kind == dhcpv4.MessageTypeInform || kind == dhcpv4.MessageTypeRequest && !x.request.Options.Has(dhcpv4.OptionServerIdentifier)
	switch {
	case relay.IsValid():
		return netip.AddrPortFrom(relay, serverPort)
	case uses && x.has.IsValid() && m.MessageType() != dhcpv4.MessageTypeNak:
		return netip.AddrPortFrom(x.has, clientPort)
	}
	return netip.AddrPortFrom(Everyone, clientPort)
}

// Addr converts ip. It returns the zero Addr if ip is not an IPv4 address, or is 0.0.0.0.
func Addr(ip net.IP) netip.Addr {
	a, ok := netip.AddrFromSlice(ip.To4())
	if !ok || a.IsUnspecified() {
		return netip.Addr{}
	}
	return a
}

// Everyone is the address of a broadcast on the link.
var Everyone = netip.AddrFrom4([4]byte{255, 255, 255, 255})

func set(ip net.IP) bool { return Addr(ip).IsValid() }
