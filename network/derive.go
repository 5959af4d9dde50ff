// This file decides a plan from an intent: which segments are served, and what
// each of them gets. Addresses are decided in addresses.go, connections in
// listeners.go, names in records.go. It never reads anything but the intent.

package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// DefaultLeaseTime is how long an address is given for where nobody says.
const DefaultLeaseTime = Duration(time.Hour)

// NewPlan decides the plan for in, and names what keeps it from being whole.
// With a blocking problem the plan is what could be decided, to be shown and
// never applied.
func NewPlan(in Intent) (Plan, Problems) {
	var problems Problems
	plan := Plan{Cluster: in.Cluster, Networks: []Network{}}
	for i, s := range sortedSegments(in.Segments) {
		if !s.CIDR.IsValid() {
			problems = append(problems, cidrMissing(s, i == 0))
			continue
		}
		n, ps := newNetwork(in, s)
		if ps.Blocking() && !s.Primary {
			problems = append(problems, ps.notBlocking()...)
			continue
		}
		problems = append(problems, ps...)
		plan.Networks = append(plan.Networks, n)
	}
	return plan, problems
}

// sortedSegments puts primary segments first, then orders by attachment, so
// that the order in which NodePools were listed decides nothing.
func sortedSegments(in []Segment) []Segment {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b Segment) int {
		return byPrimary(a.Primary, b.Primary, cmp.Compare(a.Attachment.String(), b.Attachment.String()))
	})
	return out
}

// cidrMissing blocks for the segment that machines boot by. Any other one is
// left out and said, and what it gets later moves nothing.
func cidrMissing(s Segment, first bool) Problem {
	p := Problem{Reason: WaitingForNetwork, Field: s.CIDRField, Detail: fmt.Sprintf(
		"network %s is not served: nobody said its CIDR. Say it by %s.", s.Attachment, s.CIDRField)}
	if first && s.Primary {
		p.Reason, p.Blocking = CIDRMissing, true
	}
	return p
}

func newNetwork(in Intent, s Segment) (Network, Problems) {
	addresses, problems := allocate(s, in.Edges)
	n := Network{
		Name:              s.Attachment.NetworkName(),
		Attachment:        s.Attachment,
		NodePools:         slices.Sorted(slices.Values(s.NodePools)),
		Primary:           s.Primary,
		CIDR:              s.CIDR.Masked(),
		NextHop:           addresses.nextHop,
		ServiceAddress:    addresses.service,
		Edges:             addresses.edges,
		ReservedAddresses: addresses.reserved,
	}
	if s.Primary {
		var ps Problems
		n.PublishedAddresses = publishedAddresses(in.Endpoints)
		problems = append(problems, checkPublished(n)...)
		n.Listeners, n.Backends, ps = connections(n.ServiceAddress, in.Endpoints)
		problems = append(problems, ps...)
		n.DNS = names(n, s, in)
	} else {
		n.DNS.Upstreams.Mode = UpstreamNone
	}
	n.DHCP = offers(n, s, addresses.dhcpRange, in.Cluster.Domain)
	return n, problems
}

// offers is what DHCP tells the machines of n.
func offers(n Network, s Segment, r Range, domain string) DHCP {
	d := DHCP{
		Range:                r,
		Exclude:              sortedRanges(s.Settings.DHCPExclude),
		Reservations:         sortedReservations(s.Settings.Reservations),
		LeaseTime:            cmp.Or(s.Settings.LeaseTime, DefaultLeaseTime),
		ServerID:             n.ServiceAddress,
		MTU:                  cmp.Or(s.Settings.MTU, n.Attachment.MTU),
		NTPServers:           s.Settings.NTPServers,
		Relays:               s.Settings.DHCPRelays,
		IgnoreUnknownClients: s.Settings.IgnoreUnknownClients,
	}
	if s.Gateway.IsValid() && r.Contains(s.Gateway) {
		d.Exclude = sortedRanges(append(d.Exclude, Range{First: s.Gateway, Last: s.Gateway}))
	}
	if !n.Primary {
		return d
	}
	d.Router = n.NextHop
	if s.Gateway.IsValid() {
		d.Router = s.Gateway
	}
	d.Routes = routes(n, d.Router)
	d.DNSServers = []netip.Addr{n.ServiceAddress}
	d.DomainName = domain
	d.SearchDomains = s.Settings.SearchDomains
	if len(d.SearchDomains) == 0 && domain != "" {
		d.SearchDomains = []string{domain}
	}
	return d
}

// routes is option 121: the service address and every published address by way
// of the next hop, whichever edge holds it, and the default route last, since
// clients that know 121 ignore option 3 (RFC 3442).
func routes(n Network, router netip.Addr) []Route {
	out := []Route{{Destination: host(n.ServiceAddress), Via: n.NextHop}}
	for _, a := range n.PublishedAddresses {
		out = append(out, Route{Destination: host(a), Via: n.NextHop})
	}
	return append(out, Route{Destination: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Via: router})
}

func host(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

func publishedAddresses(endpoints []Endpoint) []netip.Addr {
	var out []netip.Addr
	for _, e := range endpoints {
		if e.Match == MatchAny {
			out = append(out, e.Addresses...)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// checkPublished refuses a published address that lies in the segment's own
// CIDR: machines would look for it beside themselves, and the edge could no
// longer tell the two apart.
func checkPublished(n Network) Problems {
	var ps Problems
	for _, a := range n.PublishedAddresses {
		if n.CIDR.Contains(a) {
			ps = append(ps, Problem{Reason: AddressConflict, Field: "spec.services", Blocking: true, Detail: fmt.Sprintf(
				"HyperShift published %s, which lies in the CIDR %s of network %s. Choose another CIDR for the network, or publish by a host name.",
				a, n.CIDR, n.Attachment)})
		}
	}
	return ps
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
