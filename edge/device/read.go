// This file reads a snapshot through one netlink socket, which stays in the network namespace
// that it was opened in.

package device

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge/wire"
)

// attempts is how often a snapshot is read at most, while changes interrupt the dumps.
const attempts = 5

// A kernel holds the sockets that query the kernel in one network namespace.
type kernel struct {
	*netlink.Handle
	// netconf sends requests that the library does not support.
	netconf *nl.SocketHandle
}

// openKernel opens sockets in the network namespace of the calling thread. Any thread may use
// them.
func openKernel() (k kernel, err error) {
	if k.Handle, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return kernel{}, err
	}
	s, err := nl.GetNetlinkSocketAt(netns.None(), netns.None(), unix.NETLINK_ROUTE)
	if err != nil {
		k.Handle.Close()
		return kernel{}, err
	}
	k.netconf = &nl.SocketHandle{Socket: s}
	return k, nil
}

func (k kernel) close() {
	k.Handle.Close()
	k.netconf.Close()
}

// ErrNoInterface is the error of Read if the interface does not exist.
var ErrNoInterface = errors.New("no such network interface")

// Read returns the snapshot of the named interface in the network namespace of the calling
// thread, or ErrNoInterface.
func Read(name string) (Snapshot, error) {
	k, err := openKernel()
	if err != nil {
		return Snapshot{}, fmt.Errorf("netlink: %w", err)
	}
	defer k.close()
	return k.read(name)
}

// FirstAddress returns the IPv4 address that the named interface was given first.
func FirstAddress(name string) (netip.Addr, error) {
	s, err := Read(name)
	if err == nil && len(s.Addresses) == 0 {
		err = fmt.Errorf("%s has no IPv4 address", name)
	}
	return s.First(), err
}

// read reads the whole snapshot. If a change interrupts a dump, it tries again, up to attempts
// times.
func (k kernel) read(name string) (s Snapshot, err error) {
	for range attempts {
		if s, err = k.readOnce(name); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("interface %s: %w", name, err)
	}
	return s, nil
}

func (k kernel) readOnce(name string) (Snapshot, error) {
	links, err := k.LinkList()
	if err != nil {
		return Snapshot{}, err
	}
	names, up := map[int]string{}, map[int]string{}
	var own *netlink.LinkAttrs
	// Variable on holds the interface and the one below it, which receives broadcast and multicast,
	// too.
	var on []int
	for _, l := range links {
		names[l.Attrs().Index] = l.Attrs().Name
		if l.Attrs().RawFlags&(unix.IFF_UP|unix.IFF_LOOPBACK) == unix.IFF_UP {
			up[l.Attrs().Index] = l.Attrs().Name
		}
		if l.Attrs().Name == name {
			own = l.Attrs()
		}
		if l.Attrs().Name == name || l.Attrs().Name == wire.LinkDevice {
			on = append(on, l.Attrs().Index)
		}
	}
	if own == nil {
		return Snapshot{}, ErrNoInterface
	}
	s := Snapshot{Name: name, Index: own.Index, Carrier: own.RawFlags&unix.IFF_RUNNING != 0}
	addresses, err := k.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return Snapshot{}, err
	}
	for _, a := range addresses {
		p, ok := prefixOf(a.IPNet)
		if !ok {
			continue
		}
		s.Host = append(s.Host, p.Addr())
		switch {
		case a.LinkIndex == own.Index:
			s.Addresses = append(s.Addresses, p)
		case names[a.LinkIndex] == wire.VIPDevice:
			s.VIPs = append(s.VIPs, p)
		}
	}
	if s.Routes, err = k.routes(names); err != nil {
		return Snapshot{}, err
	}
	if s.IPv6Routes, err = k.ipv6Routes(on); err != nil {
		return Snapshot{}, err
	}
	c, err := k.settings()
	if err != nil {
		return Snapshot{}, err
	}
	s.Forwarding, s.VerifiesSources = c.forwarding(own.Index, up), c.verifiesSources(own.Index)
	elsewhere, err := k.hasIPv6Besides(on)
	s.VerifiesIPv6Sources = !elsewhere || !slices.ContainsFunc(on, c.takesIPv6)
	return s, err
}

// routes returns the unicast routes of the main table.
func (k kernel) routes(names map[int]string) ([]Route, error) {
	all, err := k.RouteListFiltered(netlink.FAMILY_V4,
		&netlink.Route{Table: unix.RT_TABLE_MAIN, Type: unix.RTN_UNICAST}, netlink.RT_FILTER_TABLE|netlink.RT_FILTER_TYPE)
	if err != nil {
		return nil, err
	}
	var out []Route
	for _, r := range all {
		to, ok := prefixOf(r.Dst)
		if !ok {
			to = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		}
		hops := r.MultiPath
		if len(hops) == 0 {
			hops = []*netlink.NexthopInfo{{LinkIndex: r.LinkIndex}}
		}
		for _, hop := range hops {
			out = append(out, Route{Device: names[hop.LinkIndex], To: to, Metric: r.Priority})
		}
	}
	return out, nil
}

// ipv6Routes returns the unicast IPv6 routes through the interfaces with the indexes in parameter
// on, except to link-local addresses.
func (k kernel) ipv6Routes(on []int) ([]netip.Prefix, error) {
	all, err := k.RouteListFiltered(netlink.FAMILY_V6, &netlink.Route{Table: unix.RT_TABLE_MAIN, Type: unix.RTN_UNICAST},
		netlink.RT_FILTER_TABLE|netlink.RT_FILTER_TYPE)
	if err != nil {
		return nil, err
	}
	var out []netip.Prefix
	for _, r := range all {
		to := netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		if r.Dst != nil {
			ones, _ := r.Dst.Mask.Size()
			a, _ := netip.AddrFromSlice(r.Dst.IP.To16())
			to = netip.PrefixFrom(a, ones)
		}
		// A kernel without IPv6 answers with the routes of IPv4.
		if r.Family == netlink.FAMILY_V6 && slices.Contains(on, r.LinkIndex) && !to.Addr().IsLinkLocalUnicast() && !to.Addr().IsMulticast() {
			out = append(out, to)
		}
	}
	return out, nil
}

// hasIPv6Besides reports whether an interface whose index is not in parameter on has an IPv6
// address that is not link-local. A packet from the network may be sent to that address.
func (k kernel) hasIPv6Besides(on []int) (bool, error) {
	all, err := k.AddrList(nil, netlink.FAMILY_V6)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(all, func(a netlink.Addr) bool {
		return !slices.Contains(on, a.LinkIndex) && a.IP.To4() == nil && a.IP.IsGlobalUnicast()
	}), nil
}

func prefixOf(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	a, ok := netip.AddrFromSlice(n.IP.To4())
	ones, _ := n.Mask.Size()
	return netip.PrefixFrom(a, ones), ok
}
