// This file assigns addresses in a network's CIDR. Each default is a fixed position
// in the CIDR, so later additions move no address. A default that conflicts with
// another address is a problem that names the key to set. No address is shifted.
//
//	position in the CIDR       in a /24  used for                   key
//	2nd usable                 .2        next-hop VIP               edge-addresses
//	3rd usable                 .3        service VIP                edge-addresses
//	4th and 5th usable         .4 .5     edge 1 and edge 2          edge-addresses
//	10th to last usable but 1  .10-.253  DHCP pool for VMs          dhcp-range

package network

import (
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
	"strconv"
)

// The annotation keys that problems name.
const (
	keyEdgeAddresses = "edge-addresses"
	keyDHCPRange     = "dhcp-range"
	keyDHCPExclude   = "dhcp-exclude"
	keyReservations  = "reservations"
	keyCIDR          = "cidr"
	keyGateway       = "gateway"
	keyAppsAddress   = "apps-address"
	keyMTU           = "mtu"
)

// addresses are the assigned addresses of one network.
type addresses struct {
	nextHopVIP, serviceVIP netip.Addr
	edges                  []Edge
	reserved               []netip.Addr
	dhcpRange              Range
}

// maxEdges is the largest number of edges of a network. Each has a reserved address.
const maxEdges = 2

// allocate assigns the addresses of one network. The number of edges is 1 or 2; less
// than 1 counts as 1. With one edge, the address of the second is reserved.
func allocate(s NetworkRequest, edges int) (addresses, Problems) {
	own := s.Settings.EdgeAddresses
	if len(own) == 0 {
		for place := 2; place <= 5; place++ {
			own = append(own, HostAddress(s.CIDR, place))
		}
	}
	var a addresses
	gives := slices.Contains(services(s), ServiceDHCP)
	if gives {
		a.dhcpRange = s.Settings.DHCPRange
		if !a.dhcpRange.First.IsValid() {
			a.dhcpRange = Range{First: HostAddress(s.CIDR, 10), Last: HostAddress(s.CIDR, -2)}
		}
	}
	if p, bad := cidrTooSmall(s, own, a.dhcpRange, gives); bad {
		return a, Problems{p}
	}
	own = own[:2+maxEdges]
	a.nextHopVIP, a.serviceVIP = own[0], own[1]
	for i, addr := range own[2:] {
		if i < max(1, edges) {
			a.edges = append(a.edges, Edge{Number: i + 1, Address: addr})
		} else {
			a.reserved = append(a.reserved, addr)
		}
	}
	problems := checkEdgeAddresses(s, own, a.dhcpRange)
	if gives {
		problems = append(problems, checkReservations(s, own)...)
	}
	return a, append(problems, unusedSettings(s, a.dhcpRange, gives)...)
}

// HostAddress returns the host address at a position in p: 1 is the first, -1 the last.
// It is zero if p is not IPv4 or has no such position.
func HostAddress(p netip.Prefix, place int) netip.Addr {
	if !p.Addr().Is4() {
		return netip.Addr{}
	}
	size := int64(1) << (32 - p.Bits())
	at := int64(place)
	if place < 0 {
		at = size - 1 + int64(place)
	}
	if at < 1 || at > size-2 {
		return netip.Addr{}
	}
	return AddressOf(Number(p.Masked().Addr()) + uint32(at))
}

// Number returns an IPv4 address as a number: the next address has the next number.
func Number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// AddressOf returns the IPv4 address with a Number.
func AddressOf(n uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}

// cidrTooSmall returns the problem of a CIDR without room for the default addresses,
// or of an edge-addresses list that is too short.
func cidrTooSmall(s NetworkRequest, own []netip.Addr, r Range, gives bool) (Problem, bool) {
	switch {
	case slices.ContainsFunc(own, func(a netip.Addr) bool { return !a.IsValid() }):
		return s.problem(CIDRTooSmallForEdges, Args{"cidr": s.CIDR.String(), "where": s.CIDRField}, s.CIDRKeys...), true
	case len(own) < 2+maxEdges:
		return s.problem(EdgeAddressCount, Args{"count": strconv.Itoa(len(own))}, keyEdgeAddresses), true
	case gives && (!r.First.IsValid() || !r.Last.IsValid() || r.Last.Less(r.First)):
		keys := append(slices.Clone(s.CIDRKeys), keyDHCPRange)
		return s.problem(CIDRTooSmallForVMs, Args{"cidr": s.CIDR.String(), "where": s.CIDRField}, keys...), true
	}
	return Problem{}, false
}

