// This file assigns addresses in a network's CIDR. Each default is a fixed position in the CIDR, so later additions
// move no address. If a default conflicts with another address, a problem names the key to set, and no other address
// is tried.
//
//	position in the CIDR       in a /24  used for                   key
//	2nd usable                 .2        next-hop VIP               edge-addresses
//	3rd usable                 .3        service VIP                edge-addresses
//	4th and 5th usable         .4 .5     edge 1 and edge 2          edge-addresses
//	10th to last usable but 1  .10-.253  DHCP pool for VMs          dhcp-range

package served

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// Addresses are the assigned addresses of one network.
type Addresses struct {
	nextHopVIP, serviceVIP netip.Addr
	edges                  []network.Edge
	reserved               []netip.Addr
	dhcpRange              network.Range
}

// Allocate returns the addresses of one network. With less than 2 edges, the address of the second edge is reserved.
func Allocate(s network.NetworkRequest, edges int) (Addresses, problem.Problems) {
	own := s.Settings.EdgeAddresses
	if len(own) == 0 {
		for place := 2; place <= 5; place++ {
			own = append(own, network.HostAddress(s.CIDR, place))
		}
	}
	var a Addresses
	gives := slices.Contains(Services(s), network.ServiceDHCP)
	if gives {
		a.dhcpRange = s.Settings.DHCPRange
		if !a.dhcpRange.First.IsValid() {
			a.dhcpRange = network.Range{First: network.HostAddress(s.CIDR, 10), Last: network.HostAddress(s.CIDR, -2)}
		}
	}
	if p, bad := cidrTooSmall(s, own, a.dhcpRange, gives); bad {
		return a, problem.Problems{p}
	}
	own = own[:2+network.MaxEdges]
	a.nextHopVIP, a.serviceVIP = own[0], own[1]
	for i, addr := range own[2:] {
		if i < max(1, edges) {
			a.edges = append(a.edges, network.Edge{Number: i + 1, Address: addr})
		} else {
			a.reserved = append(a.reserved, addr)
		}
	}
	problems := checkEdgeAddresses(s, own, a.dhcpRange)
	if gives {
		problems = append(problems, checkReservations(s, own)...)
	}
	return a, append(problems, unusedAddresses(s, a.dhcpRange, gives)...)
}

// cidrTooSmall returns the problem that the CIDR has no room for the default addresses, or that edge-addresses has too few.
func cidrTooSmall(s network.NetworkRequest, own []netip.Addr, r network.Range, gives bool) (problem.Problem, bool) {
	switch {
	case slices.ContainsFunc(own, func(a netip.Addr) bool { return !a.IsValid() }):
		return s.Problem(problem.CIDRTooSmallForEdges, problem.Args{"cidr": {s.CIDR.String()}, "where": {s.CIDRField}}, s.CIDRKeys...), true
	case len(own) < 2+network.MaxEdges:
		return s.Problem(problem.EdgeAddressCount, problem.Args{"count": {strconv.Itoa(len(own))}}, network.KeyEdgeAddresses), true
	case gives && (!r.First.IsValid() || !r.Last.IsValid() || r.Last.Less(r.First)):
		keys := append(slices.Clone(s.CIDRKeys), network.KeyDHCPRange)
		return s.Problem(problem.CIDRTooSmallForVMs, problem.Args{"cidr": {s.CIDR.String()}, "where": {s.CIDRField}}, keys...), true
	}
	return problem.Problem{}, false
}

// checkEdgeAddresses returns problems if own, the addresses in edge-addresses, conflict with the CIDR, the gateway, the
// DHCP pool r or each other.
func checkEdgeAddresses(s network.NetworkRequest, own []netip.Addr, r network.Range) problem.Problems {
	var ps problem.Problems
	cidr := s.CIDR.String()
	if s.Gateway.IsValid() && !network.Inside(s.CIDR, s.Gateway) {
		ps = append(ps, s.Problem(problem.GatewayOutsideCIDR, problem.Args{"cidr": {cidr}, "gateway": {s.Gateway.String()}}, network.KeyGateway))
	}
	for _, end := range []netip.Addr{r.First, r.Last} {
		if end.IsValid() && !network.Inside(s.CIDR, end) {
			ps = append(ps, s.Problem(problem.DHCPRangeOutsideCIDR, problem.Args{"cidr": {cidr}, "address": {end.String()}}, network.KeyDHCPRange))
		}
	}
	roles := map[netip.Addr]string{s.Gateway: "gateway"}
	for i, a := range own {
		address, role := a.String(), network.Roles()[i]
		switch {
		case !network.Inside(s.CIDR, a):
			ps = append(ps, s.Problem(problem.EdgeAddressOutsideCIDR, problem.Args{"cidr": {cidr}, "role": {role}, "address": {address}}, network.KeyEdgeAddresses))
		case roles[a] != "":
			args := problem.Args{"role": {role}, "address": {address}, "otherRole": {roles[a]}}
			ps = append(ps, s.Problem(problem.EdgeAddressRepeated, args, network.KeyEdgeAddresses, network.KeyGateway))
		case r.Contains(a):
			args := problem.Args{"role": {role}, "address": {address}, "range": {r.String()}}
			ps = append(ps, s.Problem(problem.EdgeAddressInDHCPRange, args, network.KeyDHCPRange, network.KeyEdgeAddresses))
		}
		for _, x := range s.Settings.DHCPExclude {
			if x.Contains(a) {
				args := problem.Args{"role": {role}, "address": {address}, "range": {x.Short()}}
				ps = append(ps, s.Problem(problem.EdgeAddressExcluded, args, network.KeyEdgeAddresses, network.KeyDHCPExclude))
				break // One range is enough.
			}
		}
		roles[a] = cmp.Or(roles[a], role)
	}
	return ps
}

// checkReservations returns at most maxProblems problems of reservations.
func checkReservations(s network.NetworkRequest, own []netip.Addr) problem.Problems {
	var ps problem.Problems
	entries := map[string]string{} // The first one with each address, and with each MAC.
	for _, r := range sortedReservations(s.Settings.Reservations) {
		if len(ps) == maxProblems {
			break
		}
		address := r.Address.String()
		add := func(c problem.Cause, args problem.Args) { ps = append(ps, s.Problem(c, args, network.KeyReservations)) }
		entry := r.MAC + "=" + address
		switch other := cmp.Or(entries[address], entries[r.MAC]); {
		case !network.Inside(s.CIDR, r.Address), slices.Contains(own, r.Address), r.Address == s.Gateway:
			add(problem.ReservationUnusable, problem.Args{"cidr": {s.CIDR.String()}, "address": {address}, "mac": {r.MAC}})
		case other != "":
			add(problem.ReservationRepeated, problem.Args{"reservation": {entry}, "otherReservation": {other}})
		}
		entries[address], entries[r.MAC] = cmp.Or(entries[address], entry), cmp.Or(entries[r.MAC], entry)
	}
	return ps
}

// ByRole returns the addresses in the order of edge-addresses.
func (a Addresses) ByRole() []netip.Addr {
	out := []netip.Addr{a.nextHopVIP, a.serviceVIP}
	for _, e := range a.edges {
		out = append(out, e.Address)
	}
	return append(out, a.reserved...)
}
