// This file decides the DHCP options and the pool of a network.

package served

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// dhcpOptions returns the options for VMs on n, and the pool r if edges run DHCP.
func dhcpOptions(n network.Network, s network.NetworkRequest, r network.Range, in Input) network.DHCP {
	var d network.DHCP
	if n.Runs(network.ServiceDHCP) {
		d = dhcpPool(n, s, r, in.NodeAPI)
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
	d.DomainName = in.Cluster.Domain
	d.SearchDomains = s.Settings.SearchDomains
	if _, known := namesOf(n).covering(d.DomainName); len(d.SearchDomains) == 0 && d.DomainName != "" && !leadsToManagement(n, in, d.DomainName, known) {
		d.SearchDomains = []string{d.DomainName}
	}
	return d
}

// dhcpPool returns what DHCP assigns on n from r, and to which clients. nodeAPI is left out: each VM has it on its
// loopback interface.
func dhcpPool(n network.Network, s network.NetworkRequest, r network.Range, nodeAPI netip.Addr) network.DHCP {
	d := network.DHCP{
		Range:                r,
		Exclude:              sortedRanges(s.Settings.DHCPExclude),
		Reservations:         sortedReservations(s.Settings.Reservations),
		LeaseTime:            cmp.Or(s.Settings.LeaseTime, network.DefaultLeaseTime),
		ServerID:             n.ServiceVIP,
		Relays:               s.Settings.DHCPRelays,
		IgnoreUnknownClients: s.Settings.IgnoreUnknownClients,
	}
	for _, a := range slices.Concat([]netip.Addr{s.Gateway, nodeAPI}, s.Settings.NTPServers, s.Settings.DHCPRelays) {
		if a.IsValid() && r.Contains(a) {
			d.Exclude = sortedRanges(append(d.Exclude, network.Range{First: a, Last: a}))
		}
	}
	if !d.IgnoreUnknownClients {
		d.ReservedForVMs = min(s.VMs, d.Addresses())
	}
	return d
}

// named returns the addresses in n's pool that belong to other hosts: givenAddresses, and those at which HyperShift
// publishes endpoints. A VM must not get the address of another host.
func named(n network.Network, in Input) []netip.Addr {
	all := append(givenAddresses(in), in.Announced...)
	for _, e := range in.Endpoints {
		all = append(all, e.Addresses...)
	}
	excluded := func(a netip.Addr) bool {
		return slices.ContainsFunc(n.DHCP.Exclude, func(r network.Range) bool { return r.Contains(a) })
	}
	all = network.Without(all, func(a netip.Addr) bool { return !n.DHCP.Range.Contains(a) || excluded(a) })
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// givenAddresses returns addresses on any network that belong to a host: a load balancer, a source of images, an
// identity provider, and what the user named, set as a server, or opened to the management cluster.
func givenAddresses(in Input) []netip.Addr {
	all := slices.Clone(in.Apps.Addresses)
	for _, e := range in.Endpoints {
		all = append(all, e.LoadBalancer)
	}
	for _, b := range in.Balanced {
		all = append(all, b.Address)
	}
	for _, s := range in.LoadBalancers {
		all = append(all, s.Addresses...)
	}
	for _, e := range in.Access.Entries {
		all = append(all, e.Addresses...)
	}
	for _, h := range slices.Concat(in.ImageHosts, in.ProviderHosts) {
		all = append(all, h.Addr())
	}
	for _, s := range in.Networks {
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
	return all
}

// reservedFor returns how many reservations VMs on this network can use. If VMs report their MACs, which are random,
// only reservations for these MACs count.
func reservedFor(d network.DHCP, name string, seen []network.VMAddress) int {
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

// keysOfTaken returns the annotation keys that take addresses out of Range, and the key of Range.
func keysOfTaken(d network.DHCP) []string {
	out := []string{network.KeyDHCPExclude}
	if len(d.Named) > 0 {
		out = []string{network.KeyAppsAddress, network.KeyRecords, network.KeyUpstreams, network.KeyDHCPExclude}
	}
	if len(d.Reservations) > 0 {
		out = append(out, network.KeyReservations)
	}
	return append(out, network.KeyDHCPRange)
}

// rangeTooSmall returns the problem that the pool has fewer addresses than the cluster may have VMs, an Error if no VM can
// get one. seen are the addresses that VMs report.
func rangeTooSmall(n network.Network, s network.NetworkRequest, seen []network.VMAddress) (problem.Problem, bool) {
	free := n.DHCP.Unassigned()
	has := free + reservedFor(n.DHCP, n.Name, seen)
	switch {
	case !n.Runs(network.ServiceDHCP) || !n.DHCP.Range.First.IsValid():
		return problem.Problem{}, false
	case has == 0:
		return s.Problem(problem.DHCPRangeEmpty, problem.Args{"range": {n.DHCP.Range.String()}}, keysOfTaken(n.DHCP)...), true
	case has >= s.VMs:
		return problem.Problem{}, false
	}
	args := problem.Args{"count": {strconv.Itoa(has)}, "nodePools": n.NodePools, "vms": {strconv.Itoa(s.VMs)}}
	return s.Problem(problem.VMsExceedDHCPRange, args, network.KeyDHCPRange), true
}

func mtuTooLarge(n network.Network, s network.NetworkRequest) (problem.Problem, bool) {
	of := n.Attachment.InterfaceMTU()
	if of == 0 || s.Settings.MTU <= of {
		return problem.Problem{}, false
	}
	return s.Problem(problem.MTUExceedsNAD, problem.Args{"mtu": {strconv.Itoa(s.Settings.MTU)}, "ofNAD": {strconv.Itoa(of)}}, network.KeyMTU), true
}

// routes returns option 121 (RFC 3442): the service VIP and every published address through the next-hop VIP, and the
// default route last. Clients that support option 121 ignore option 3.
func routes(n network.Network, router netip.Addr) []network.Route {
	out := []network.Route{{Destination: network.Host(n.ServiceVIP), Via: n.NextHopVIP}}
	for _, a := range n.PublishedAddresses {
		out = append(out, network.Route{Destination: network.Host(a), Via: n.NextHopVIP})
	}
	return append(out, network.Route{Destination: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Via: router})
}

func sortedRanges(in []network.Range) []network.Range {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b network.Range) int { return cmp.Or(a.First.Compare(b.First), a.Last.Compare(b.Last)) })
	return slices.Compact(out)
}

func sortedReservations(in []network.Reservation) []network.Reservation {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b network.Reservation) int {
		return cmp.Or(strings.Compare(a.MAC, b.MAC), a.Address.Compare(b.Address))
	})
	return out
}
