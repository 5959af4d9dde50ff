// This file makes packets with any source address.

package hostile

import (
	"encoding/binary"
	"net"
	"net/netip"
)

// Ethernet types.
const (
	IPv4 = 0x0800
	IPv6 = 0x86dd
	ARP  = 0x0806
)

// IP protocols.
const (
	icmp4 = 1
	tcp   = 6
	udp   = 17
	icmp6 = 58
)

// Echo returns an ICMP echo request of either family.
func Echo(from, to netip.Addr, payload string) []byte {
	body := append([]byte{8, 0, 0, 0, 0, 1, 0, 1}, payload...)
	if from.Is6() {
		body[0] = 128
		return ip(icmp6, from, to, body, 2)
	}
	return ip(icmp4, from, to, body, 2)
}

// SYN returns the first segment of a TCP connection. It acknowledges this number, which the
// reset of a closed port has as its sequence number.
func SYN(from, to netip.AddrPort, acknowledged uint32) []byte {
	const syn, ack = 2, 16
	body := make([]byte, 20)
	binary.BigEndian.PutUint16(body, from.Port())
	binary.BigEndian.PutUint16(body[2:], to.Port())
	binary.BigEndian.PutUint32(body[8:], acknowledged)
	body[12], body[13] = 5<<4, syn
	if acknowledged != 0 {
		body[13] = ack
	}
	return ip(tcp, from.Addr(), to.Addr(), body, 16)
}

// Datagram returns a UDP datagram of either family.
func Datagram(from, to netip.AddrPort, payload []byte) []byte {
	body := binary.BigEndian.AppendUint16(nil, from.Port())
	body = binary.BigEndian.AppendUint16(body, to.Port())
	body = binary.BigEndian.AppendUint16(body, uint16(8+len(payload)))
	return ip(udp, from.Addr(), to.Addr(), append(append(body, 0, 0), payload...), 6)
}

// Advertisement returns an IPv6 router advertisement: from is a link-local address and the
// default router for half an hour. Hosts may make addresses in prefix, which has 64 bits.
func Advertisement(from netip.Addr, mac net.HardwareAddr, prefix netip.Prefix) []byte {
	const half = 1800
	body := []byte{134, 0, 0, 0, 64, 0}
	body = binary.BigEndian.AppendUint16(body, half)
	body = append(body, make([]byte, 8)...) // Reachable time and retransmission timer: not set.
	body = append(append(body, 1, 1), mac...)
	body = append(body, 3, 4, byte(prefix.Bits()), 0xc0) // On the link, for addresses.
	body = binary.BigEndian.AppendUint32(body, half)
	body = binary.BigEndian.AppendUint32(body, half)
	body = append(append(body, 0, 0, 0, 0), prefix.Addr().AsSlice()...)
	return ip(icmp6, from, netip.MustParseAddr("ff02::1"), body, 2)
}

// Redirect returns an ICMP redirect: router says that hosts reach target through next.
func Redirect(router, to, target, next netip.Addr) []byte {
	body := append([]byte{5, 1, 0, 0}, next.AsSlice()...)
	return ip(icmp4, router, to, append(body, echoReply(to, target)...), 2)
}

// TooBig returns an ICMP error that says that packets to target may have at most mtu bytes.
func TooBig(from, to, target netip.Addr, mtu uint16) []byte {
	body := binary.BigEndian.AppendUint16([]byte{3, 4, 0, 0, 0, 0}, mtu)
	return ip(icmp4, from, to, append(body, echoReply(to, target)...), 2)
}

// echoReply returns the packet that an ICMP error is about: no socket sent it, so no socket can
// know that it is forged.
func echoReply(from, to netip.Addr) []byte {
	return ip(icmp4, from, to, []byte{0, 0, 0, 0, 0, 0, 0, 0}, 2)
}

// ARPReply returns an ARP packet in which mac says that it has an address.
func ARPReply(mac net.HardwareAddr, address netip.Addr, to net.HardwareAddr, asks netip.Addr) []byte {
	out := append([]byte{0, 1, 8, 0, 6, 4, 0, 2}, mac...)
	out = append(append(out, address.AsSlice()...), to...)
	return append(out, asks.AsSlice()...)
}

// ip returns a packet of the family of its addresses. The checksum of body is at an offset.
func ip(protocol byte, from, to netip.Addr, body []byte, checksumAt int) []byte {
	var pseudo []byte
	if protocol != icmp4 {
		pseudo = append(append(pseudo, from.AsSlice()...), to.AsSlice()...)
		pseudo = binary.BigEndian.AppendUint32(pseudo, uint32(len(body)))
		pseudo = append(pseudo, 0, 0, 0, protocol)
	}
	binary.BigEndian.PutUint16(body[checksumAt:], checksum(append(pseudo, body...)))
	if from.Is6() {
		header := binary.BigEndian.AppendUint16([]byte{6 << 4, 0, 0, 0}, uint16(len(body)))
		header = append(header, protocol, 255) // The hop limit that router advertisements need.
		return append(append(append(header, from.AsSlice()...), to.AsSlice()...), body...)
	}
	header := binary.BigEndian.AppendUint16([]byte{4<<4 | 5, 0}, uint16(20+len(body)))
	header = append(header, 0, 0, 0, 0, 64, protocol, 0, 0)
	header = append(append(header, from.AsSlice()...), to.AsSlice()...)
	binary.BigEndian.PutUint16(header[10:], checksum(header))
	return append(header, body...)
}

// checksum is the Internet checksum (RFC 1071).
func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i, x := range b {
		sum += uint32(x) << (8 * (1 - i%2))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// Source and Destination are the addresses of an IP packet, zero for another packet.
func Source(packet []byte) netip.Addr { return address(packet, 12, 8) }

// Destination is like Source.
func Destination(packet []byte) netip.Addr { return address(packet, 16, 24) }

func address(packet []byte, at4, at6 int) netip.Addr {
	var raw []byte
	switch {
	case len(packet) >= 40 && packet[0]>>4 == 6:
		raw = packet[at6 : at6+16]
	case len(packet) >= 20 && packet[0]>>4 == 4:
		raw = packet[at4 : at4+4]
	}
	a, _ := netip.AddrFromSlice(raw)
	return a
}
