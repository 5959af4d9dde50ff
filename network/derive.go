// This file decides the plan of a hosted cluster: Derive is the one way to it. The
// decisions of each step are in files of their own.

package network

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DefaultLeaseTime is the lease time where the user sets none.
const DefaultLeaseTime = Duration(time.Hour)

// Derive decides what is served to a hosted cluster: from what the user asks, what
// is seen now, last (the plan in force; the zero Plan: none), and the other hosted
// clusters on the same networks. The steps, in this order:
//
//  1. An endpoint that is not seen now keeps its last known good (lastgood.go).
//  2. A network with VMs on it keeps its addresses (pinned.go).
//  3. Each network that is asked for gets addresses (addresses.go), servers
//     (services.go), listeners (listeners.go) and names (records.go); one whose CIDR
//     overlaps that of an older network waits (overlap.go), and none may hide what
//     edges or nodes must reach elsewhere (reserved.go).
//  4. A network that has addresses of another hosted cluster gives way (sharing.go).
//  5. A network of which a VM has an edge's address is refused (inuse.go).
//  6. A network in force that can't be decided now, and is still wanted, stays as it
//     is (lastgood.go).
//  7. Where another hosted cluster is on a network too, only own VMs get an address
//     (sharing.go).
//  8. Each network's edges are placed on nodes (placement.go).
//
// It is total, and depends on nothing else: equal arguments, in whatever order they
// list things, give equal decisions. With the plan that it returned as last, it
// returns the same plan again. No argument is changed.
func Derive(r Request, f Facts, last Plan, others []OtherCluster) Decision {
	seen := input{Request: r, Facts: f}.withLastKnownGood(last)
	in, pinned := seen.withPinned(last)
	plan, refused := settled(in)
	plan, yielding := plan.yielding(others, last)
	plan, inUse := plan.withoutInUse(f.VMAddresses, last)
	whole := plan.retaining(last, r.Wanted)
	displaced := plan.displaced(whole)
	whole = whole.answeringOwnVMs(others).placed(r.Placement)
	return Decision{draft: whole, Problems: slices.Concat(f.Problems.stale(last), pinned, refused, yielding, inUse, displaced)}
}

// A Decision is a plan, and everything that keeps it from being what the user asks.
type Decision struct {
	// Problems in the order of the steps. Errors refuse the plan.
	Problems Problems
	draft    Plan
}

// Plan is the plan to apply. ok is false, and the plan empty, where a problem is an
// Error: then the plan in force stays.
func (d Decision) Plan() (p Plan, ok bool) {
	if d.Problems.Blocking() {
		return Plan{}, false
	}
	return d.draft, true
}

// Draft is the plan as far as it could be decided. It is for people to read, and
// may be invalid: only what Plan returns may be applied.
func (d Decision) Draft() Plan { return d.draft }

// With is d with further problems.
func (d Decision) With(further ...Problem) Decision {
	d.Problems = slices.Concat(d.Problems, further)
	return d
}

// input is what the steps of Derive work on.
type input struct {
	Request
	Facts
	// running are the networks in force that stay, as they are: no other network gets
	// an address of theirs.
	running []Network
}

// settled are the networks that in asks for, once those have moved that change their
// CIDR: what such a network leaves is free at once, and not only in the next plan.
func settled(in input) (Plan, Problems) {
	plan, problems := requested(in)
	for range in.running {
		moved := slices.Clone(in.running)
		for i, n := range moved {
			if at := slices.IndexFunc(plan.Networks, func(x Network) bool { return x.Name == n.Name }); at >= 0 {
				moved[i] = plan.Networks[at]
			}
		}
		if slices.EqualFunc(moved, in.running, func(a, b Network) bool { return a.CIDR == b.CIDR }) {
			break
		}
		in.running = moved
		plan, problems = requested(in)
	}
	return plan, problems
}

// requested are the networks that in asks for. One that VMs do not boot from is left
// out where it has an Error, and keeps nothing else from being served.
func requested(in input) (Plan, Problems) {
	var problems Problems
	plan := Plan{Version: CurrentPlanVersion, Cluster: in.Cluster, Endpoints: sortedEndpoints(in.Endpoints), Networks: []Network{}}
	for _, s := range sortedRequests(in.Networks) {
		if !s.CIDR.IsValid() {
			problems = append(problems, cidrMissing(s, in.Networks))
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
	return plan, problems
}

// sortedRequests puts primary networks first, then orders by attachment, so
// that the order in which NodePools were listed decides nothing.
func sortedRequests(in []NetworkRequest) []NetworkRequest {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b NetworkRequest) int {
		return byPrimary(a.Primary, b.Primary, cmp.Compare(a.Attachment.String(), b.Attachment.String()))
	})
	return out
}

