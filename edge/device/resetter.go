// This file resets new TCP connections of some hosts before the program that listens gets them. It needs no privilege.

package device

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge/socket"
)

// maxSenders is how many MACs, and how many addresses, the kernel's program compares: it may have 4,096 instructions.
const maxSenders = 256

const (
	// lookEvery is how often a Resetter checks which other sockets listen.
	lookEvery = 100 * time.Millisecond
	// queued limits the connections that wait for their reset. They count as connections of their hosts. The kernel drops further
	// SYNs.
	queued = 64
)

// Senders are hosts whose new connections to some listeners are reset.
type Senders struct {
	// Listeners are addresses at which programs of the same user listen with SO_REUSEPORT.
	Listeners []netip.AddrPort
	// Connections from Addresses are reset, whatever MAC their packets have. Only the first maxSenders are used.
	Addresses []netip.Addr
	// Connections from MACs are reset if their address is in Network. Other addresses are behind a router, whose MAC their
	// packets have. Only the first maxSenders are used.
	MACs    []net.HardwareAddr
	Network netip.Prefix
}

// A Resetter resets connections of some hosts. It listens on the ports of other programs, and a filter program in the kernel
// chooses the socket by the sender of a SYN. It listens once Set gets a host. It is safe for concurrent use.
type Resetter struct {
	clients  *Clients
	wasReset func(listener netip.AddrPort, client netip.Addr)

	mu   sync.Mutex
	open map[netip.AddrPort]*joined
}

// A joined is a socket at an address where others listen.
type joined struct {
	net.Listener
	// Fields own and others are the kernel's numbers of this socket, and of the sockets that were there first.
	own    uint64
	others []uint64
	// program is the program that the kernel runs now.
	program []unix.SockFilter
}

// NewResetter returns a Resetter for the interface and the network namespace of c. It calls wasReset for each
// connection that it resets.
//
// The kernel's program identifies sockets by their order. After a restart of the other program, its socket comes after
// the Resetter's, which then gets SYNs of other hosts, and drops them. Within 100 ms the Resetter notices the restart,
// and leaves the port.
func NewResetter(c *Clients, wasReset func(listener netip.AddrPort, client netip.Addr)) *Resetter {
	return &Resetter{clients: c, wasReset: wasReset, open: map[netip.AddrPort]*joined{}}
}

// Set replaces the hosts whose connections are reset. Each listener may be in only one Senders. If the kernel refuses
// the program, connections to that listener are not reset.
func (r *Resetter) Set(all ...Senders) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for at := range r.open {
		if !slices.ContainsFunc(all, func(s Senders) bool { return slices.Contains(s.Listeners, at) }) {
			r.leave(at)
		}
	}
	var failed []error
	for _, to := range all {
		failed = append(failed, r.setAll(to))
	}
	return errors.Join(failed...)
}

// setAll gives the kernel the program for the listeners of parameter to. The caller locks.
func (r *Resetter) setAll(to Senders) error {
	nothing := len(to.Addresses) == 0 && len(to.MACs) == 0
	program, err := assemble(choose(to))
	if err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	var all []error
	for _, at := range to.Listeners {
		if j, has := r.open[at]; has && r.changed(at, j) {
			r.leave(at)
		}
		if err := r.set(at, program, nothing); err != nil {
			all = append(all, fmt.Errorf("listen %s: %w", at, err))
			r.leave(at)
		}
	}
	return errors.Join(all...)
}

// set gives the kernel the program for one address. The caller locks.
func (r *Resetter) set(at netip.AddrPort, program []unix.SockFilter, nothing bool) (err error) {
	j, has := r.open[at]
	switch {
	case !has && nothing, has && slices.Equal(j.program, program):
		return nil
	case has:
		j.program = program
		return attach(j.Listener, program)
	}
	if j, err = r.join(at, program); j != nil {
		r.open[at] = j
		go r.reset(at, j)
	}
	return err
}

// leave stops listening at an address. The caller locks.
func (r *Resetter) leave(at netip.AddrPort) {
	if j, has := r.open[at]; has {
		_ = j.Close()
		delete(r.open, at)
	}
}

// Close stops listening, so no further connection is reset.
func (r *Resetter) Close() { _ = r.Set() }

// join listens at an address as the last of several programs. Nil: no other program listens there.
func (r *Resetter) join(at netip.AddrPort, program []unix.SockFilter) (*joined, error) {
	others, err := r.clients.listeners(at)
	if err != nil || len(others) == 0 {
		return nil, err
	}
	if len(others) > 1 {
		return nil, fmt.Errorf("%d sockets listen there, but the program expects one", len(others))
	}
	c := net.ListenConfig{KeepAlive: -1, Control: func(_, _ string, raw syscall.RawConn) error { return r.joins(raw, program) }}
	c.SetMultipathTCP(false) // Multipath TCP supports no such program.
	l, err := c.Listen(context.Background(), "tcp4", at.String())
	if err != nil {
		return nil, err
	}
	j := &joined{Listener: l, others: others, program: program}
	if j.own, err = cookieOf(l); err == nil {
		err = errors.Join(attach(l, program), control(l, func(fd int) error { return unix.Listen(fd, queued) }))
	}
	if err == nil && r.changed(at, j) {
		err = errors.New("the other program is just starting")
	}
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return j, nil
}

