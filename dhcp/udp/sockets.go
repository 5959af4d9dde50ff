// Package udp receives and sends packets on the UDP sockets of a DHCP server. It does not parse messages.
package udp

import (
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/net/bpf"
	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

// largest is the size of the largest message in bytes. A longer one is truncated.
const largest = 2048

// Sockets are the UDP sockets of a server. Messages that wait in one socket do not delay the others.
type Sockets struct {
	direct    *net.UDPConn
	broadcast []*net.UDPConn
}

// New prepares sockets that the caller bound to port 67 and to the network's device.
//
// direct is bound to the service VIP: it receives what is sent to that address, and sends replies to clients with an
// address. The broadcast sockets are bound to no address; their number is a power of two. Each receives the
// broadcasts of a part of the clients, so together they buffer more. The first one sends the replies that are
// broadcast.
func New(direct *net.UDPConn, broadcast ...*net.UDPConn) (Sockets, error) {
	s := Sockets{direct, broadcast}
	if bits.OnesCount(uint(len(broadcast))) != 1 {
		return s, fmt.Errorf("%d sockets for broadcasts: not a power of two", len(broadcast))
	}
	for _, c := range s.all() {
		if err := ipv4.NewPacketConn(c).SetControlMessage(ipv4.FlagDst, true); err != nil {
			return s, fmt.Errorf("receive destinations: %w", err)
		}
	}
	for i, c := range broadcast {
		filter, err := bpf.Assemble(share(i, len(broadcast)))
		if err != nil {
			return s, fmt.Errorf("filter of socket %d: %w", i, err)
		}
		if err := ipv4.NewPacketConn(c).SetBPF(filter); err != nil {
			return s, fmt.Errorf("filter of socket %d: %w", i, err)
		}
	}
	return s, nil
}

// Close closes all sockets.
func (s Sockets) Close() {
	for _, c := range s.all() {
		_ = c.Close()
	}
}

func (s Sockets) all() []*net.UDPConn { return append([]*net.UDPConn{s.direct}, s.broadcast...) }

// share returns a filter for the messages of clients for which the last byte of the MAC, modulo parameter all, is i.
// Socket 0 also gets all messages that are too short to have a MAC.
func share(i, all int) []bpf.Instruction {
	const (
		udpHeader = 8
		lastOfMAC = udpHeader + 28 + 5 // Of chaddr (RFC 2131 section 2)
		whole     = 1 << 18
	)
	short := uint32(0)
	if i == 0 {
		short = whole
	}
	return []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtLen},
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: lastOfMAC, SkipTrue: 1},
		bpf.RetConstant{Val: short},
		bpf.LoadAbsolute{Off: lastOfMAC, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: uint32(all - 1)},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(i), SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.RetConstant{Val: whole},
	}
}

// A Packet is what a socket received.
type Packet struct {
	Data []byte
	From netip.AddrPort
	// To is the destination address of the packet.
	To netip.Addr
}

// A Receiver reads one socket.
type Receiver struct {
	conn        *net.UDPConn
	data, about []byte
}

// Receivers returns a receiver for each socket.
func (s Sockets) Receivers() []Receiver {
	var out []Receiver
	for _, c := range s.all() {
		out = append(out, Receiver{conn: c, data: make([]byte, largest), about: make([]byte, unix.CmsgSpace(unix.SizeofInet4Pktinfo))})
	}
	return out
}

// Next waits for the next packet. Its data is a copy.
func (r Receiver) Next() (Packet, error) {
	size, about, _, from, err := r.conn.ReadMsgUDPAddrPort(r.data, r.about)
	if err != nil {
		return Packet{}, err
	}
	p := Packet{Data: append([]byte(nil), r.data[:size]...), From: netip.AddrPortFrom(from.Addr().Unmap(), from.Port())}
	// The control message ends with the destination: in_pktinfo has the interface (4 bytes), the
	// local address (4) and the destination (4), after a header.
	if at := unix.CmsgLen(unix.SizeofInet4Pktinfo); about >= at {
		p.To = netip.AddrFrom4([4]byte(r.about[at-4 : at]))
	}
	return p, nil
}

// A Sender sends on one socket, from the service VIP. With the next-hop VIP as source, the kernel's ARP request
// would move VMs to this edge.
type Sender struct {
	raw syscall.RawConn
	// about is the control message with the source address, for a socket that is not bound to an address.
	about []byte
}

// Senders returns three senders: of replies to an address, of broadcasts, and of replies that do not wait for an ARP
// request.
func (s Sockets) Senders() (direct, broadcast, atOnce Sender, err error) {
	if direct.raw, err = s.direct.SyscallConn(); err != nil {
		return direct, broadcast, atOnce, err
	}
	vip := s.direct.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
	broadcast.about = unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: vip.As4()})
	if broadcast.raw, err = s.broadcast[0].SyscallConn(); err != nil {
		return direct, broadcast, atOnce, err
	}
	atOnce.about = broadcast.about
	atOnce.raw, err = s.broadcast[len(s.broadcast)-1].SyscallConn()
	return direct, broadcast, atOnce, err
}

// Send sends data. It never waits: while the buffer of the socket is full, it returns EAGAIN.
func (s Sender) Send(data []byte, to netip.AddrPort) error {
	name := &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	var sent error
	if err := s.raw.Write(func(fd uintptr) bool {
		sent = unix.Sendmsg(int(fd), data, s.about, name, unix.MSG_DONTWAIT)
		return true
	}); err != nil {
		return err
	}
	return sent
}