// roles name the addresses in edge-addresses, in order.
func roles() []string {
	return []string{"next-hop VIP", "service VIP", "edge 1 address", "edge 2 address"}
}

// checkEdgeAddresses compares own, the addresses in edge-addresses, with the CIDR, the
// gateway and the DHCP pool.
func checkEdgeAddresses(s NetworkRequest, own []netip.Addr, r Range) Problems {
	var ps Problems
	cidr := s.CIDR.String()
	if s.Gateway.IsValid() && !inside(s.CIDR, s.Gateway) {
		ps = append(ps, s.problem(GatewayOutsideCIDR, Args{"cidr": cidr, "gateway": s.Gateway.String()}, keyGateway))
	}
	for _, end := range []netip.Addr{r.First, r.Last} {
		if end.IsValid() && !inside(s.CIDR, end) {
			ps = append(ps, s.problem(DHCPRangeOutsideCIDR, Args{"cidr": cidr, "address": end.String()}, keyDHCPRange))
		}
	}
	seen := map[netip.Addr]bool{}
	for i, a := range own {
		address, role := a.String(), roles()[i]
		switch {
		case !inside(s.CIDR, a):
			ps = append(ps, s.problem(EdgeAddressOutsideCIDR, Args{"cidr": cidr, "role": role, "address": address}, keyEdgeAddresses))
		case seen[a]:
			ps = append(ps, s.problem(EdgeAddressRepeated, Args{"address": address}, keyEdgeAddresses))
		case a == s.Gateway:
			ps = append(ps, s.problem(EdgeAddressIsGateway, Args{"role": role, "address": address}, keyEdgeAddresses, keyGateway))
		case r.Contains(a):
			args := Args{"role": role, "address": address, "range": r.String()}
			ps = append(ps, s.problem(EdgeAddressInDHCPRange, args, keyDHCPRange, keyEdgeAddresses))
		}
		for _, x := range s.Settings.DHCPExclude {
			if x.Contains(a) {
				args := Args{"role": role, "address": address, "range": x.short()}
				ps = append(ps, s.problem(EdgeAddressExcluded, args, keyEdgeAddresses, keyDHCPExclude))
			}
		}
		seen[a] = true
	}
	return ps
}

// checkReservations returns a problem for each reservation that cannot be granted.
func checkReservations(s NetworkRequest, own []netip.Addr) Problems {
	var ps Problems
	byAddress, byMAC := map[netip.Addr]string{}, map[string]bool{}
	for _, r := range sortedReservations(s.Settings.Reservations) {
		address := r.Address.String()
		add := func(c Cause, args Args) { ps = append(ps, s.problem(c, args, keyReservations)) }
		switch other := byAddress[r.Address]; {
		case !inside(s.CIDR, r.Address):
			add(ReservationOutsideCIDR, Args{"cidr": s.CIDR.String(), "address": address, "mac": r.MAC})
		case slices.Contains(own, r.Address) || r.Address == s.Gateway:
			add(ReservationOfEdgeAddress, Args{"address": address, "mac": r.MAC})
		case other != "":
			add(ReservedAddressRepeated, Args{"address": address, "mac": r.MAC, "otherMAC": other})
		case byMAC[r.MAC]:
			add(ReservedMACRepeated, Args{"mac": r.MAC})
		}
		byAddress[r.Address], byMAC[r.MAC] = r.MAC, true
	}
	return ps
}

// short is String, or the address if there is only one.
func (r Range) short() string {
	if r.First == r.Last {
		return r.First.String()
	}
	return r.String()
}

// Size is the number of addresses in r, at most 2^31-1. It is 0 unless r is IPv4.
func (r Range) Size() int {
	if !r.First.Is4() || !r.Last.Is4() || r.Last.Less(r.First) {
		return 0
	}
	return int(min(int64(Number(r.Last))-int64(Number(r.First))+1, math.MaxInt32))
}

// inside reports whether a is a host address of p. The network and broadcast
// addresses are not.
func inside(p netip.Prefix, a netip.Addr) bool {
	return p.Contains(a) && HostAddress(p, 1).Compare(a) <= 0 && a.Compare(HostAddress(p, -1)) <= 0
}
