// This file encodes and decodes the frames of DHCP clients (RFC 2131, RFC 826).

package dhcpbench

import (
	"encoding/binary"
	"net/netip"
)

// Message types (option 53).
const (
	discover, offer, request, ack, nak = 1, 2, 3, 5, 6
)

const (
	etherHeader, ipHeader, udpHeader = 14, 20, 8
	bootp                            = etherHeader + ipHeader + udpHeader
	options                          = bootp + 240
	leastFrame                       = bootp + 300
)

// everyone is the broadcast address of Ethernet.
var everyone = [6]byte{255, 255, 255, 255, 255, 255}

// A datagram is a message of a client before it is encoded. The zero address stands for none.
type datagram struct {
	mac, to      [6]byte
	xid          uint32
	kind         byte
	from, dst    netip.Addr // Of the IP header.
	ciaddr       netip.Addr
	asked, chose netip.Addr // Options 50 and 54.
	secs         uint16
}

// asked55 is the parameter request list of NetworkManager's client.
var asked55 = []byte{1, 2, 6, 12, 15, 26, 28, 121, 3, 33, 40, 41, 42, 119, 249, 252, 17}

// frame encodes a message as NetworkManager's client sends it: without the broadcast flag, with its
// MAC as client identifier. The UDP checksum is 0, which means that there is none.
func (d datagram) frame() []byte {
	b := make([]byte, options, 400)
	copy(b, d.to[:])
	copy(b[6:], d.mac[:])
	binary.BigEndian.PutUint16(b[12:], 0x0800)
	m := b[bootp:]
	m[0], m[1], m[2] = 1, 1, 6
	binary.BigEndian.PutUint32(m[4:], d.xid)
	binary.BigEndian.PutUint16(m[8:], d.secs)
	put4(m[12:], d.ciaddr)
	copy(m[28:], d.mac[:])
	copy(m[236:], []byte{99, 130, 83, 99})
	b = append(b, 53, 1, d.kind, 61, 7, 1)
	b = append(b, d.mac[:]...)
	for code, a := range map[byte]netip.Addr{50: d.asked, 54: d.chose} {
		if a.IsValid() {
			b = append(append(b, code, 4), a.AsSlice()...)
		}
	}
	b = append(b, 57, 2, 5, 220)
	b = append(append(b, 55, byte(len(asked55))), asked55...)
	b = append(b, 255)
	for len(b) < leastFrame {
		b = append(b, 0)
	}
	ip := b[etherHeader:]
	ip[0], ip[8], ip[9] = 4<<4|5, 64, 17
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	put4(ip[12:], d.from)
	put4(ip[16:], d.dst)
	binary.BigEndian.PutUint16(ip[10:], checksum(ip[:ipHeader]))
	udp := ip[ipHeader:]
	binary.BigEndian.PutUint16(udp, 68)
	binary.BigEndian.PutUint16(udp[2:], 67)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	return b
}

func put4(b []byte, a netip.Addr) {
	if a.IsValid() {
		copy(b, a.AsSlice())
	}
}

func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// A reply is what a server sent to a client.
type reply struct {
	mac, server    [6]byte // The client's, and the sender's.
	xid            uint32
	kind           byte
	yours, choseID netip.Addr // The address, and option 54.
}

// readReply decodes a frame. False: it is no reply of a DHCP server.
func readReply(b []byte) (reply, bool) {
	if len(b) < options || binary.BigEndian.Uint16(b[12:]) != 0x0800 || b[etherHeader] != 4<<4|5 || b[etherHeader+9] != 17 ||
		binary.BigEndian.Uint16(b[etherHeader+ipHeader+2:]) != 68 || b[bootp] != 2 {
		return reply{}, false
	}
	m := b[bootp:]
	r := reply{server: [6]byte(b[6:12]), mac: [6]byte(m[28:34]), xid: binary.BigEndian.Uint32(m[4:]), yours: netip.AddrFrom4([4]byte(m[16:20]))}
	for o := b[options:]; len(o) > 1 && o[0] != 255; {
		size := int(o[1])
		switch {
		case o[0] == 0:
			o = o[1:]
			continue
		case len(o) < 2+size:
			return reply{}, false
		case o[0] == 53 && size == 1:
			r.kind = o[2]
		case o[0] == 54 && size == 4:
			r.choseID = netip.AddrFrom4([4]byte(o[2:6]))
		}
		o = o[2+size:]
	}
	return r, r.kind != 0
}

// readARP returns the address that a frame asks for, and the sender. False: it asks for none.
func readARP(b []byte) (asked, by netip.Addr, from [6]byte, ok bool) {
	if len(b) < etherHeader+28 || binary.BigEndian.Uint16(b[12:]) != 0x0806 || binary.BigEndian.Uint16(b[20:]) != 1 {
		return
	}
	a := b[etherHeader:]
	return netip.AddrFrom4([4]byte(a[24:28])), netip.AddrFrom4([4]byte(a[14:18])), [6]byte(a[8:14]), true
}

// arpReply says that mac has an address.
func arpReply(mac, to [6]byte, address, by netip.Addr) []byte {
	b := append(append([]byte{}, to[:]...), mac[:]...)
	b = append(b, 8, 6, 0, 1, 8, 0, 6, 4, 0, 2)
	b = append(append(b, mac[:]...), address.AsSlice()...)
	return append(append(b, to[:]...), by.AsSlice()...)
}
