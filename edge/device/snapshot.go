// This file holds the Snapshot, and functions of it that read nothing else.

package device

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
)

// A Snapshot is one network interface, and the routes and addresses around it, at one moment. Do not change its
// slices.
type Snapshot struct {
	// Name is the name of the interface.
	Name string
	// Index is the index of the interface. A recreated interface has another index.
	Index int
	// Carrier: the interface is up and has a link.
	Carrier bool
	// Addresses are the interface's IPv4 addresses in the kernel's order. Where arp_announce is above 0, the kernel sends
	// ARP requests for targets outside of the network from the first address.
	Addresses []netip.Prefix
	// VIPs are the addresses of wire.VIPDevice. The kernel also answers ARP requests for them on this interface, unless
	// arp_ignore is above 0.
	VIPs []netip.Prefix
	// Forwarding are the sysctls with which the kernel forwards packets from or to this interface, sorted. They include
	// those of all interfaces that are up: packets from the pod network may be forwarded to this one.
	Forwarding []string
	// VerifiesSources: the kernel drops IPv4 packets of this interface whose source address has no route, or a route to
	// another interface (strict rp_filter, RFC 3704).
	VerifiesSources bool
	// VerifiesIPv6Sources: no IPv6 packet of the network is answered through another interface. IPv6 has no rp_filter.
	// So either IPv6 is off on this interface and wire.LinkDevice, or no other interface has an IPv6 address that is
	// not link-local.
	VerifiesIPv6Sources bool
	// IPv6Routes are the prefixes of IPv6 routes through this interface and wire.LinkDevice, without link-local ones.
	// Edges configure none, so another host set them by router advertisements. No packet of the edge takes them: its
	// sockets are bound to an interface, and those on this interface use IPv4.
	IPv6Routes []netip.Prefix
	// Host are the IPv4 addresses of every interface in the network namespace.
	Host []netip.Addr
	// Routes are the unicast IPv4 routes of the main table.
	Routes []Route
}

// A Route is one route of the main table. A route with several next hops is one Route for each.
type Route struct {
	// Device is the name of the interface that the route leads to.
	Device string
	To     netip.Prefix
	// Metric is lower for routes that the kernel prefers.
	Metric int
}

// Equal reports whether s and o are equal.
func (s Snapshot) Equal(o Snapshot) bool { return reflect.DeepEqual(s, o) }

// Has reports whether the interface has the address, also as a VIP, or as a part of a loopback prefix.
func (s Snapshot) Has(a netip.Addr) bool { return has(s.Addresses, a) || has(s.VIPs, a) }

// OnVIPDevice reports whether only wire.VIPDevice has the address.
func (s Snapshot) OnVIPDevice(a netip.Addr) bool { return !has(s.Addresses, a) && has(s.VIPs, a) }

func has(all []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Addr() == a || p.Addr().IsLoopback() && p.Contains(a) })
}

// First returns the interface's first address. The zero Addr: it has none.
func (s Snapshot) First() netip.Addr {
	if len(s.Addresses) == 0 {
		return netip.Addr{}
	}
	return s.Addresses[0].Addr()
}

// AddressOutside returns the first address of another interface outside of p, the network's CIDR, that is neither
// loopback nor link-local, such as the pod network's. The zero Addr: there is none. Edges do not answer ARP requests
// from it: they verify source addresses, and their route to it uses another interface.
func (s Snapshot) AddressOutside(p netip.Prefix) netip.Addr {
	for _, a := range s.Host {
		if a.IsGlobalUnicast() && !p.Contains(a) && !s.Has(a) {
			return a
		}
	}
	return netip.Addr{}
}

// Isolates returns nil if the kernel forwards no packets between this interface and another one.
// It depends on nothing that a VM sends.
func (s Snapshot) Isolates() error {
	if len(s.Forwarding) > 0 {
		return fmt.Errorf("the kernel would forward packets from or to %s, so nothing is served: set %s", s.Name, strings.Join(s.Forwarding, "=0, ")+"=0")
	}
	return nil
}

// RouteTo returns the kernel's route to an address: the longest prefix, then the lowest metric. False: none.
func (s Snapshot) RouteTo(a netip.Addr) (best Route, ok bool) {
	for _, r := range s.Routes {
		if !r.To.Contains(a) {
			continue
		}
		if longer := r.To.Bits() - best.To.Bits(); !ok || longer > 0 || longer == 0 && r.Metric < best.Metric {
			best, ok = r, true
		}
	}
	return best, ok
}
