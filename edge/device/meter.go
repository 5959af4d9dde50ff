// This file reads how many frames an interface received, its neighbor table, and the kernel's route to an address.

package device

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// A Meter reads how many frames one interface received, and the hosts on it. It is safe for concurrent use.
type Meter struct {
	name   string
	kernel kernel
}

// A Neighbor is one entry of the kernel's neighbor table.
type Neighbor struct {
	Address netip.Addr
	// MAC is in lower case with colons. Empty: unknown.
	MAC string
	// Failed: the kernel sent all its requests, and no host answered.
	Failed bool
	// Confirmed is how long ago the neighbor last proved, by an ARP reply or a TCP acknowledgment, that this host receives its
	// unicast packets. Its unit is 10 ms.
	Confirmed time.Duration
}

// userHZ is how many of the kernel's clock ticks make a second, as seen through netlink.
const userHZ = 100

// OpenMeter returns a Meter of the named interface in the network namespace of the calling
// thread. The interface need not exist yet.
func OpenMeter(name string) (*Meter, error) {
	k, err := openKernel()
	if err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	return &Meter{name: name, kernel: k}, nil
}

// Close closes the Meter. Do not use it afterwards.
func (m *Meter) Close() { m.kernel.close() }

// Frames returns how many frames the interface received, in about 20 microseconds. The count begins again at 0 if the interface
// is recreated.
func (m *Meter) Frames() (uint64, error) {
	l, err := m.kernel.LinkByName(m.name)
	if err != nil {
		return 0, fmt.Errorf("frames of %s: %w", m.name, err)
	}
	received := l.Attrs().Statistics
	if received == nil {
		return 0, fmt.Errorf("frames of %s: the kernel did not answer", m.name)
	}
	return received.RxPackets, nil
}

// Neighbors returns the entries of the interface, also those without a MAC.
func (m *Meter) Neighbors() ([]Neighbor, error) {
	var all []netlink.Neigh
	l, err := m.kernel.LinkByName(m.name)
	if err == nil {
		all, err = m.kernel.NeighList(l.Attrs().Index, netlink.FAMILY_V4)
	}
	if err = uninterrupted(err); err != nil {
		return nil, fmt.Errorf("neighbors of %s: %w", m.name, err)
	}
	const known = netlink.NUD_PERMANENT | netlink.NUD_REACHABLE | netlink.NUD_STALE | netlink.NUD_DELAY | netlink.NUD_PROBE
	var out []Neighbor
	for _, n := range all {
		a, ok := addressOf(n.IP)
		if !ok {
			continue
		}
		entry := Neighbor{Address: a, Failed: n.State&netlink.NUD_FAILED != 0, Confirmed: time.Duration(n.Confirmed) * time.Second / userHZ}
		if n.State&known != 0 {
			entry.MAC = n.HardwareAddr.String()
		}
		out = append(out, entry)
	}
	return out, nil
}

// MACOf returns the MAC that the kernel has for an IPv4 address on the interface, in lower case with colons. Empty: none.
func (m *Meter) MACOf(a netip.Addr) string {
	l, err := m.kernel.LinkByName(m.name)
	if err != nil {
		return ""
	}
	question := make(header, unix.SizeofNdMsg)
	question[0] = unix.AF_INET
	binary.NativeEndian.PutUint32(question[4:], uint32(l.Attrs().Index))
	answers, err := m.kernel.ask(unix.RTM_GETNEIGH, 0, unix.RTM_NEWNEIGH, question, nl.NewRtAttr(unix.NDA_DST, a.AsSlice()))
	if err != nil || len(answers) != 1 {
		return ""
	}
	found, err := attributes(answers[0], unix.SizeofNdMsg)
	if err != nil || len(found[unix.NDA_LLADDR]) != 6 {
		return ""
	}
	return net.HardwareAddr(found[unix.NDA_LLADDR]).String()
}

// NextHop returns the router through which the kernel sends to an IPv4 address, if any. leads reports whether the route uses
// the interface.
func (m *Meter) NextHop(a netip.Addr) (via netip.Addr, leads bool) {
	l, err := m.kernel.LinkByName(m.name)
	if err != nil {
		return via, false
	}
	all, err := m.kernel.RouteGet(a.AsSlice())
	if err != nil || len(all) != 1 {
		return via, false
	}
	via, _ = netip.AddrFromSlice(all[0].Gw.To4())
	return via, all[0].LinkIndex == l.Attrs().Index
}

// Neighbors returns the entries of the named interface, in the network namespace of the calling thread.
func Neighbors(name string) ([]Neighbor, error) {
	m, err := OpenMeter(name)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return m.Neighbors()
}

// MACIn returns the MAC that a table has for an address. Empty: none.
func MACIn(table []Neighbor, address netip.Addr) string {
	if at := slices.IndexFunc(table, func(n Neighbor) bool { return n.Address == address }); at >= 0 {
		return table[at].MAC
	}
	return ""
}

func addressOf(ip net.IP) (netip.Addr, bool) {
	a, ok := netip.AddrFromSlice(ip)
	return a.Unmap(), ok
}