// changed reports whether the other sockets that listen at the address have changed since j joined them, or cannot be listed.
func (r *Resetter) changed(at netip.AddrPort, j *joined) bool {
	now, err := r.clients.listeners(at)
	now = slices.DeleteFunc(now, func(c uint64) bool { return c == j.own })
	return err != nil || !slices.Equal(now, j.others)
}

// reset resets each connection that arrives, until j is closed or changed returns true.
func (r *Resetter) reset(at netip.AddrPort, j *joined) {
	next := time.Now().Add(lookEvery)
	for {
		if now := time.Now(); !now.Before(next) {
			if r.changed(at, j) {
				break
			}
			next = now.Add(lookEvery)
		}
		_ = j.Listener.(*net.TCPListener).SetDeadline(next)
		c, err := j.Accept()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err != nil {
			break
		}
		from, _ := netip.ParseAddrPort(c.RemoteAddr().String())
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
		r.wasReset(at, from.Addr())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[at] == j {
		r.leave(at)
	}
}

// cookieOf returns the kernel's number of a socket.
func cookieOf(l net.Listener) (cookie uint64, err error) {
	err = control(l, func(fd int) (err error) {
		cookie, err = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
		return err
	})
	return cookie, err
}

// joins lets a socket share its address with others. From the beginning it accepts only hosts that the program chooses.
func (r *Resetter) joins(c syscall.RawConn, program []unix.SockFilter) error {
	return socket.Descriptor(c, func(fd int) error {
		err := attachFilter(fd, program)
		if err == nil {
			err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		}
		if err == nil {
			err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_FREEBIND, 1)
		}
		if err == nil && r.clients.name != "" {
			err = unix.BindToDevice(fd, r.clients.name)
		}
		return err
	})
}

// attachFilter makes the kernel drop packets to a socket from hosts that the program does not choose: before attach, and after
// another listener has restarted. A client repeats a dropped SYN after a second.
func attachFilter(fd int, program []unix.SockFilter) error {
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
}

// attach makes the kernel choose among the sockets at l's address with the program.
func attach(l net.Listener, program []unix.SockFilter) error {
	return control(l, func(fd int) error {
		if err := attachFilter(fd, program); err != nil {
			return err
		}
		return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF,
			&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	})
}

func control(l net.Listener, f func(fd int) error) error {
	return socket.DescriptorOf(l.(*net.TCPListener), f)
}

// Offsets in a packet, as filters count them: from the Ethernet header, and from the IPv4 header.
const (
	sourceMAC     = 0xffe00000 + 6
	sourceAddress = 0xfff00000 + 12
)

// choose returns a program whose result is the index of a socket, in the order in which the sockets of an address began
// to listen. A load beyond the end of a packet ends the program with result 0. As the filter of a socket, the result 0
// drops a packet, and 1 keeps its headers.
func choose(s Senders) []bpf.Instruction {
	theirs, ours := bpf.RetConstant{Val: 0}, bpf.RetConstant{Val: 1}
	out := []bpf.Instruction{bpf.LoadAbsolute{Off: sourceAddress, Size: 4}}
	for _, a := range s.Addresses[:min(len(s.Addresses), maxSenders)] {
		if a.Is4() {
			out = append(out, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number(a), SkipTrue: 1}, ours)
		}
	}
	if !s.Network.Addr().Is4() {
		return append(out, theirs)
	}
	out = append(out,
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: ^uint32(0) << (32 - s.Network.Bits())},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: number(s.Network.Masked().Addr()), SkipTrue: 1}, theirs)
	for _, m := range s.MACs[:min(len(s.MACs), maxSenders)] {
		if len(m) == 6 {
			out = append(out,
				bpf.LoadAbsolute{Off: sourceMAC + 2, Size: 4},
				bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: binary.BigEndian.Uint32(m[2:]), SkipTrue: 3},
				bpf.LoadAbsolute{Off: sourceMAC, Size: 2},
				bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(binary.BigEndian.Uint16(m)), SkipTrue: 1}, ours)
		}
	}
	return append(out, theirs)
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func assemble(p []bpf.Instruction) ([]unix.SockFilter, error) {
	raw, err := bpf.Assemble(p)
	if err != nil {
		return nil, err
	}
	out := make([]unix.SockFilter, len(raw))
	for i, x := range raw {
		out[i] = unix.SockFilter{Code: x.Op, Jt: x.Jt, Jf: x.Jf, K: x.K}
	}
	return out, nil
}
