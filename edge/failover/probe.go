// This file probes the kernels of VMs and of the peer. It counts the answers and decides
// nothing.

package failover

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/socket"
)

const (
	// closedPort is a UDP port at which no process of an edge or a VM listens (discard). A
	// kernel answers with an ICMP error, as a firewall that rejects does.
	closedPort = 9
	// rounds is for how many rounds of probes an answer to a probe is accepted. Later answers are ignored.
	rounds = 4
	// answersAtOnce is how many answers are read in one Interval. The rest waits in the socket's queue.
	answersAtOnce = 64
)

// A prober sends datagrams to closed ports. One socket is enough: an ICMP error carries the
// datagram that it answers.
type prober struct {
	conn  *net.UDPConn
	meter *device.Meter
	// Field asked has the number of the last probe of each VM.
	asked map[netip.Addr]int
	// round is the number of the last probe. The first one has number 1.
	round int
	// Fields answers and peerAnswers are the counts for Observation.
	answers, peerAnswers uint64
	// looked is when the neighbors were read last.
	looked time.Time
}

// newProber returns a prober that sends from address own through the named device.
func newProber(ctx context.Context, name string, own netip.Addr) (*prober, error) {
	conn, err := socket.ListenPacket(ctx, name, netip.AddrPortFrom(own, 0))
	if err != nil {
		return nil, fmt.Errorf("probes of %s: %w", own, err)
	}
	p := &prober{conn: conn, asked: map[netip.Addr]int{}}
	err = socket.DescriptorOf(conn, func(fd int) error {
		// Datagrams stay on the link, whatever the routes are.
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DONTROUTE, 1); err != nil {
			return err
		}
		return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVERR, 1)
	})
	if err == nil {
		p.meter, err = device.OpenMeter(name)
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("probes of %s: %w", own, err)
	}
	return p, nil
}

func (p *prober) close() {
	_ = p.conn.Close()
	p.meter.Close()
}

// probe sends a datagram to each of vms, and to peer unless it is invalid.
func (p *prober) probe(peer netip.Addr, vms []netip.Addr) {
	p.round++
	for _, a := range vms {
		p.asked[a] = p.round
		p.send(a)
	}
	for a, round := range p.asked {
		if p.round-round >= rounds {
			delete(p.asked, a)
		}
	}
	if peer.IsValid() {
		p.send(peer)
	}
}

// send sends a datagram to a closed port of host to. It tries twice, since the kernel may report the error of an earlier
// datagram instead.
func (p *prober) send(to netip.Addr) {
	for range 2 {
		if _, err := p.conn.WriteToUDPAddrPort([]byte{0}, netip.AddrPortFrom(to, closedPort)); err == nil {
			return
		}
	}
}

// collect counts the answers of peer and of VMs that arrived since the last call.
func (p *prober) collect(peer netip.Addr) {
	message, about := make([]byte, 64), make([]byte, 256)
	_ = socket.DescriptorOf(p.conn, func(fd int) error {
		for range answersAtOnce {
			_, n, _, from, err := unix.Recvmsg(fd, message, about, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
			if err != nil {
				return err
			}
			to, ok := from.(*unix.SockaddrInet4)
			if !ok || to.Port != closedPort {
				continue
			}
			switch a := netip.AddrFrom4(to.Addr); {
			case offender(about[:n]) != a:
				// This edge's own kernel or a router sent the error, not the host.
			case a == peer:
				p.peerAnswers++
			case p.asked[a] > 0:
				p.answers++
			}
		}
		return nil
	})
}

// offender returns the host that sent the ICMP error "destination unreachable", with any code, in the control messages of
// about. If there is no such error, the address is invalid.
func offender(about []byte) netip.Addr {
	all, err := unix.ParseSocketControlMessage(about)
	if err != nil {
		return netip.Addr{}
	}
	// struct sock_extended_err, and the struct sockaddr_in of the offender.
	const origin, kind, extended, address, size = 4, 5, 16, 20, 24
	const unreachable = 3
	for _, c := range all {
		d := c.Data
		if c.Header.Level != unix.IPPROTO_IP || c.Header.Type != unix.IP_RECVERR || len(d) < size {
			continue
		}
		if d[origin] == unix.SO_EE_ORIGIN_ICMP && d[kind] == unreachable && binary.NativeEndian.Uint16(d[extended:]) == unix.AF_INET {
			return netip.AddrFrom4([4]byte(d[address:size]))
		}
	}
	return netip.Addr{}
}

// neighbors returns the addresses in the neighbor table. It counts each VM whose entry was
// confirmed since the last call as an answer. An ARP reply or a TCP acknowledgment of the
// VM confirms the entry.
func (p *prober) neighbors(c census, now time.Time) ([]netip.Addr, error) {
	all, err := p.meter.Neighbors()
	if err != nil {
		return nil, err
	}
	since := now.Sub(p.looked)
	if p.looked.IsZero() || since > rounds*Interval {
		since = Interval
	}
	var out []netip.Addr
	for _, n := range all {
		if n.MAC == "" {
			continue
		}
		out = append(out, n.Address)
		if n.Confirmed < since && len(c.vms([]netip.Addr{n.Address}, nil)) > 0 {
			p.answers++
		}
	}
	p.looked = now
	return out, nil
}
