// This file reads what an interface received: its frame counter and its neighbor table. It
// asks the kernel once for each call and keeps nothing. It decides nothing.

package device

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A Meter reads what one interface received. A reading of the counter costs two system
// calls, about 10 microseconds. It is not safe for concurrent use.
type Meter struct {
	name  string
	index int
	// fd is a netlink socket. It stays in the network namespace that it was opened in.
	fd      int
	kernel  *netlink.Handle
	request [unix.SizeofNlMsghdr + sizeofIfStats]byte
	answer  [1024]byte
}

// A Neighbor is one entry of the kernel's neighbor table.
type Neighbor struct {
	Address netip.Addr
	// Confirmed is how long ago the neighbor last proved that this host receives its unicast
	// packets: by an ARP reply or a TCP acknowledgment. Its unit is 10 ms.
	Confirmed time.Duration
}

// sizeofIfStats is the size of struct if_stats_msg of linux/if_link.h.
const sizeofIfStats = 12

// userHZ is how many of the kernel's clock ticks make a second, as seen through netlink.
const userHZ = 100

// OpenMeter returns a Meter of the named interface in the network namespace of the calling
// thread. The interface need not exist yet.
func OpenMeter(name string) (*Meter, error) {
	k, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		k.Close()
		return nil, fmt.Errorf("netlink: %w", err)
	}
	return &Meter{name: name, fd: fd, kernel: k}, nil
}

// Close closes the Meter. Do not use it afterwards.
func (m *Meter) Close() {
	m.kernel.Close()
	_ = unix.Close(m.fd)
}

// Frames returns how many frames the interface received so far. The count begins again at 0
// if the interface is recreated. An error means that the interface does not exist, or that
// the kernel did not answer.
func (m *Meter) Frames() (uint64, error) {
	n, err := m.frames()
	if errors.Is(err, unix.ENODEV) {
		m.index = 0 // It may have been recreated with another index.
		n, err = m.frames()
	}
	if err != nil {
		return 0, fmt.Errorf("frames of %s: %w", m.name, err)
	}
	return n, nil
}

func (m *Meter) frames() (uint64, error) {
	if err := m.find(); err != nil {
		return 0, err
	}
	// An answer to a former request may be left over if its receiver was interrupted.
	q, order := m.request[:], binary.NativeEndian
	number := order.Uint32(q[8:]) + 1
	order.PutUint32(q[0:], uint32(len(q)))
	order.PutUint16(q[4:], unix.RTM_GETSTATS)
	order.PutUint16(q[6:], unix.NLM_F_REQUEST)
	order.PutUint32(q[8:], number)
	order.PutUint32(q[unix.SizeofNlMsghdr+4:], uint32(m.index))
	order.PutUint32(q[unix.SizeofNlMsghdr+8:], 1<<(unix.IFLA_STATS_LINK_64-1))
	if err := unix.Sendto(m.fd, q, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, err
	}
	for {
		n, _, err := unix.Recvfrom(m.fd, m.answer[:], 0)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n >= unix.SizeofNlMsghdr && order.Uint32(m.answer[8:]) == number:
			return readFrames(m.answer[:n])
		}
	}
}

// readFrames returns rx_packets, the first field of struct rtnl_link_stats64.
func readFrames(b []byte) (uint64, error) {
	const head = unix.SizeofNlMsghdr
	const body = head + sizeofIfStats + unix.SizeofRtAttr
	order := binary.NativeEndian
	switch kind := order.Uint16(b[4:]); {
	case kind == unix.NLMSG_ERROR && len(b) >= head+4:
		return 0, unix.Errno(-int32(order.Uint32(b[head:])))
	case kind != unix.RTM_NEWSTATS || len(b) < body+8 || order.Uint16(b[body-2:]) != unix.IFLA_STATS_LINK_64:
		return 0, errors.New("the kernel did not say")
	}
	return order.Uint64(b[body:]), nil
}

// find finds the interface's index once.
func (m *Meter) find() error {
	if m.index != 0 {
		return nil
	}
	l, err := m.kernel.LinkByName(m.name)
	if err != nil {
		return err
	}
	m.index = l.Attrs().Index
	return nil
}

// Neighbors returns the neighbors on the interface whose MAC is known.
func (m *Meter) Neighbors() ([]Neighbor, error) {
	err := m.find()
	var all []netlink.Neigh
	if err == nil {
		all, err = m.kernel.NeighList(m.index, netlink.FAMILY_V4)
	}
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, fmt.Errorf("neighbors of %s: %w", m.name, err)
	}
	var out []Neighbor
	for _, n := range all {
		if a, ok := addressOf(n.IP); ok && n.State&(netlink.NUD_INCOMPLETE|netlink.NUD_FAILED|netlink.NUD_NOARP) == 0 {
			out = append(out, Neighbor{Address: a, Confirmed: time.Duration(n.Confirmed) * time.Second / userHZ})
		}
	}
	return out, nil
}

func addressOf(ip net.IP) (netip.Addr, bool) {
	a, ok := netip.AddrFromSlice(ip)
	return a.Unmap(), ok
}