// cidrMissing blocks where no machine could boot for want of a CIDR. Any other
// segment without is left out and said, and what it gets later moves nothing.
func cidrMissing(s NetworkRequest, all []NetworkRequest) Problem {
	args := Args{"where": s.CIDRField}
	if s.CIDRUnused != "" {
		args["found"] = s.CIDRFound
	}
	boots := slices.ContainsFunc(all, func(x NetworkRequest) bool { return x.Primary && x.CIDR.IsValid() })
	switch {
	case !s.Primary || boots:
		return s.problem(cmp.Or(s.CIDRUnused, NetworkCIDRNotSet), args, s.CIDRKeys...)
	case s.CIDRUnused == NetworkCIDROnlyIPv6:
		return s.problem(CIDROnlyIPv6, args, s.CIDRKeys...)
	}
	return s.problem(CIDRNotSet, Args{"where": s.CIDRField}, s.CIDRKeys...)
}

// problem is one about s's network, which is named in its arguments.
func (s NetworkRequest) problem(c Cause, args Args, keys ...string) Problem {
	return s.Attachment.problem(c, args, keys...)
}

func (n Network) problem(c Cause, args Args, keys ...string) Problem {
	return n.Attachment.problem(c, args, keys...)
}

func (a Attachment) problem(c Cause, args Args, keys ...string) Problem {
	all := Args{"network": a.String()}
	maps.Copy(all, args)
	return NewProblem(c, Subject{Kind: "Network", Namespace: a.Namespace, Name: a.Name}, all, keys...)
}

func newNetwork(in input, s NetworkRequest) (Network, Problems) {
	addresses, problems := allocate(s, in.Edges)
	n := Network{
		Name:              s.Attachment.NetworkName(),
		Attachment:        s.Attachment,
		NodePools:         slices.Sorted(slices.Values(s.NodePools)),
		Primary:           s.Primary,
		Services:          services(s),
		CIDR:              s.CIDR.Masked(),
		NextHopVIP:        addresses.nextHop,
		ServiceVIP:        addresses.service,
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
		n.Listeners, n.Backends, ps = connections(n.ServiceVIP, in.Endpoints)
		n.ReservedDestinations, n.ReservedNodes = keptFromOutside(n, in.Reserved)
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
func offers(n Network, s NetworkRequest, r Range, domain string) DHCP {
	d := DHCP{MTU: cmp.Or(s.Settings.MTU, n.Attachment.MTU), NTPServers: s.Settings.NTPServers}
	if n.runs(ServiceDHCP) {
		d.gives(n, s, r)
	}
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

// gives is what d gives out on n, from r.
func (d *DHCP) gives(n Network, s NetworkRequest, r Range) {
	d.Range = r
	d.Exclude = sortedRanges(s.Settings.DHCPExclude)
	d.Reservations = sortedReservations(s.Settings.Reservations)
	d.LeaseTime = cmp.Or(s.Settings.LeaseTime, DefaultLeaseTime)
	d.ServerID = n.ServiceVIP
	d.Relays = s.Settings.DHCPRelays
	d.IgnoreUnknownClients = s.Settings.IgnoreUnknownClients
	for _, a := range slices.Concat([]netip.Addr{s.Gateway}, s.Settings.NTPServers, s.Settings.DHCPRelays) {
		if a.IsValid() && r.Contains(a) {
			d.Exclude = sortedRanges(append(d.Exclude, Range{First: a, Last: a}))
		}
	}
	if !d.IgnoreUnknownClients {
		d.ReservedForVMs = min(s.VMs, d.addresses())
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
func rangeTooSmall(n Network, s NetworkRequest) (Problem, bool) {
	has := n.DHCP.addresses()
	if !n.runs(ServiceDHCP) || has >= s.VMs {
		return Problem{}, false
	}
	return s.problem(VMsExceedDHCPRange, Args{"count": strconv.Itoa(has), "nodePools": strings.Join(n.NodePools, ", "), "vms": strconv.Itoa(s.VMs)},
		keyDHCPRange), true
}

// routes is option 121: the service address and every published address by way
// of the next hop, whichever edge holds it, and the default route last, since
// clients that know 121 ignore option 3 (RFC 3442).
func routes(n Network, router netip.Addr) []Route {
	out := []Route{{Destination: host(n.ServiceVIP), Via: n.NextHopVIP}}
	for _, a := range n.PublishedAddresses {
		out = append(out, Route{Destination: host(a), Via: n.NextHopVIP})
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
