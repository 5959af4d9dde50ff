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
	plan := Plan{Cluster: in.Cluster, Endpoints: sortedEndpoints(in.Endpoints), Networks: []Network{}}
	for _, s := range sortedSegments(in.Segments) {
		if !s.CIDR.IsValid() {
			problems = append(problems, cidrMissing(s, in.Segments))
			continue
		}
		if p, none := nobodyServes(s); none {
			problems = append(problems, p)
			continue
		}
		if other, met := in.met(s, plan.Networks); met {
			problems = append(problems, overlapping(in, s, other))
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
	return plan.Placed(in.Placement), problems
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

// cidrMissing blocks where no machine could boot for want of a CIDR. Any other
// segment without is left out and said, and what it gets later moves nothing.
func cidrMissing(s Segment, all []Segment) Problem {
	p := Problem{Reason: WaitingForNetwork, Field: s.CIDRField, Detail: fmt.Sprintf(
		"network %s is not served: nobody said its CIDR. Say it by %s.", s.Attachment, s.CIDRField)}
	if s.CIDRUnused != "" {
		p.Detail += " " + s.CIDRUnused
	}
	boots := slices.ContainsFunc(all, func(x Segment) bool { return x.Primary && x.CIDR.IsValid() })
	if s.Primary && !boots {
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
		Services:          services(s),
		CIDR:              s.CIDR.Masked(),
		NextHop:           addresses.nextHop,
		ServiceAddress:    addresses.service,
		Edges:             addresses.edges,
		ReservedAddresses: addresses.reserved,
	}
	endpoints := in.Endpoints
	if !n.runs(ServiceProxy) {
		in.Endpoints, in.Announced = nil, nil
	}
	n.DNS.Upstreams.Mode = UpstreamNone
	if s.Primary {
		var ps Problems
		n.PublishedAddresses = publishedAddresses(in.Endpoints)
		n.Listeners, n.Backends, ps = connections(n.ServiceAddress, in.Endpoints)
		n.Elsewhere, n.ElsewhereNodes = keptFromOutside(n, in.Elsewhere)
		problems = append(problems, ps...)
	}
	if n.runs(ServiceDNS) {
		n.DNS = names(n, s, in)
		if p, ours := ourApps(n, in); ours && n.Primary {
			problems = append(problems, p)
		}
	}
	problems = append(problems, conflicts(n, s, in)...)
	n.DHCP = offers(n, s, addresses.dhcpRange, in.Cluster.Domain)
	if p, small := rangeTooSmall(n, s); small {
		problems = append(problems, p)
	}
	return n, append(problems, byOthers(n, endpoints)...)
}

// offers is what DHCP tells the machines of n, and which addresses it gives them
// where it is ours.
func offers(n Network, s Segment, r Range, domain string) DHCP {
	d := DHCP{MTU: cmp.Or(s.Settings.MTU, n.Attachment.MTU), NTPServers: s.Settings.NTPServers}
	if n.runs(ServiceDHCP) {
		d.gives(n, s, r)
	}
	if !n.Primary {
		return d
	}
	d.Router = n.NextHop
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

// gives is what d gives out on n, from r.
func (d *DHCP) gives(n Network, s Segment, r Range) {
	d.Range = r
	d.Exclude = sortedRanges(s.Settings.DHCPExclude)
	d.Reservations = sortedReservations(s.Settings.Reservations)
	d.LeaseTime = cmp.Or(s.Settings.LeaseTime, DefaultLeaseTime)
	d.ServerID = n.ServiceAddress
	d.Relays = s.Settings.DHCPRelays
	d.IgnoreUnknownClients = s.Settings.IgnoreUnknownClients
	for _, a := range slices.Concat([]netip.Addr{s.Gateway}, s.Settings.NTPServers, s.Settings.DHCPRelays) {
		if a.IsValid() && r.Contains(a) {
			d.Exclude = sortedRanges(append(d.Exclude, Range{First: a, Last: a}))
		}
	}
	if !d.IgnoreUnknownClients {
		d.KeptForMachines = min(s.Machines, d.addresses())
	}
}

// addresses is how many there are to give out.
func (d DHCP) addresses() int {
	n := 0
	for _, r := range d.Range.without(d.Exclude) {
		n += r.size()
	}
	return n
}

// rangeTooSmall says that there are fewer addresses than machines may want.
func rangeTooSmall(n Network, s Segment) (Problem, bool) {
	has := n.DHCP.addresses()
	if !n.runs(ServiceDHCP) || has >= s.Machines {
		return Problem{}, false
	}
	return Problem{Reason: RangeTooSmall, Field: fieldDHCPRange, Detail: fmt.Sprintf(
		"network %s gives out %d addresses, and NodePools %s may have %d machines there at once, those included that an update adds for a while: the last of them get none. Enlarge %s, or lower the NodePools' limits.",
		n.Attachment, has, strings.Join(n.NodePools, ", "), s.Machines, fieldDHCPRange)}, true
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
