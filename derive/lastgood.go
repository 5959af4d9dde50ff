// This file decides what is kept from the plan in force. While the objects that a running network is derived from are
// missing or invalid, the network is still served.

package derive

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/derive/served"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// keepLastKnownGood returns a copy of in. Its field Retained has the networks of last, the plan in force, that are
// still wanted. For endpoints and load balancer addresses that are not published yet, it uses those in last. An address
// that is missing for a moment changes nothing.
func keepLastKnownGood(in served.Input, last network.Plan) (served.Input, problem.Problems) {
	out := in
	out.Wanted = slices.DeleteFunc(slices.Clone(in.Wanted), in.LeavesAlone)
	out.Retained = slices.DeleteFunc(slices.Clone(last.Networks), func(n network.Network) bool { return !slices.Contains(out.Wanted, n.Name) })
	out.Endpoints = slices.Clone(in.Endpoints)
	for i, e := range out.Endpoints {
		if was, kept := keepsLoadBalancer(in, e, last); kept {
			out.Endpoints[i].LoadBalancer = was
		}
	}
	for _, e := range last.Endpoints {
		has := slices.ContainsFunc(in.Endpoints, func(x network.Endpoint) bool { return x.Name == e.Name && x.Origin == e.Origin })
		if waitsFor(in, e.Name) && !has {
			out.Endpoints = append(out.Endpoints, e)
		}
	}
	problems := slices.Concat(stale(out, last), staleLoadBalancers(in, last), notSelected(out, last))
	return leadIngress(out, last), problems
}

// maxFormer limits the former places in a plan, because each may be an address that every edge holds.
const maxFormer = 16

// maxLost limits how many lost places, beyond maxFormer, the plan remembers. Each has a Warning as long as VMs run.
const maxLost = 4

// keepFormerPlaces returns a copy of in with the former places of HyperShift's endpoints. A former place is an address
// or a name, and a port, that the plan in force has and the present endpoint lacks. While a VM runs, former places
// forward to the present backend, because VMs store some of them for life. Each is a hint. Places beyond maxFormer are
// lost, and maxLost of them have a Warning.
func keepFormerPlaces(in served.Input, last network.Plan) (out served.Input, lost []network.Endpoint, ps problem.Problems) {
	out = in
	out.Endpoints = slices.DeleteFunc(slices.Clone(in.Endpoints), func(e network.Endpoint) bool { return e.Former })
	if len(in.InUse) == 0 {
		return out, nil, nil
	}
	// The places that endpoints leave in this plan come first: the youngest VMs stored them.
	former := slices.Clone(last.Endpoints)
	slices.SortStableFunc(former, func(a, b network.Endpoint) int { return network.TrueFirst(b.Former, a.Former) })
	present, kept := out.Endpoints, 0
	for _, was := range append(former, last.LostPlaces...) {
		e, now, moved := formerOf(was, present)
		switch {
		case !moved:
		case kept < maxFormer:
			kept++
			out.Endpoints = append(out.Endpoints, e)
			ps = append(ps, problem.New(problem.EndpointMoved, e.Subject(), problem.Args{"former": {e.Place()}, "at": {now.Place()}}))
		case len(lost) < maxLost:
			lost = append(lost, e)
			ps = append(ps, problem.New(problem.TooManyFormerPlaces, e.Subject(), problem.Args{"at": {e.Place()}, "most": {strconv.Itoa(maxFormer)}}))
		}
	}
	return out, lost, ps
}

// formerOf compares was, an endpoint of the plan in force, with the present endpoint of that name, which is result now.
// former has the present backend, and the places that only the endpoint of the plan in force has. If there are none,
// moved is false.
func formerOf(was network.Endpoint, present []network.Endpoint) (former, now network.Endpoint, moved bool) {
	i := slices.IndexFunc(present, func(e network.Endpoint) bool { return e.Name == was.Name && e.Origin == was.Origin })
	if i < 0 || was.Origin != network.OriginHyperShift {
		return network.Endpoint{}, network.Endpoint{}, false
	}
	now = present[i]
	former = was
	former.Former, former.Backend = true, now.Backend
	if now.Port == was.Port {
		former.Hosts = network.Without(network.Lowered(was.Hosts), func(h string) bool { return slices.Contains(network.Lowered(now.Hosts), h) })
		former.Addresses = network.Without(was.Addresses, func(a netip.Addr) bool { return slices.Contains(now.Addresses, a) })
	}
	return former, now, len(former.Hosts)+len(former.Addresses) > 0
}

