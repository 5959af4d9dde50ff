// This file decides whether an edge would cut itself off from what it must reach
// by the pod network: what the kernel's own routes send to the network's device,
// or to the edge itself. A plan is made without knowing the node that an edge
// runs on, so the edge looks again. It only reads.

package edge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// Routes are where the kernel sends, and what it keeps for itself.
type Routes struct {
	table []route
	held  []netip.Addr
}

// A route is one of the kernel's main table.
type route struct {
	device string
	to     netip.Prefix
	metric int
}

// ReadRoutes reads those of the network namespace that it is called in, and the
// addresses that device holds. Root is "/" but in tests.
func ReadRoutes(root, device string) (Routes, error) {
	// A thread may be in another namespace than its process.
	text, err := os.ReadFile(filepath.Join(root, "proc/thread-self/net/route"))
	if err != nil {
		return Routes{}, fmt.Errorf("the kernel's routes: %w", err)
	}
	i, err := net.InterfaceByName(device)
	if err != nil {
		return Routes{}, fmt.Errorf("interface %s: %w", device, err)
	}
	all, err := i.Addrs()
	if err != nil {
		return Routes{}, fmt.Errorf("addresses of %s: %w", device, err)
	}
	var held []netip.Addr
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			held = append(held, p.Addr())
		}
	}
	return ParseRoutes(string(text), held...), nil
}

// ParseRoutes reads /proc/net/route (fib_route_seq_show in the kernel's
// net/ipv4/fib_trie.c), which leaves out the addresses that are held. Lines that
// it does not know, and routes that refuse, are left out.
func ParseRoutes(text string, held ...netip.Addr) Routes {
	const up, reject = 0x1, 0x200
	out := Routes{held: held}
	for line := range strings.Lines(text) {
		// Iface Destination Gateway Flags RefCnt Use Metric Mask ...
		f := strings.Fields(line)
		if len(f) < 8 {
			continue
		}
		to, err1 := hexAddr(f[1])
		mask, err2 := hexAddr(f[7])
		flags, err3 := strconv.ParseUint(f[3], 16, 32)
		metric, err4 := strconv.Atoi(f[6])
		if errors.Join(err1, err2, err3, err4) != nil || flags&up == 0 || flags&reject != 0 {
			continue
		}
		m := mask.As4()
		ones, _ := net.IPMask(m[:]).Size()
		out.table = append(out.table, route{device: f[0], to: netip.PrefixFrom(to, ones), metric: metric})
	}
	return out
}

// hexAddr reads an address that is printed as the number it is in memory.
func hexAddr(s string) (netip.Addr, error) {
	n, err := strconv.ParseUint(s, 16, 32)
	if err != nil {
		return netip.Addr{}, err
	}
	var b [4]byte
	binary.NativeEndian.PutUint32(b[:], uint32(n))
	return netip.AddrFrom4(b), nil
}

// by is the route to a: the longest, then the one with the lowest metric.
func (r Routes) by(a netip.Addr) (best route, ok bool) {
	for _, x := range r.table {
		if !x.to.Contains(a) {
			continue
		}
		if longer := x.to.Bits() - best.to.Bits(); !ok || longer > 0 || longer == 0 && x.metric < best.metric {
			best, ok = x, true
		}
	}
	return best, ok
}

// CutOff is nil where none of places is sent to n's device or kept by the edge,
// else it says which are, and what to do. Of a place that is a network, its first
// address is asked for.
func (r Routes) CutOff(n network.Network, device string, places ...network.ReservedDestination) error {
	var errs []error
	for _, p := range places {
		a := p.Prefix.Addr()
		if slices.Contains(r.held, a) {
			errs = append(errs, fmt.Errorf("network %s has the edge hold %s itself, so %s can't be reached: publish what is at %s elsewhere", n.Name, a, p.What, a))
			continue
		}
		switch x, ok := r.by(a); {
		case !ok || x.device != device:
		case x.to == n.CIDR:
			errs = append(errs, fmt.Errorf("%s of network %s, which is on %s, holds %s (%s) too, so that can't be reached: choose another CIDR for the network", n.CIDR, n.Name, device, a, p.What))
		default:
			errs = append(errs, fmt.Errorf("the route to %s sends what is for %s (%s) to %s, the device of network %s, so that can't be reached: take the route out of the network attachment definition", x.to, a, p.What, device, n.Name))
		}
	}
	return errors.Join(errs...)
}
