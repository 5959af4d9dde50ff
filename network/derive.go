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
// clusters on the same networks. The steps, one statement each:
//
//  1. An endpoint that is missing now keeps its last known good state, and one without
//     the address of its load balancer keeps that address (lastgood.go).
//  2. A network with VMs on it keeps its addresses (pinned.go), stays the same layer-2
//     network (pinned_nad.go), and stays primary if VMs boot from it (pinned_role.go).
//  3. A load balancer whose address another host has is not used (load_balancer.go).
//  4. Networks are decided. One with an Error is left out, or stays as it runs, if VMs boot
//     from another one, and the others are decided again without it (confined.go).
//  5. On a network that another hosted cluster was on first, only own VMs get an address
//     (sharing.go).
//  6. Each network's edges are placed on nodes (placement.go).
//  7. They get the list of destinations that they never dial for VMs (dialable.go).
//  8. They get the names that pods of the management cluster may ask (pod_names.go).
//  9. They get which connections to log (access_log.go).
//  10. They get where they serve metrics (metrics.go).
//  11. The management cluster reaches what the user opens (access_destinations.go), and
//     also through the hosted cluster's load balancers (access_load_balancers.go).
//  12. A plan that a ConfigMap cannot hold is refused (plan_size.go).
//
// It is total and has no other inputs: equal arguments, in any order, give equal
// decisions. With its own plan as last, it returns the same plan. It changes no argument.
func Derive(r Request, f Facts, last Plan, others []OtherCluster) Decision {
	in, kept := input{Request: r, Facts: f}.keepLastKnownGood(last)
	in, pinned := in.keepInUse(last)
	in, taken := in.leaveTakenLoadBalancers(others)
	draft, decided, boots := in.decideNetworks(last, others)
	draft = draft.answerOwnVMs(others, last)
	draft = draft.placeEdges(r.Placement, r.Permissions)
	draft = draft.reserve(f.Reserved, r.Permissions.Destinations)
	draft = draft.answerPods(r, f.Endpoints)
	draft = draft.logConnections(r)
	draft = draft.serveMetrics()
	draft, opened := draft.openAccess(r)
	draft, balanced := draft.openLoadBalancers(r, f, last)
	large := draft.tooLarge()
	if !boots {
		kept = kept.unconfined()
	}
	return Decision{draft: draft, Problems: slices.Concat(kept, pinned, taken, decided, opened, balanced, large)}
}

// decideWanted decides the networks of in that are not refused yet, and retains those in force
// that can't be decided now and are still wanted (lastgood.go). A network that is left out for
// its addresses may run, and then keeps its CIDR. So the others are decided again without it:
// they may have got that CIDR.
func (in input) decideWanted(last Plan, others []OtherCluster) outcome {
	var left Problems
	out := in.decideOnce(last, others)
	for len(out.left) > 0 {
		in.refused = slices.Concat(in.refused, out.left)
		left = append(left, out.leftProblems...)
		out = in.decideOnce(last, others)
	}
	out.problems = append(left, out.problems...)
	whole := out.plan.retain(last.Restricted(in.Reserved, in.Permissions), in.Wanted)
	out.problems = append(out.problems, out.plan.displacedBy(whole)...)
	out.plan = whole
	return out
}

// decideOnce decides the networks of in that are not refused yet:
//
//  1. Each requested network gets addresses (addresses.go), servers (services.go),
//     listeners (listeners.go), records (records.go) and options (dhcp_options.go). It
//     waits if its CIDR overlaps an older network (overlap.go). It gives way to another NAD
//     of the same layer-2 network (twins.go). It must not hide a destination that edges or
//     nodes use (reserved.go).
//  2. A network whose addresses another hosted cluster has waits (sharing.go).
//  3. A network of which a VM has an edge's address is refused (inuse.go).
func (in input) decideOnce(last Plan, others []OtherCluster) outcome {
	out := in.moveCIDRs()
	out = out.yieldTo(others, last)
	return out.refuseInUse(in.VMAddresses, last)
}

// A Decision is a plan, and the problems why it differs from the request.
type Decision struct {
	// Problems in the order of the steps. Those that block refuse the plan.
	Problems Problems
	draft    Plan
}

// Plan returns the plan to apply. ok is false, and the plan empty, if a problem blocks;
// then the plan in force is kept.
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
	// refused are the Names of the networks that are left out, because they have an Error.
	refused []string
}

// moveCIDRs makes the requested networks, after the networks that change their CIDR have
// done so: their former CIDRs are free at once, not only in the next plan.
func (in input) moveCIDRs() outcome {
	out := in.newNetworks()
	for range in.running {
		moved := slices.Clone(in.running)
		for i, n := range moved {
			if at := slices.IndexFunc(out.plan.Networks, func(x Network) bool { return x.Name == n.Name }); at >= 0 {
				moved[i] = out.plan.Networks[at]
			}
		}
		if slices.EqualFunc(moved, in.running, func(a, b Network) bool { return a.CIDR == b.CIDR }) {
			break
		}
		in.running = moved
		out = in.newNetworks()
	}
	return out
}