// keepsLoadBalancer returns the address of e's load balancer in last, if e waits for one now and has the same backend.
func keepsLoadBalancer(in served.Input, e network.Endpoint, last network.Plan) (netip.Addr, bool) {
	if e.LoadBalancer.IsValid() || e.Origin != network.OriginApps || !waitsFor(in, e.Name) {
		return netip.Addr{}, false
	}
	i := slices.IndexFunc(last.Endpoints, func(x network.Endpoint) bool {
		return x.Name == e.Name && x.Origin == e.Origin && x.Port == e.Port && x.Backend.Name == e.Backend.Name
	})
	if i < 0 || !last.Endpoints[i].LoadBalancer.IsValid() {
		return netip.Addr{}, false
	}
	return last.Endpoints[i].LoadBalancer, true
}

// stale returns a copy of in.Problems. If last has an endpoint that is missing now, LastGoodEndpoint or LastGoodIngress
// replaces the problem about it. LastGoodEndpoint is a Warning, or a hint (severity Info) if the replaced problem was
// one.
func stale(in served.Input, last network.Plan) problem.Problems {
	out := slices.Clone(in.Problems)
	for i, p := range in.Problems {
		has := slices.ContainsFunc(last.Endpoints, func(e network.Endpoint) bool { return p.Subject == e.Subject() })
		if !has || !waitsFor(in, p.Subject.Name) || p.Reason != problem.WaitingForEndpoint && p.Cause != problem.RouteServiceMissing && p.Cause != problem.RoutePortMissing {
			continue
		}
		if p.Cause == problem.IngressCopyPending {
			out[i] = problem.New(problem.LastGoodIngress, p.Subject, p.Args, p.Keys...)
			continue
		}
		out[i] = problem.New(problem.LastGoodEndpoint, p.Subject, problem.Args{"object": p.Args["object"]})
		if p.Severity == problem.SeverityInfo {
			out[i].Severity = problem.SeverityInfo
		}
	}
	return out
}

// staleLoadBalancers returns a problem for each load balancer that has no address now. The host names of its endpoint
// still resolve to the address in last.
func staleLoadBalancers(in served.Input, last network.Plan) problem.Problems {
	var out problem.Problems
	for _, e := range in.Endpoints {
		if _, kept := keepsLoadBalancer(in, e, last); kept && e.Port == network.PortHTTPS && len(e.Hosts) > 0 {
			out = append(out, problem.New(problem.LastGoodEndpoint, e.Subject(), problem.Args{"object": {"the load balancer of " + e.Hosts[0]}}))
		}
	}
	return out
}

// waitsFor reports whether in.Waiting has the endpoint of this name, or a prefix of the name that ends with "/".
func waitsFor(in served.Input, name string) bool {
	return slices.ContainsFunc(in.Waiting, func(w string) bool {
		return w == name || strings.HasSuffix(w, "/") && strings.HasPrefix(name, w)
	})
}

// retain adds to p the networks of last that p lacks and whose Names are wanted. Two NADs of one layer-2 network would
// have the same addresses. So retain removes networks from p that are on the layer-2 network of a retained one, which
// serves the VMs of both NADs.
func retain(p network.Plan, last network.Plan, wanted []string) network.Plan {
	var kept []network.Network
	for _, n := range last.Networks {
		has := slices.ContainsFunc(p.Networks, func(x network.Network) bool { return x.Name == n.Name })
		if slices.Contains(wanted, n.Name) && !has {
			kept = append(kept, n)
		}
	}
	out := p
	out.Networks = slices.DeleteFunc(slices.Clone(p.Networks), func(x network.Network) bool {
		return slices.ContainsFunc(kept, func(n network.Network) bool { return n.Attachment.SameNetwork(x.Attachment) })
	})
	out.Networks = append(out.Networks, kept...)
	slices.SortFunc(out.Networks, func(a, b network.Network) int {
		return cmp.Or(network.TrueFirst(a.Primary, b.Primary), cmp.Compare(a.Attachment.String(), b.Attachment.String()))
	})
	return out
}

// displacedBy returns a problem for each network of p that kept, the result of retain, lacks because another NAD of the
// same layer-2 network runs.
func displacedBy(p network.Plan, kept network.Plan) problem.Problems {
	var ps problem.Problems
	for _, x := range p.Networks {
		i := slices.IndexFunc(kept.Networks, func(n network.Network) bool { return n.Attachment.SameNetwork(x.Attachment) })
		if i >= 0 && !has(kept, x) {
			ps = append(ps, x.Problem(problem.NADDuplicatesRunning, problem.Args{"other": {kept.Networks[i].Attachment.String()}}))
		}
	}
	return ps
}
