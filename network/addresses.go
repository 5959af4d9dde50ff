// This file decides addresses inside a segment's CIDR. Each default is a fixed
// place in the CIDR, so nothing that is added later moves an address; where a
// default meets something else, that is a problem which names the key to set,
// and nothing is shifted silently.
//
//	place in the CIDR          a /24    what for                    key
//	2nd usable                 .2       next hop                    edge-addresses
//	3rd usable                 .3       service address             edge-addresses
//	4th and 5th usable         .4 .5    first and second edge       edge-addresses
//	10th to last usable but 1  .10-.253 machines, by DHCP           dhcp-range

package network

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"
)

// The annotation keys that problems of this file name.
const (
	fieldEdgeAddresses = "edge-addresses"
	fieldDHCPRange     = "dhcp-range"
	fieldReservations  = "reservations"
	fieldGateway       = "gateway"
	fieldAppsAddress   = "apps-address"
)

// addresses of one segment.
type addresses struct {
	nextHop, service netip.Addr
	edges            []Edge
	reserved         []netip.Addr
	dhcpRange        Range
}

// maxEdges is how many edges a network may have: so many addresses are kept.
const maxEdges = 2

// allocate decides the addresses of one segment for 1 or 2 edges, of which there
// is always one. The second edge's address stays reserved while there is one.
func allocate(s NetworkRequest, edges int) (addresses, Problems) {
	own := s.Settings.EdgeAddresses
	if len(own) == 0 {
		for place := 2; place <= 5; place++ {
			own = append(own, usable(s.CIDR, place))
		}
	}
	var a addresses
	gives := slices.Contains(services(s), ServiceDHCP)
	if gives {
		a.dhcpRange = s.Settings.DHCPRange
		if !a.dhcpRange.First.IsValid() {
			a.dhcpRange = Range{First: usable(s.CIDR, 10), Last: usable(s.CIDR, -2)}
		}
	}
	if p, bad := tooSmall(s, own, a.dhcpRange, gives); bad {
		return a, Problems{p}
	}
	a.nextHop, a.service = own[0], own[1]
	for i, addr := range own[2 : 2+maxEdges] {
		if i < max(1, edges) {
			a.edges = append(a.edges, Edge{Number: i + 1, Address: addr})
		} else {
			a.reserved = append(a.reserved, addr)
		}
	}
	problems := checkOwn(s, own, a.dhcpRange)
	if gives {
		problems = append(problems, checkReservations(s, own)...)
	}
	return a, problems
}

// usable is the address at a place in p: 1 is the first host address, -1 the
// last. The zero address where p has no such place. IPv4 only.
func usable(p netip.Prefix, place int) netip.Addr {
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
	base := p.Masked().Addr().As4()
	var out [4]byte
	binary.BigEndian.PutUint32(out[:], binary.BigEndian.Uint32(base[:])+uint32(at))
	return netip.AddrFrom4(out)
}

func tooSmall(s NetworkRequest, own []netip.Addr, r Range, gives bool) (Problem, bool) {
	p := Problem{Reason: CIDRTooSmall, Field: s.CIDRField, Blocking: true}
	for _, a := range own {
		if !a.IsValid() {
			p.Detail = fmt.Sprintf("CIDR %s of network %s is too small for our own addresses, by default its second to fifth usable one. Choose a larger CIDR (a /28 is the smallest that needs no further annotation).", s.CIDR, s.Attachment)
			return p, true
		}
	}
	if len(own) < 4 {
		p.Reason, p.Field = AnnotationInvalid, fieldEdgeAddresses
		p.Detail = fmt.Sprintf("%s needs four addresses: next hop, service address, and one for each of two edges; it has %d.", fieldEdgeAddresses, len(own))
		return p, true
	}
	if gives && (!r.First.IsValid() || !r.Last.IsValid() || r.Last.Less(r.First)) {
		p.Detail = fmt.Sprintf("CIDR %s of network %s is too small for machines: by default they get the tenth to the last usable address but one. Choose a larger CIDR, or set %s.", s.CIDR, s.Attachment, fieldDHCPRange)
		return p, true
	}
	return Problem{}, false
}

