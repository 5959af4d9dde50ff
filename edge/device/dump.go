// This file reads the parts of a network namespace that a bug report needs: interfaces, addresses, neighbors, rules, routes
// and sockets.

package device

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A Dump reads the network namespace of the thread that opened it. It is not safe for concurrent use.
type Dump struct {
	clients *Clients
	names   map[int]string
}

// OpenDump returns a Dump of the network namespace of the calling thread.
func OpenDump() (*Dump, error) {
	c, err := OpenClients("")
	if err != nil {
		return nil, err
	}
	d := &Dump{clients: c, names: map[int]string{}}
	links, err := c.kernel.LinkList()
	if err = uninterrupted(err); err != nil {
		c.Close()
		return nil, fmt.Errorf("interfaces: %w", err)
	}
	for _, l := range links {
		d.names[l.Attrs().Index] = l.Attrs().Name
	}
	return d, nil
}

// Close closes d. Do not use it afterwards.
func (d *Dump) Close() { d.clients.Close() }

// A DumpedLink is one interface.
type DumpedLink struct {
	Name  string `json:"name"`
	Index int    `json:"index"`
	Kind  string `json:"kind"`
	MAC   string `json:"mac,omitempty"`
	MTU   int    `json:"mtu"`
	// Flags are named as in the output of `ip link`, and State as in the kernel.
	Flags string `json:"flags"`
	State string `json:"state"`
	// The counters start when the interface is created.
	RxPackets uint64 `json:"rxPackets"`
	RxBytes   uint64 `json:"rxBytes"`
	RxErrors  uint64 `json:"rxErrors"`
	RxDropped uint64 `json:"rxDropped"`
	TxPackets uint64 `json:"txPackets"`
	TxBytes   uint64 `json:"txBytes"`
	TxErrors  uint64 `json:"txErrors"`
	TxDropped uint64 `json:"txDropped"`
}

// Links returns all interfaces.
func (d *Dump) Links() (out []DumpedLink, err error) {
	links, err := d.clients.kernel.LinkList()
	for _, l := range links {
		a := l.Attrs()
		one := DumpedLink{Name: a.Name, Index: a.Index, Kind: l.Type(), MAC: a.HardwareAddr.String(), MTU: a.MTU, Flags: a.Flags.String(), State: a.OperState.String()}
		if s := a.Statistics; s != nil {
			one.RxPackets, one.RxBytes, one.RxErrors, one.RxDropped = s.RxPackets, s.RxBytes, s.RxErrors, s.RxDropped
			one.TxPackets, one.TxBytes, one.TxErrors, one.TxDropped = s.TxPackets, s.TxBytes, s.TxErrors, s.TxDropped
		}
		out = append(out, one)
	}
	return out, uninterrupted(err)
}

// A DumpedAddress is one address of an interface.
type DumpedAddress struct {
	Device  string `json:"device"`
	Address string `json:"address"`
	Scope   string `json:"scope"`
}

// Addresses returns the addresses of all interfaces.
func (d *Dump) Addresses() (out []DumpedAddress, err error) {
	all, err := d.clients.kernel.AddrList(nil, netlink.FAMILY_ALL)
	for _, a := range all {
		if a.IPNet != nil {
			out = append(out, DumpedAddress{d.device(a.LinkIndex), a.IPNet.String(), netlink.Scope(a.Scope).String()})
		}
	}
	return out, uninterrupted(err)
}

// A DumpedNeighbor is one entry of the neighbor table: ARP for IPv4.
type DumpedNeighbor struct {
	Device  string `json:"device"`
	Address string `json:"address"`
	// MAC is empty if the kernel has none.
	MAC   string `json:"mac,omitempty"`
	State string `json:"state"`
}

// Neighbors returns the neighbor tables of all interfaces.
func (d *Dump) Neighbors() (out []DumpedNeighbor, err error) {
	all, err := d.clients.kernel.NeighList(0, netlink.FAMILY_ALL)
	for _, n := range all {
		if n.IP != nil {
			out = append(out, DumpedNeighbor{d.device(n.LinkIndex), n.IP.String(), n.HardwareAddr.String(), neighborState(n.State)})
		}
	}
	return out, uninterrupted(err)
}

