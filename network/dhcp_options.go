// This file decides the DHCP options and the pool of a network.

package network

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DefaultLeaseTime is the lease time if the user sets none.
const DefaultLeaseTime = Duration(time.Hour)

// MinMTU and MaxMTU are the smallest and the largest MTU of a network, in bytes. Each IPv4 host
// takes packets of MinMTU (RFC 1122).
const (
	MinMTU = 576
	MaxMTU = 65535
)

// dhcpOptions are the DHCP options for VMs on n, and the pool r if edges run DHCP.
func dhcpOptions(n Network, s NetworkRequest, r Range, domain string, nodeAPI netip.Addr) DHCP {
	var d DHCP
	if n.runs(ServiceDHCP) {
		d = dhcpPool(n, s, r, nodeAPI)
	}
	d.MTU, d.NTPServers = cmp.Or(s.Settings.MTU, n.Attachment.MTU), s.Settings.NTPServers
	if !n.Primary {
		return d
	}
	d.Router = n.NextHopVIP
	if s.Gateway.IsValid() {
		d.Router = s.Gateway
	}
	d.Routes = routes(n, d.Router)
	d.DNSServers = nameServers(n, s)
	d.DomainName = domain
	d.SearchDomains = s.Settings.SearchDomains
	if len(d.SearchDomains) == 0 && domain != "" {
		d.SearchDomains = []string{domain}
	}
	return d
}

// dhcpPool is what DHCP assigns on n from r, and to which clients. Each VM has nodeAPI itself.
func dhcpPool(n Network, s NetworkRequest, r Range, nodeAPI netip.Addr) DHCP {
	d := DHCP{
		Range:                r,
		Exclude:              sortedRanges(s.Settings.DHCPExclude),
		Reservations:         sortedReservations(s.Settings.Reservations),
		LeaseTime:            cmp.Or(s.Settings.LeaseTime, DefaultLeaseTime),
		ServerID:             n.ServiceVIP,
		Relays:               s.Settings.DHCPRelays,
		IgnoreUnknownClients: s.Settings.IgnoreUnknownClients,
	}
	for _, a := range slices.Concat([]netip.Addr{s.Gateway, nodeAPI}, s.Settings.NTPServers, s.Settings.DHCPRelays) {
		if a.IsValid() && r.Contains(a) {
			d.Exclude = sortedRanges(append(d.Exclude, Range{First: a, Last: a}))
		}
	}
	if !d.IgnoreUnknownClients {
		d.ReservedForVMs = min(s.VMs, d.addresses())
	}
	return d
}

