// This file decides what is kept from the plan in force. A running network continues
// to be served while the objects that it is derived from are missing or invalid.

package network

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// keepLastKnownGood returns in with the wanted networks of last, the plan in force, and with
// last's endpoints in place of the waiting ones. An address that is missing for a
// moment does not change what is served. The problems are those of in, and what is kept.
func (in input) keepLastKnownGood(last Plan) (input, Problems) {
	out := in
	out.Wanted = slices.DeleteFunc(slices.Clone(in.Wanted), in.leavesAlone)
	out.running = slices.DeleteFunc(slices.Clone(last.Networks), func(n Network) bool { return !slices.Contains(out.Wanted, n.Name) })
	out.Endpoints = slices.Clone(in.Endpoints)
	for i, e := range out.Endpoints {
		if was, kept := in.keepsLoadBalancer(e, last); kept {
			out.Endpoints[i].LoadBalancer = was
		}
	}
	for _, e := range last.Endpoints {
		has := slices.ContainsFunc(in.Endpoints, func(x Endpoint) bool { return x.Name == e.Name && x.Origin == e.Origin })
		if in.waitsFor(e.Name) && !has {
			out.Endpoints = append(out.Endpoints, e)
		}
	}
	problems := slices.Concat(out.stale(last), in.staleLoadBalancers(last), out.notSelected(last))
	return out.leadIngress(last), problems
}

// keepsLoadBalancer returns the address that the load balancer of e has in last, if it has none now:
// the same backend waits for it.
func (in input) keepsLoadBalancer(e Endpoint, last Plan) (netip.Addr, bool) {
	if e.LoadBalancer.IsValid() || e.Origin != OriginApps || !in.waitsFor(e.Name) {
		return netip.Addr{}, false
	}
	i := slices.IndexFunc(last.Endpoints, func(x Endpoint) bool {
		return x.Name == e.Name && x.Origin == e.Origin && x.Port == e.Port && x.Backend.Name == e.Backend.Name
	})
	if i < 0 || !last.Endpoints[i].LoadBalancer.IsValid() {
		return netip.Addr{}, false
	}
	return last.Endpoints[i].LoadBalancer, true
}

// stale is the problems of in, without that an endpoint is missing which last has: it is
// still served. That is a Warning, or a hint where the missing endpoint was one.
func (in input) stale(last Plan) Problems {
	out := slices.Clone(in.Problems)
	for i, p := range in.Problems {
		has := slices.ContainsFunc(last.Endpoints, func(e Endpoint) bool { return p.Subject == e.subject() })
		if !has || !in.waitsFor(p.Subject.Name) || p.Reason != WaitingForEndpoint && p.Cause != RouteServiceMissing && p.Cause != RoutePortMissing {
			continue
		}
		if p.Cause == IngressCopyPending {
			out[i] = NewProblem(LastGoodIngress, p.Subject, p.Args, p.Keys...)
			continue
		}
		out[i] = NewProblem(LastGoodEndpoint, p.Subject, Args{"object": p.Args["object"]})
		if p.Severity == SeverityInfo {
			out[i].Severity = SeverityInfo
		}
	}
	return out
}

// staleLoadBalancers are the problems that load balancers have no address now, but one in last: names
// still resolve to it.
func (in input) staleLoadBalancers(last Plan) Problems {
	var out Problems
	for _, e := range in.Endpoints {
		if _, kept := in.keepsLoadBalancer(e, last); kept && e.Port == PortHTTPS && len(e.Hosts) > 0 {
			out = append(out, NewProblem(LastGoodEndpoint, e.subject(), Args{"object": "the load balancer of " + e.Hosts[0]}))
		}
	}
	return out
}

// subject is the subject of problems about e.
func (e Endpoint) subject() Subject { return Subject{Kind: "Endpoint", Name: e.Name} }

// waitsFor reports whether the endpoint of this name is waiting, by its name or by a
// prefix of it.
func (in input) waitsFor(name string) bool {
	return slices.ContainsFunc(in.Waiting, func(w string) bool {
		return w == name || strings.HasSuffix(w, "/") && strings.HasPrefix(name, w)
	})
}

// retain is p with the networks of last that p lacks and whose Names are wanted.
// Two NADs of one network would have the same addresses. The one in p waits until the
// running one is removed, which meanwhile serves the VMs of both.
func (p Plan) retain(last Plan, wanted []string) Plan {
	var kept []Network
	for _, n := range last.Networks {
		has := slices.ContainsFunc(p.Networks, func(x Network) bool { return x.Name == n.Name })
		if slices.Contains(wanted, n.Name) && !has {
			kept = append(kept, n)
		}
	}
	out := p
	out.Networks = slices.DeleteFunc(slices.Clone(p.Networks), func(x Network) bool {
		return slices.ContainsFunc(kept, func(n Network) bool { return n.Attachment.SameNetwork(x.Attachment) })
	})
	out.Networks = append(out.Networks, kept...)
	slices.SortFunc(out.Networks, func(a, b Network) int {
		return cmp.Or(trueFirst(a.Primary, b.Primary), cmp.Compare(a.Attachment.String(), b.Attachment.String()))
	})
	return out
}

// displacedBy returns a problem for each network of p that is left out of kept, the
// result of p.retain, because another NAD of the same network runs.
func (p Plan) displacedBy(kept Plan) Problems {
	var ps Problems
	for _, x := range p.Networks {
		i := slices.IndexFunc(kept.Networks, func(n Network) bool { return n.Attachment.SameNetwork(x.Attachment) })
		if i >= 0 && !kept.has(x) {
			ps = append(ps, x.problem(NADDuplicatesRunning, Args{"other": kept.Networks[i].Attachment.String()}))
		}
	}
	return ps
}

// trueFirst compares a and b so that true comes before false.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
