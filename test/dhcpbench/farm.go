// This file plays many DHCP clients on one interface, in one goroutine.

package dhcpbench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// A Kind is what clients do.
type Kind int

// Boot is DISCOVER, OFFER, REQUEST, ACK. Renew is a unicast REQUEST for the client's address, Reboot is
// a broadcast one (INIT-REBOOT); both need a client that has booted.
const (
	Boot Kind = iota
	Renew
	Reboot
)

// A station is one client of the farm.
type station struct {
	mac     [6]byte
	address netip.Addr
	// Of the current run:
	xid     uint32
	kind    byte // What it sent last.
	offered netip.Addr
	begin   time.Time
	sent    time.Time
	wait    time.Duration
	active  bool
}

// A Farm plays clients, which are numbered from 0. Close it.
type Farm struct {
	// FirstWait is the time until a client's first retransmission. It doubles each time, and varies by a
	// second, or by a quarter if that is less (RFC 2131 section 4.1).
	FirstWait time.Duration

	fd       int
	clients  []station
	holders  map[netip.Addr]int
	server   [6]byte
	serverID netip.Addr
	random   *rand.Rand
	frame    []byte
}

// A Result is what clients did in one run.
type Result struct {
	Done, Retransmissions int
	// Lost clients got no address within the limit of the run, Refused ones a DHCPNAK.
	Lost, Refused int
	Took          time.Duration
	// Latencies are of those that are Done, sorted.
	Latencies []time.Duration
}

// At returns the latency that a share of the clients did not exceed. 0: no client is done.
func (r Result) At(share float64) time.Duration {
	if len(r.Latencies) == 0 {
		return 0
	}
	return r.Latencies[min(int(share*float64(len(r.Latencies))), len(r.Latencies)-1)]
}

// String is for logs.
func (r Result) String() string {
	return fmt.Sprintf("%d done, %d lost, %d refused, %d retransmissions in %s, p50 %s, p99 %s", r.Done, r.Lost, r.Refused, r.Retransmissions,
		r.Took.Round(time.Millisecond), r.At(0.5).Round(time.Microsecond), r.At(0.99).Round(time.Microsecond))
}

// Open opens an interface in the network namespace of the calling thread, for this many clients.
func Open(device string, clients int) (*Farm, error) {
	i, err := net.InterfaceByName(device)
	if err != nil {
		return nil, err
	}
	const allFrames = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	f := &Farm{FirstWait: 4 * time.Second, fd: fd, clients: make([]station, clients), holders: map[netip.Addr]int{},
		random: rand.New(rand.NewPCG(1, 2)), frame: make([]byte, 1<<16)}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: allFrames, Ifindex: i.Index}))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("packet socket on %s: %w", device, err), unix.Close(fd))
	}
	for i := range f.clients {
		f.clients[i].mac = MAC(i)
	}
	return f, nil
}

// MAC returns the MAC of client i.
func MAC(i int) [6]byte { return [6]byte{2, 0, byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)} }

// Close closes the interface.
func (f *Farm) Close() error { return unix.Close(f.fd) }

// Run lets clients from first on do something, at most inFlight at one time, until all are done, or for limit.
func (f *Farm) Run(kind Kind, first, count, inFlight int, limit time.Duration) (Result, error) {
	var out Result
	begin, next := time.Now(), first
	var active []int
	for next < first+count || len(active) > 0 {
		for len(active) < inFlight && next < first+count {
			if err := f.start(kind, next); err != nil {
				return out, err
			}
			active = append(active, next)
			next++
		}
		if err := f.receive(&out); err != nil {
			return out, err
		}
		active = slices.DeleteFunc(active, func(i int) bool { return !f.clients[i].active })
		now := time.Now()
		if now.Sub(begin) > limit {
			out.Lost = len(active) + first + count - next
			break
		}
		for _, i := range active {
			if c := &f.clients[i]; now.Sub(c.sent) > c.wait {
				out.Retransmissions++
				c.wait = f.vary(2 * c.wait)
				if err := f.send(c); err != nil {
					return out, err
				}
			}
		}
	}
	for _, i := range active {
		f.clients[i].active = false
	}
	out.Took = time.Since(begin)
	slices.Sort(out.Latencies)
	return out, nil
}