// named returns the addresses in n's pool that the user gave to a host, on this network or on
// another one of the cluster: those with a name, those of servers, and those that are open to the
// management cluster. The address of the ingress's load balancer is one.
func named(n Network, in input) []netip.Addr {
	all := slices.Clone(in.Apps.Addresses)
	for _, e := range in.Endpoints {
		all = append(all, e.LoadBalancer)
	}
	for _, e := range in.Access.Entries {
		all = append(all, e.Addresses...)
	}
	for _, s := range in.Networks {
		if slices.Contains(in.refused, s.Attachment.NetworkName()) {
			continue // as if it was not requested
		}
		for _, r := range s.Settings.Records {
			all = append(all, r.Addresses...)
		}
		if u := s.Settings.Upstreams; u != nil {
			for _, server := range u.Servers {
				all = append(all, server.Addr())
			}
		}
		all = append(all, s.Settings.NTPServers...)
	}
	excluded := func(a netip.Addr) bool {
		return slices.ContainsFunc(n.DHCP.Exclude, func(r Range) bool { return r.Contains(a) })
	}
	all = without(all, func(a netip.Addr) bool { return !n.DHCP.Range.Contains(a) || excluded(a) })
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// addresses is the number of addresses that DHCP can assign, the reservations outside
// Range not counted.
func (d DHCP) addresses() int { return d.Range.sizeWithout(d.Exclude) }

// unassigned is the number of addresses in Range that a VM without a reservation can get.
func (d DHCP) unassigned() int {
	taken := slices.Clone(d.Exclude)
	for _, a := range d.Named {
		taken = append(taken, Range{First: a, Last: a})
	}
	for _, r := range d.Reservations {
		taken = append(taken, Range{First: r.Address, Last: r.Address})
	}
	return d.Range.sizeWithout(taken)
}

// sizeWithout is the number of addresses in r that are in none of holes.
func (r Range) sizeWithout(holes []Range) int {
	n := 0
	for _, part := range r.Without(holes) {
		n += part.Size()
	}
	return n
}

// reservedFor is the number of reservations that VMs on the network of this name can use. VMs
// have random MACs. So a reservation for another MAC is for no VM, once VMs report theirs.
func (d DHCP) reservedFor(name string, seen []VMAddress) int {
	macs := map[string]bool{}
	for _, v := range seen {
		if v.Network == name && v.MAC != "" {
			macs[v.MAC] = true
		}
	}
	if len(macs) == 0 {
		return len(d.Reservations)
	}
	n := 0
	for _, r := range d.Reservations {
		if macs[r.MAC] {
			n++
		}
	}
	return n
}

// keysOfTaken are the annotation keys that take addresses out of Range, and that of Range.
func (d DHCP) keysOfTaken() []string {
	out := []string{keyDHCPExclude}
	if len(d.Named) > 0 {
		out = []string{keyAppsAddress, keyRecords, keyUpstreams, keyDHCPExclude}
	}
	if len(d.Reservations) > 0 {
		out = append(out, keyReservations)
	}
	return append(out, keyDHCPRange)
}

// Assignable returns the addresses that VMs can have: the reservations, then those in Range,
// at most that many.
func (d DHCP) Assignable(most int) []netip.Addr {
	var out []netip.Addr
	for _, r := range d.Reservations {
		out = append(out, r.Address)
	}
	for _, r := range d.Range.Without(d.Exclude) {
		for a := r.First; len(out) < most && r.Contains(a); a = a.Next() {
			if !slices.Contains(out[:min(len(out), len(d.Reservations))], a) {
				out = append(out, a)
			}
		}
	}
	return out[:min(len(out), most)]
}

// rangeTooSmall returns the problem that there are fewer addresses than the cluster may have
// VMs. It is an Error if no VM can get an address. seen are the addresses that VMs report.
func rangeTooSmall(n Network, s NetworkRequest, seen []VMAddress) (Problem, bool) {
	free := n.DHCP.unassigned()
	has := free + n.DHCP.reservedFor(n.Name, seen)
	switch {
	case !n.runs(ServiceDHCP) || !n.DHCP.Range.First.IsValid():
		return Problem{}, false
	case has == 0:
		return s.problem(DHCPRangeEmpty, Args{"range": n.DHCP.Range.String()}, n.DHCP.keysOfTaken()...), true
	case has >= s.VMs:
		return Problem{}, false
	}
	args := Args{"count": strconv.Itoa(has), "nodePools": strings.Join(n.NodePools, ", "), "vms": strconv.Itoa(s.VMs)}
	return s.problem(VMsExceedDHCPRange, args, keyDHCPRange), true
}

// mtuTooLarge returns the problem that VMs on n would have a larger MTU than its NAD has.
func mtuTooLarge(n Network, s NetworkRequest) (Problem, bool) {
	of := n.Attachment.MTU
	if of == 0 || s.Settings.MTU <= of {
		return Problem{}, false
	}
	return s.problem(MTUExceedsNAD, Args{"mtu": strconv.Itoa(s.Settings.MTU), "ofNAD": strconv.Itoa(of)}, keyMTU), true
}

// routes is option 121 (RFC 3442): the service VIP and every published address through
// the next-hop VIP, and the default route last. Clients that support 121 ignore option 3.
func routes(n Network, router netip.Addr) []Route {
	out := []Route{{Destination: host(n.ServiceVIP), Via: n.NextHopVIP}}
	for _, a := range n.PublishedAddresses {
		out = append(out, Route{Destination: host(a), Via: n.NextHopVIP})
	}
	return append(out, Route{Destination: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Via: router})
}

func sortedRanges(in []Range) []Range {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b Range) int { return cmp.Or(a.First.Compare(b.First), a.Last.Compare(b.Last)) })
	return slices.Compact(out)
}

func sortedReservations(in []Reservation) []Reservation {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b Reservation) int {
		return cmp.Or(strings.Compare(a.MAC, b.MAC), a.Address.Compare(b.Address))
	})
	return out
}