func neighborState(state int) string {
	names := map[int]string{
		netlink.NUD_INCOMPLETE: "incomplete",
		netlink.NUD_REACHABLE:  "reachable",
		netlink.NUD_STALE:      "stale",
		netlink.NUD_DELAY:      "delay",
		netlink.NUD_PROBE:      "probe",
		netlink.NUD_FAILED:     "failed",
		netlink.NUD_NOARP:      "noarp",
		netlink.NUD_PERMANENT:  "permanent",
	}
	return cmp.Or(names[state], strconv.Itoa(state))
}

// A DumpedRoute is one route.
type DumpedRoute struct {
	Table int    `json:"table"`
	Type  string `json:"type"`
	To    string `json:"to"`
	// Via, Device and Source are empty if the route has none.
	Via    string `json:"via,omitempty"`
	Device string `json:"device,omitempty"`
	Source string `json:"source,omitempty"`
	Metric int    `json:"metric,omitempty"`
	// Protocol is what made the route, such as kernel, boot or ra.
	Protocol string `json:"protocol"`
}

// Routes returns the routes of all tables, one DumpedRoute for each next hop.
func (d *Dump) Routes() (out []DumpedRoute, err error) {
	all, err := d.clients.kernel.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
	for _, r := range all {
		one := DumpedRoute{Table: r.Table, Type: routeType(r.Type), To: "default", Source: textOf(r.Src), Metric: r.Priority, Protocol: r.Protocol.String()}
		if r.Dst != nil {
			one.To = r.Dst.String()
		}
		hops := r.MultiPath
		if len(hops) == 0 {
			hops = []*netlink.NexthopInfo{{LinkIndex: r.LinkIndex, Gw: r.Gw}}
		}
		for _, hop := range hops {
			one.Via, one.Device = textOf(hop.Gw), d.device(hop.LinkIndex)
			out = append(out, one)
		}
	}
	return out, uninterrupted(err)
}

func routeType(t int) string {
	names := map[int]string{
		unix.RTN_UNICAST:     "unicast",
		unix.RTN_LOCAL:       "local",
		unix.RTN_BROADCAST:   "broadcast",
		unix.RTN_ANYCAST:     "anycast",
		unix.RTN_MULTICAST:   "multicast",
		unix.RTN_BLACKHOLE:   "blackhole",
		unix.RTN_UNREACHABLE: "unreachable",
		unix.RTN_PROHIBIT:    "prohibit",
	}
	return cmp.Or(names[t], strconv.Itoa(t))
}

// Rules returns a line for each rule that selects a table of routes.
func (d *Dump) Rules() (out []string, err error) {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		rules, err := d.clients.kernel.RuleList(family)
		if family == netlink.FAMILY_V6 && (errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EAFNOSUPPORT)) {
			break // The kernel has no IPv6.
		}
		if err = uninterrupted(err); err != nil {
			return out, err
		}
		for _, r := range rules {
			out = append(out, r.String())
		}
	}
	return out, nil
}

// Sockets returns lines with counts: of TCP connections over IPv4 by state, and sockstat and snmp of proc_net(5).
func (d *Dump) Sockets() (out []string, err error) {
	states := map[byte]int{}
	if err := d.clients.sockets(^uint32(0), func(m []byte) { states[m[diagState]]++ }); err != nil {
		return nil, err
	}
	for state, name := range []string{"", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT", "CLOSE", "CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING", "NEW_SYN_RECV"} {
		if n := states[byte(state)]; n > 0 {
			out = append(out, fmt.Sprintf("TCP state %s: %d", name, n))
		}
	}
	for _, file := range []string{"sockstat", "sockstat6", "snmp"} {
		text, err := os.ReadFile("/proc/thread-self/net/" + file)
		if err != nil {
			out = append(out, file+": "+err.Error())
			continue
		}
		for line := range strings.Lines(string(text)) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out, nil
}

// device returns the name of the interface with an index. If the name is unknown, it returns the index as text. Index 0 has
// no name.
func (d *Dump) device(index int) string {
	if index == 0 {
		return ""
	}
	return cmp.Or(d.names[index], strconv.Itoa(index))
}

func textOf(ip net.IP) string {
	if a, ok := netip.AddrFromSlice(ip); ok {
		return a.Unmap().String()
	}
	return ""
}

// uninterrupted returns err, or nil if err only means that something changed during the listing.
func uninterrupted(err error) error {
	if errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil
	}
	return err
}