// checkOwn holds our own addresses against everything else on the segment.
func checkOwn(s NetworkRequest, own []netip.Addr, r Range) Problems {
	var ps Problems
	conflict := func(field, format string, args ...any) {
		ps = append(ps, Problem{Reason: AddressConflict, Field: field, Detail: fmt.Sprintf(format, args...), Blocking: true})
	}
	if s.Gateway.IsValid() && !s.CIDR.Contains(s.Gateway) {
		conflict(fieldGateway, "gateway %s is not inside %s, so machines could not reach it.", s.Gateway, s.CIDR)
	}
	for _, end := range []netip.Addr{r.First, r.Last} {
		if end.IsValid() && !inside(s.CIDR, end) {
			conflict(fieldDHCPRange, "%s of the DHCP range is not a host address of %s.", end, s.CIDR)
		}
	}
	seen := map[netip.Addr]bool{}
	for _, a := range own {
		switch {
		case !inside(s.CIDR, a):
			conflict(fieldEdgeAddresses, "%s is not a host address of %s.", a, s.CIDR)
		case seen[a]:
			conflict(fieldEdgeAddresses, "%s is there twice: each of the four needs an address of its own.", a)
		case a == s.Gateway:
			conflict(fieldEdgeAddresses, "%s is the gateway's. Set %s to four other addresses.", a, fieldEdgeAddresses)
		case r.Contains(a):
			conflict(fieldDHCPRange, "the DHCP range %s contains our own address %s. Set %s or %s so that they are apart.", r, a, fieldDHCPRange, fieldEdgeAddresses)
		}
		for _, x := range s.Settings.DHCPExclude {
			if x.Contains(a) {
				conflict(fieldEdgeAddresses, "%s is excluded by dhcp-exclude %s, so somebody else has it. Set %s to four other addresses.", a, x, fieldEdgeAddresses)
			}
		}
		seen[a] = true
	}
	return ps
}

// checkReservations refuses a reservation that could not be kept.
func checkReservations(s NetworkRequest, own []netip.Addr) Problems {
	var ps Problems
	byAddress, byMAC := map[netip.Addr]string{}, map[string]bool{}
	for _, r := range sortedReservations(s.Settings.Reservations) {
		var detail string
		switch other := byAddress[r.Address]; {
		case !inside(s.CIDR, r.Address):
			detail = fmt.Sprintf("%s is not a host address of %s.", r.Address, s.CIDR)
		case slices.Contains(own, r.Address) || r.Address == s.Gateway:
			detail = fmt.Sprintf("%s is ours or the gateway's.", r.Address)
		case other != "":
			detail = fmt.Sprintf("%s is reserved for %s and for %s.", r.Address, other, r.MAC)
		case byMAC[r.MAC]:
			detail = fmt.Sprintf("%s has two reservations.", r.MAC)
		}
		if detail != "" {
			ps = append(ps, Problem{Reason: AddressConflict, Field: fieldReservations, Detail: detail, Blocking: true})
		}
		byAddress[r.Address], byMAC[r.MAC] = r.MAC, true
	}
	return ps
}

// size is how many addresses r has; at most 2^31-1 are counted. IPv4 only.
func (r Range) size() int {
	if !r.First.Is4() || !r.Last.Is4() || r.Last.Less(r.First) {
		return 0
	}
	first, last := r.First.As4(), r.Last.As4()
	n := int64(binary.BigEndian.Uint32(last[:])) - int64(binary.BigEndian.Uint32(first[:])) + 1
	return int(min(n, math.MaxInt32))
}

// inside says whether a is a host address of p: neither network nor broadcast.
func inside(p netip.Prefix, a netip.Addr) bool {
	return p.Contains(a) && usable(p, 1).Compare(a) <= 0 && a.Compare(usable(p, -1)) <= 0
}
