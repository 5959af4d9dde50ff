// This file decides the plan of a hosted cluster. Derive is the only entry point. The
// decisions of its steps are in other files.

package network

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
)

// Derive decides what is served to a hosted cluster. It takes what the user requests, the
// observed state, last (the plan in force; zero if there is none), and the other hosted
// clusters on the same networks. The steps, in this order:
//
//  1. An endpoint that is missing now keeps its last known good state (lastgood.go).
//  2. A network with VMs on it keeps its addresses (pinned.go).
//  3. Each requested network gets addresses (addresses.go), servers (services.go),
//     listeners (listeners.go), records (records.go) and options (dhcp_options.go). It
//     waits if its CIDR overlaps an older network (overlap.go). It must not hide a
//     destination that edges or nodes use (reserved.go).
//  4. A network whose addresses another hosted cluster has waits (sharing.go).
//  5. A network of which a VM has an edge's address is refused (inuse.go).
//  6. A network in force that can't be decided now, and is still wanted, is retained
//     unchanged (lastgood.go).
//  7. On a network that another hosted cluster was on first, only own VMs get an address
//     (sharing.go).
//  8. Each network's edges are placed on nodes (placement.go), and get the list of
//     destinations that they never dial for VMs (dialable.go).
//
// It is total and has no other inputs: equal arguments, in any order, give equal
// decisions. With its own plan as last, it returns the same plan. It changes no argument.
func Derive(r Request, f Facts, last Plan, others []OtherCluster) Decision {
	seen := input{Request: r, Facts: f}.withLastKnownGood(last)
	in, pinned := seen.withPinned(last)
	plan, refused := settled(in)
	plan, yielding := plan.yielding(others, last)
	plan, inUse := plan.withoutInUse(f.VMAddresses, last)
	whole := plan.retaining(last, r.Wanted)
	displaced := plan.displaced(whole)
	whole = whole.answeringOwnVMs(others, last).placed(r.Placement, r.Permissions).withDestinations(f.Reserved, r.Permissions.Destinations)
	return Decision{draft: whole, Problems: slices.Concat(f.Problems.stale(last), pinned, refused, yielding, inUse, displaced)}
}

// A Decision is a plan, and the problems why it differs from the request.
type Decision struct {
	// Problems in the order of the steps. Errors refuse the plan.
	Problems Problems
	draft    Plan
}

// Plan returns the plan to apply. ok is false, and the plan empty, if a problem is an
// Error; then the plan in force is kept.
func (d Decision) Plan() (p Plan, ok bool) {
	if d.Problems.Blocking() {
		return Plan{}, false
	}
	return d.draft, true
}

// Draft returns the plan as far as it could be decided, for display. It may be invalid:
// apply only the result of Plan.
func (d Decision) Draft() Plan { return d.draft }

// With returns d with more problems.
func (d Decision) With(further ...Problem) Decision {
	d.Problems = slices.Concat(d.Problems, further)
	return d
}

// input is what the steps of Derive work on.
type input struct {
	Request
	Facts
	// running are the networks in force that are retained. No other network gets their
	// addresses.
	running []Network
}

// settled are the requested networks, after the networks that change their CIDR have
// done so: their former CIDRs are free at once, not only in the next plan.
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

// requested are the networks that in requests. A secondary network with an Error is left
// out, and the others are served.
func requested(in input) (Plan, Problems) {
	var problems Problems
	plan := Plan{Version: CurrentPlanVersion, Cluster: in.Cluster, Endpoints: sortedEndpoints(in.Endpoints), Networks: []Network{}}
	for _, s := range sortedRequests(in.Networks) {
		if !s.CIDR.IsValid() {
			problems = append(problems, cidrMissing(s, in.Networks))
			continue
		}
		if p, none := noServices(s); none {
			problems = append(problems, p)
			continue
		}
		if other, met := in.overlaps(s, plan.Networks); met {
			problems = append(problems, overlapProblem(in, s, other))
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

// sortedRequests orders primary networks first, then by attachment. The order in which
// NodePools were listed has no effect.
func sortedRequests(in []NetworkRequest) []NetworkRequest {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b NetworkRequest) int {
		return byPrimary(a.Primary, b.Primary, cmp.Compare(a.Attachment.String(), b.Attachment.String()))
	})
	return out
}

// cidrMissing returns the problem of a network without CIDR. It is an Error if VMs cannot
// boot from any other network. The network is left out, and a CIDR that is set later
// moves no address.
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

// problem returns a problem about s's network, which is named in its arguments.
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
		NextHopVIP:        addresses.nextHopVIP,
		ServiceVIP:        addresses.serviceVIP,
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
		problems = append(problems, ps...)
	}
	if n.runs(ServiceDNS) {
		var ps Problems
		n.DNS, ps = names(n, s, in)
		problems = append(problems, ps...)
		if p, ours := appsAddressIsEdge(n, in); ours && n.Primary {
			problems = append(problems, p)
		}
	}
	problems = append(problems, conflicts(n, s, in)...)
	n.DHCP = dhcpOptions(n, s, addresses.dhcpRange, in.Cluster.Domain)
	if p, small := rangeTooSmall(n, s); small {
		problems = append(problems, p)
	}
	return n, append(problems, servedByOthers(n, endpoints)...)
}

// host is the prefix of the single address a.
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