// newNetworks makes the networks that in requests. A secondary network with an Error is left
// out, and the others are served.
func (in input) newNetworks() outcome {
	out := outcome{plan: Plan{Version: CurrentPlanVersion, Cluster: in.Cluster, Endpoints: sortedEndpoints(in.Endpoints), Networks: []Network{}}}
	for _, s := range sortedRequests(in.Networks) {
		name := s.Attachment.NetworkName()
		if slices.Contains(in.refused, name) {
			continue
		}
		if len(services(s)) == 0 {
			out.adds(name, s.Primary, in.noServices(s))
			continue
		}
		if twin, gives := in.givesWay(s); gives {
			out.adds(name, s.Primary, Problems{twinProblem(s, twin)})
			continue
		}
		if !s.CIDR.IsValid() {
			out.adds(name, s.Primary, Problems{in.cidrMissing(s)})
			continue
		}
		if other, met := in.overlaps(s, out.plan.Networks); met {
			out.adds(name, s.Primary, Problems{overlapProblem(in, s, other)})
			if s.Primary && other.Primary && !in.isRunning(other.Name) {
				out.refused = append(out.refused, other.Name) // neither has precedence
			}
			continue
		}
		n, ps := newNetwork(in, s)
		if out.adds(name, s.Primary, ps) {
			out.plan.Networks = append(out.plan.Networks, n)
		}
	}
	return out
}

// sortedRequests orders primary networks first, then by attachment. The order in which
// NodePools were listed has no effect.
func sortedRequests(in []NetworkRequest) []NetworkRequest {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b NetworkRequest) int {
		return cmp.Or(trueFirst(a.Primary, b.Primary), cmp.Compare(a.Attachment.String(), b.Attachment.String()))
	})
	return out
}

// cidrMissing returns the problem of a network without CIDR. It is an Error if VMs cannot
// boot from any other network. The network is left out, and a CIDR that is set later
// moves no address.
func (in input) cidrMissing(s NetworkRequest) Problem {
	args := Args{"where": s.CIDRField}
	if s.CIDRUnused != "" {
		args["found"] = s.CIDRFound
	}
	boots := slices.ContainsFunc(in.Networks, func(x NetworkRequest) bool { return x.Primary && x.CIDR.IsValid() })
	switch {
	case !s.Primary:
		return in.secondaryWithoutCIDR(s)
	case boots:
		return s.problem(cmp.Or(s.CIDRUnused, NetworkCIDRNotSet), args, s.CIDRKeys...)
	case s.CIDRUnused == NetworkCIDROnlyIPv6:
		return s.problem(CIDROnlyIPv6, args, s.CIDRKeys...)
	}
	return s.problem(CIDRNotSet, Args{"where": s.CIDRField}, s.CIDRKeys...)
}

// secondaryWithoutCIDR returns the hint that s is left to others. If it runs, its CIDR was set
// before, and it stays as it is.
func (in input) secondaryWithoutCIDR(s NetworkRequest) Problem {
	i := slices.IndexFunc(in.running, func(n Network) bool { return n.Name == s.Attachment.NetworkName() })
	switch {
	case i >= 0:
		return s.problem(SecondaryCIDRRemoved, Args{"cidr": in.running[i].CIDR.String(), "where": s.CIDRField}, s.CIDRKeys...)
	case s.CIDRUnused == SecondaryCIDRForBootOnly:
		return s.problem(SecondaryCIDRForBootOnly, Args{"where": s.CIDRField, "found": s.CIDRFound}, s.CIDRKeys...)
	}
	return s.problem(SecondaryWithoutCIDR, Args{"where": s.CIDRField}, s.CIDRKeys...)
}

// problem returns a problem about s's network, which is named in its arguments.
func (s NetworkRequest) problem(c Cause, args Args, keys ...string) Problem {
	return s.Attachment.Problem(c, args, keys...)
}

func (n Network) problem(c Cause, args Args, keys ...string) Problem {
	return n.Attachment.Problem(c, args, keys...)
}

// Problem returns a problem about the network of a, which is named in its arguments.
func (a Attachment) Problem(c Cause, args Args, keys ...string) Problem {
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
	var ps Problems
	switch {
	case !n.runs(ServiceProxy):
		in.Endpoints, in.Announced = slices.DeleteFunc(slices.Clone(in.Endpoints), func(e Endpoint) bool { return !n.HasLoadBalancer(e) }), nil
	case s.Primary:
		n.PublishedAddresses = publishedAddresses(in.Endpoints)
		n.Listeners, n.Backends, ps = connections(n.ServiceVIP, in.Endpoints)
		problems = append(problems, ps...)
	}
	problems = append(problems, loadBalancerIsEdge(n, s, endpoints)...)
	n.DNS.Upstreams.Mode = UpstreamNone
	n.ClientNetworks, ps = clientNetworks(n, s, in)
	problems = append(problems, ps...)
	if n.runs(ServiceDNS) {
		n.DNS, ps = names(n, s, in)
		problems = append(problems, ps...)
		if p, ours := appsAddressIsEdge(n, in); ours && n.Primary {
			problems = append(problems, p)
		}
	}
	problems = append(problems, conflicts(n, s, in)...)
	n.DHCP = dhcpOptions(n, s, addresses.dhcpRange, in.Cluster.Domain, in.NodeAPI)
	n.DHCP.Named = named(n, in)
	if p, large := mtuTooLarge(n, s); large {
		problems = append(problems, p)
	}
	if p, small := rangeTooSmall(n, s, in.VMAddresses); small {
		problems = append(problems, p)
	}
	if !s.Primary && s.Gateway.IsValid() {
		problems = append(problems, n.problem(GatewayOnSecondary, Args{"gateway": s.Gateway.String()}, keyGateway))
	}
	problems = append(problems, unreached(n, s, in)...)
	return n, append(problems, servedByOthers(n, n.withoutLoadBalancer(endpoints))...)
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
