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

// dhcpOptions are the DHCP options for VMs on n, and the pool r if edges run DHCP.
func dhcpOptions(n Network, s NetworkRequest, r Range, domain string) DHCP {
	var d DHCP
	if n.runs(ServiceDHCP) {
		d = dhcpPool(n, s, r)
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

// dhcpPool is what DHCP assigns on n from r, and to which clients.
func dhcpPool(n Network, s NetworkRequest, r Range) DHCP {
	d := DHCP{
		Range:                r,
		Exclude:              sortedRanges(s.Settings.DHCPExclude),
		Reservations:         sortedReservations(s.Settings.Reservations),
		LeaseTime:            cmp.Or(s.Settings.LeaseTime, DefaultLeaseTime),
		ServerID:             n.ServiceVIP,
		Relays:               s.Settings.DHCPRelays,
		IgnoreUnknownClients: s.Settings.IgnoreUnknownClients,
	}
	for _, a := range slices.Concat([]netip.Addr{s.Gateway}, s.Settings.NTPServers, s.Settings.DHCPRelays) {
		if a.IsValid() && r.Contains(a) {
			d.Exclude = sortedRanges(append(d.Exclude, Range{First: a, Last: a}))
		}
	}
	if !d.IgnoreUnknownClients {
		d.ReservedForVMs = min(s.VMs, d.addresses())
	}
	return d
}

// addresses is the number of addresses that DHCP can assign, the reservations outside
// Range not counted.
func (d DHCP) addresses() int {
	n := 0
	for _, r := range d.Range.without(d.Exclude) {
		n += r.size()
	}
	return n
}

// rangeTooSmall returns the problem that the pool has fewer addresses than the cluster
// may have VMs.
func rangeTooSmall(n Network, s NetworkRequest) (Problem, bool) {
	has := n.DHCP.addresses()
	if !n.runs(ServiceDHCP) || has >= s.VMs {
		return Problem{}, false
	}
	args := Args{"count": strconv.Itoa(has), "nodePools": strings.Join(n.NodePools, ", "), "vms": strconv.Itoa(s.VMs)}
	return s.problem(VMsExceedDHCPRange, args, keyDHCPRange), true
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
