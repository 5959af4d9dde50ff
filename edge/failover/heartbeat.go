// This file sends and receives heartbeats, on the VLAN and on the cluster network. It drops
// what cannot come from the peer, and decides nothing else.

package failover

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/edge/wire"
)

// A peering holds the sockets to the peer.
type peering struct {
	events chan Event
	// conns are the open sockets, one for each Path. Nil: not open.
	conns [2]*net.UDPConn
	// cluster is the address to which the socket on the cluster network is connected. It changes with the peer's pod.
	cluster netip.Addr
}

func (p *peering) close() {
	for i, c := range p.conns {
		if c != nil {
			_ = c.Close()
			p.conns[i] = nil
		}
	}
}

// openVLAN opens the socket to the peer's edge address, unless it is open.
func (p *peering) openVLAN(ctx context.Context, device string, own, peer netip.Addr) error {
	if p.conns[VLAN] != nil {
		return nil
	}
	conn, err := connect(ctx, device, own, peer)
	if err != nil {
		return err
	}
	p.conns[VLAN] = conn
	go receive(conn, p.events)
	return nil
}

// openCluster opens the socket to the pod at peer, and closes a socket to another pod. If peer is zero, the address is
// unknown, and no socket is opened.
func (p *peering) openCluster(ctx context.Context, device string, own, peer netip.Addr) error {
	if c := p.conns[ClusterNetwork]; c != nil && p.cluster != peer {
		_ = c.Close()
		p.conns[ClusterNetwork] = nil
	}
	if p.conns[ClusterNetwork] != nil || !peer.IsValid() {
		return nil
	}
	conn, err := dial(ctx, device, own, peer, nil)
	if err != nil {
		return err
	}
	p.conns[ClusterNetwork], p.cluster = conn, peer
	go receiveCluster(conn, peer, p.events)
	return nil
}

// send sends m over every open path. It returns an error for each path that failed.
func (p *peering) send(m Message) (failed [2]error) {
	b := m.bytes()
	return [2]error{p.write(VLAN, b), p.write(ClusterNetwork, b)}
}

// write sends b if the path is open.
func (p *peering) write(path Path, b []byte) error {
	c := p.conns[path]
	if c == nil {
		return nil
	}
	// The kernel reports a refusal of the last message once, to the next write or read.
	_, err := c.Write(b)
	if errors.Is(err, syscall.ECONNREFUSED) {
		if path == VLAN {
			offer(p.events, Event{Kind: Refused})
		}
		_, err = c.Write(b)
	}
	return unlessSilent(err)
}

// unlessSilent returns err, or nil if no host has the peer's address or no process listens there. A silent peer is not
// a failure to send.
func unlessSilent(err error) error {
	if errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil
	}
	return err
}

// answer sends x over the VLAN and, on the cluster network, to the pod at x.Address, which is not the peer.
func (p *peering) answer(x Answer) error {
	b := x.Message.bytes()
	err := p.write(VLAN, b)
	c := p.conns[ClusterNetwork]
	if c == nil || !x.Address.Is4() {
		return err
	}
	// The socket is connected to the peer, but Linux still sends to another address that sendto names.
	to := &unix.SockaddrInet4{Port: wire.HeartbeatPort, Addr: x.Address.As4()}
	return errors.Join(err, unlessSilent(socket.DescriptorOf(c, func(fd int) error { return unix.Sendto(fd, b, unix.MSG_DONTWAIT, to) })))
}

// offer queues e. If the queue is full, it drops e.
func offer(events chan<- Event, e Event) {
	select {
	case events <- e:
	default:
	}
}

// hops is the time to live of a packet that no router forwarded (RFC 5082).
const hops = 255

// onLink makes the socket send packets with a time to live of hops, and report the time to live of received packets.
func onLink(fd int) error {
	return errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TTL, hops), unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVTTL, 1))
}

// connect opens the socket of the VLAN.
func connect(ctx context.Context, device string, own, peer netip.Addr) (*net.UDPConn, error) {
	return dial(ctx, device, own, peer, onLink)
}

// dial opens a socket for heartbeats. The kernel drops packets that do not arrive on device or do not come from the
// peer's address and port. If function set is not nil, it configures the socket before the socket is bound.
func dial(ctx context.Context, device string, own, peer netip.Addr, set func(fd int) error) (*net.UDPConn, error) {
	d := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(own, wire.HeartbeatPort))}
	d.Control = func(network, address string, c syscall.RawConn) error {
		if err := socket.Control(device)(network, address, c); err != nil || set == nil {
			return err
		}
		return socket.Descriptor(c, set)
	}
	c, err := d.DialContext(ctx, "udp4", netip.AddrPortFrom(peer, wire.HeartbeatPort).String())
	if err != nil {
		return nil, fmt.Errorf("heartbeats of %s: %w", own, err)
	}
	return c.(*net.UDPConn), nil
}

// receive sends the peer's messages and refusals on the VLAN to events until conn is closed. It drops packets that a
// router forwarded.
func receive(conn *net.UDPConn, events chan<- Event) {
	b, about := make([]byte, maxMessage+1), make([]byte, 64)
	for {
		n, m, _, _, err := conn.ReadMsgUDP(b, about)
		e := Event{Kind: Heard, Path: VLAN}
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case errors.Is(err, syscall.ECONNREFUSED):
			e.Kind = Refused
		case err != nil:
			continue // For example, no host answers for the address.
		case ttl(about[:m]) != hops:
			continue
		default:
			if e.Message, err = readMessage(b[:n]); err != nil {
				continue
			}
		}
		offer(events, e)
	}
}

// receiveCluster sends the messages of the pod at peer to events until conn is closed. Pod networks are routed, so it
// does not check the time to live. It drops messages that do not name peer as the sender's address.
func receiveCluster(conn *net.UDPConn, peer netip.Addr, events chan<- Event) {
	b := make([]byte, maxMessage+1)
	for {
		n, err := conn.Read(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // A refusal may come from another pod that has the address now.
		}
		if m, err := readMessage(b[:n]); err == nil && m.Address == peer {
			offer(events, Event{Kind: Heard, Path: ClusterNetwork, Message: m})
		}
	}
}

// ttl returns the time to live from the control messages in about, or 0 if they have none.
func ttl(about []byte) int {
	all, err := unix.ParseSocketControlMessage(about)
	if err != nil {
		return 0
	}
	for _, c := range all {
		if c.Header.Level == unix.IPPROTO_IP && c.Header.Type == unix.IP_TTL && len(c.Data) >= 4 {
			return int(binary.NativeEndian.Uint32(c.Data))
		}
	}
	return 0
}