func (f *Farm) vary(d time.Duration) time.Duration {
	spread := min(time.Second, d/4)
	return d - spread + time.Duration(f.random.Int64N(int64(2*spread)))
}

func (f *Farm) start(kind Kind, i int) error {
	c := &f.clients[i]
	c.active, c.xid, c.begin, c.wait, c.offered = true, f.random.Uint32(), time.Now(), f.vary(f.FirstWait), netip.Addr{}
	c.kind = discover
	switch kind {
	case Renew, Reboot:
		if !c.address.IsValid() {
			return fmt.Errorf("client %d has no address", i)
		}
		c.kind = request
		if kind == Reboot {
			c.offered = c.address
		}
	case Boot:
	}
	return f.send(c)
}

// send sends what c has to send now: it renews if it neither discovers nor was offered anything.
func (f *Farm) send(c *station) error {
	c.sent = time.Now()
	d := datagram{mac: c.mac, to: everyone, xid: c.xid, kind: c.kind, dst: netip.AddrFrom4([4]byte{255, 255, 255, 255}), secs: uint16(c.sent.Sub(c.begin) / time.Second)}
	switch {
	case c.kind == discover:
	case !c.offered.IsValid():
		d.to, d.dst, d.from, d.ciaddr = f.server, f.serverID, c.address, c.address
	case c.offered == c.address:
		d.asked = c.offered
	default:
		d.asked, d.chose = c.offered, f.serverID
	}
	b := d.frame()
	for {
		_, err := unix.Write(f.fd, b)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.ENOBUFS) {
			return err
		}
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(f.fd), Events: unix.POLLOUT}}, 10); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// receive takes in all frames that are there, and waits for the first one a short while.
func (f *Farm) receive(out *Result) error {
	if _, err := unix.Poll([]unix.PollFd{{Fd: int32(f.fd), Events: unix.POLLIN}}, 10); err != nil && !errors.Is(err, unix.EINTR) {
		return err
	}
	for range 64 {
		size, _, err := unix.Recvfrom(f.fd, f.frame, 0)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			return nil
		}
		if err != nil {
			return err
		}
		b := f.frame[:size]
		if asked, by, from, ok := readARP(b); ok {
			if i, held := f.holders[asked]; held {
				if _, err := unix.Write(f.fd, arpReply(f.clients[i].mac, from, asked, by)); err != nil && !errors.Is(err, unix.EAGAIN) {
					return err
				}
			}
			continue
		}
		if r, ok := readReply(b); ok {
			if err := f.take(r, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// take processes one reply.
func (f *Farm) take(r reply, out *Result) error {
	i := int(binary.BigEndian.Uint32(r.mac[2:]))
	if i >= len(f.clients) || f.clients[i].mac != r.mac || !f.clients[i].active || f.clients[i].xid != r.xid {
		return nil
	}
	c := &f.clients[i]
	switch {
	case r.kind == offer && c.kind == discover:
		f.server, f.serverID = r.server, r.choseID
		c.kind, c.offered, c.address, c.wait = request, r.yours, netip.Addr{}, f.vary(f.FirstWait)
		return f.send(c)
	case r.kind == ack && c.kind == request:
		c.active = false
		if other, held := f.holders[r.yours]; held && other != i && f.clients[other].address == r.yours {
			return fmt.Errorf("%s is given to %x and to %x", r.yours, c.mac, f.clients[other].mac)
		}
		c.address = r.yours
		f.holders[r.yours] = i
		out.Done++
		out.Latencies = append(out.Latencies, time.Since(c.begin))
	case r.kind == nak && c.kind == request:
		c.active = false
		out.Refused++
	}
	return nil
}
