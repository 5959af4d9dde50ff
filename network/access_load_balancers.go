// This file decides which load balancers of the hosted cluster lead to edges: to those of which network, and at
// which ports. A Service that cannot is left out with a problem of its own, and the others stay.

package network

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// The most Services and ports of load balancers in a plan. A report of an edge has all ports, and an edge has a socket
// for each.
const (
	maxBalancedServices = 256
	maxBalancedPorts    = 512
)

// The node ports of Kubernetes. Other ports of VMs are of the kubelet, of ssh and the like. A Service without node ports leads there:
// its copy has target port 0, for which the API server writes the port of the Service.
const firstNodePort, lastNodePort = 30000, 32767

// Runs reports whether edges run the access proxy. It depends on annotations and networks only, not on the Services that
// exist: a Service that appears in the hosted cluster must not recreate an edge.
func (a Access) Runs() bool { return a.Port != 0 || a.LoadBalancers != nil }

// Balanced returns the ports at which edges stand behind load balancers, sorted.
func (a Access) Balanced() []uint16 {
	if a.LoadBalancers == nil {
		return nil
	}
	var out []uint16
	for _, s := range a.LoadBalancers.Services {
		out = append(out, s.Ports...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// openLoadBalancers returns p with the load balancers that lead to edges, and why others are left out. last is the plan in force.
func (p Plan) openLoadBalancers(r Request, f Facts, last Plan) (Plan, Problems) {
	if !r.Access.balances() {
		return p, f.unreachedLoadBalancers(r)
	}
	entry := AccessEntry{Destination: AccessLoadBalancers}
	step := accessStep{Request: r, plan: p, opens: map[string][]AccessDestination{}}
	if problems := step.onVMs(entry, AccessDestination{}); len(step.opens) == 0 {
		return p, problems
	}
	here := p.balancedOn(step.opens, f.InUse, last)
	balancer := balancer{Request: r, plan: p, facts: f, last: last}
	services, problems := balancer.services()
	out := p.withEach(func(n *Network) {
		if len(step.opens[n.Name]) == 0 {
			return
		}
		n.Access.LoadBalancers = &BalancedAccess{Here: n.Name == here}
		if n.Name == here {
			n.Access.LoadBalancers.Services = services
			problems = append(problems, n.loadBalancersOpen(services))
		}
	})
	return out, problems
}

// balancedOn returns the Name of the network that load balancers lead to, one of possible. One with VMs has precedence, then
// the one that they lead to in last, then the first one. So a new network without VMs takes nothing over.
func (p Plan) balancedOn(possible map[string][]AccessDestination, inUse []string, last Plan) string {
	var all []string
	for _, n := range p.Networks {
		if len(possible[n.Name]) > 0 {
			all = append(all, n.Name)
		}
	}
	var before []string
	for _, n := range last.Networks {
		if n.Access.LoadBalancers != nil && n.Access.LoadBalancers.Here {
			before = append(before, n.Name)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int {
		return cmp.Or(
			trueFirst(slices.Contains(inUse, a), slices.Contains(inUse, b)),
			trueFirst(slices.Contains(before, a), slices.Contains(before, b)))
	})
	return all[0]
}

// loadBalancersOpen says what anyone reaches on n. It is a hole, so it is always told.
func (n Network) loadBalancersOpen(services []BalancedService) Problem {
	return n.problem(LoadBalancersOpen, Args{"services": cmp.Or(namesOf(services), "none yet")}, keyAccess)
}

// LoadBalancersPending says that services do not lead to edges of n yet.
func (n Network) LoadBalancersPending(services []BalancedService) Problem {
	return n.problem(LoadBalancersNotLed, Args{"services": namesOf(services)})
}

// namesOf returns the names of services in the hosted cluster, or where they have none, in the control plane namespace.
func namesOf(services []BalancedService) string {
	var names []string
	for _, s := range services {
		names = append(names, cmp.Or(s.HostedService, s.Name))
	}
	return listed(names)
}

// listed is names with commas, at most maxAccessNamed of them.
func listed(names []string) string {
	if more := len(names) - maxAccessNamed; more > 0 {
		names = append(slices.Clone(names[:maxAccessNamed]), strconv.Itoa(more)+" more")
	}
	return strings.Join(names, ", ")
}

// A balancer decides about Services one after the other.
type balancer struct {
	Request
	plan  Plan
	facts Facts
	last  Plan
}

// services returns the Services that lead to edges, by name, and the problems of all.
func (x balancer) services() ([]BalancedService, Problems) {
	var out []BalancedService
	var problems Problems
	left := map[string][]BalancedService{}
	ports := map[uint16]LoadBalancer{}
	for _, s := range x.inOrder() {
		if s.HostedService == "" && !x.Access.names(AccessApps) {
			problems = append(problems, s.problem(IngressLoadBalancerToAdd, nil))
			continue
		}
		taken, ps := x.portsOf(s, ports)
		problems = append(problems, ps...)
		if len(taken) == 0 {
			continue
		}
		led := BalancedService{Name: s.Service, HostedService: s.HostedService, Ports: taken, Sources: s.Sources}
		if limit := balancedLimit(len(out)+1, len(ports)+len(taken)); limit != "" {
			left[limit] = append(left[limit], led)
			continue
		}
		for _, port := range taken {
			ports[port] = s
		}
		out = append(out, led)
	}
	for _, limit := range slices.Sorted(maps.Keys(left)) {
		subject := Subject{Kind: "Service", Name: left[limit][0].Name}
		problems = append(problems, NewProblem(LoadBalancersTooMany, subject, Args{"services": namesOf(left[limit]), "most": limit}, keyAccess))
	}
	out = append(out, x.lastGood(out)...)
	slices.SortFunc(out, func(a, b BalancedService) int { return cmp.Compare(a.Name, b.Name) })
	return out, problems
}

// balancedLimit returns the limit that so many Services and ports exceed. Empty: none.
func balancedLimit(services, ports int) string {
	switch {
	case services > maxBalancedServices:
		return strconv.Itoa(maxBalancedServices) + " Services"
	case ports > maxBalancedPorts:
		return strconv.Itoa(maxBalancedPorts) + " node ports"
	}
	return ""
}

// inOrder returns the load balancers: those first that lead to edges, so that another one takes no port of theirs.
func (x balancer) inOrder() []LoadBalancer {
	return slices.SortedFunc(slices.Values(x.facts.LoadBalancers), func(a, b LoadBalancer) int {
		return cmp.Or(trueFirst(a.Leads == LeadsToEdges, b.Leads == LeadsToEdges), cmp.Compare(a.Service, b.Service))
	})
}

// lastGood returns the Services of the ingress in the plan in force that are missing now, while the endpoint of the ingress keeps
// its last known good state: HyperShift makes such a Service again, and then it leads to edges at once.
func (x balancer) lastGood(have []BalancedService) []BalancedService {
	var out []BalancedService
	for _, n := range x.last.Networks {
		if n.Access.LoadBalancers == nil {
			continue
		}
		for _, s := range n.Access.LoadBalancers.Services {
			has := slices.ContainsFunc(have, func(o BalancedService) bool { return o.Name == s.Name || o.HostedService == s.HostedService })
			exists := slices.ContainsFunc(x.facts.LoadBalancers, func(o LoadBalancer) bool { return o.Service == s.Name })
			waits := slices.ContainsFunc(x.plan.Endpoints, func(e Endpoint) bool {
				return e.Origin == OriginApps && e.Backend.Service == s.Name && slices.Contains(s.Ports, e.vmPort())
			})
			if !has && !exists && waits {
				out = append(out, s)
			}
		}
	}
	return out
}

// portsOf returns the ports of s at which edges can listen, sorted, and why they cannot at others.
func (x balancer) portsOf(s LoadBalancer, taken map[uint16]LoadBalancer) ([]uint16, Problems) {
	switch {
	case s.Leads == LeadsElsewhere:
		return nil, Problems{s.problem(LoadBalancerOfOthers, nil)}
	case s.NoIPv4:
		return nil, Problems{s.problem(LoadBalancerOnlyIPv6, nil)}
	case s.SourcesHidden:
		return nil, Problems{s.problem(LoadBalancerSourcesHidden, Args{"most": strconv.Itoa(MaxLoadBalancerSources)})}
	}
	var out []uint16
	var problems Problems
	others := map[string][]string{}
	for _, p := range s.Ports {
		port := strconv.Itoa(int(p.Target))
		other, shared := taken[p.Target]
		switch use := x.use(p.Target); {
		case p.Protocol != "TCP":
			others[p.Protocol] = append(others[p.Protocol], strconv.Itoa(int(p.Port)))
		case p.Target < firstNodePort || p.Target > lastNodePort:
			problems = append(problems, s.problem(LoadBalancerPortInvalid, Args{"port": strconv.Itoa(int(p.Port))}))
		case use != "":
			problems = append(problems, s.problem(LoadBalancerPortInUse, Args{"port": port, "use": use}))
		case shared && other.HostedService != s.HostedService && other.HostedService != "" && s.HostedService != "":
			problems = append(problems, s.problem(LoadBalancerPortShared, Args{"port": port, "other": other.Service}))
		default:
			out = append(out, p.Target)
		}
	}
	for _, protocol := range []string{"UDP", "SCTP"} {
		if ports := others[protocol]; len(ports) > 0 {
			problems = append(problems, s.problem(LoadBalancerNotTCP, Args{"protocol": protocol, "ports": strings.Join(ports, ", ")}))
		}
	}
	if s.IPv6 && len(out) > 0 {
		problems = append(problems, s.problem(LoadBalancerIPv6, nil))
	}
	slices.Sort(out)
	return slices.Compact(out), problems
}

// use returns the entry for which edges use a node port on the pod network. Empty: none.
func (x balancer) use(port uint16) string {
	for _, e := range x.accessEntries() {
		if e.Listen == port {
			return e.String()
		}
	}
	return ""
}

// problem returns a problem about s, which is named in its arguments.
func (s LoadBalancer) problem(c Cause, args Args) Problem {
	name := s.Service
	if s.HostedService != "" {
		name += " (" + s.HostedService + " in the hosted cluster)"
	}
	all := Args{"service": name}
	for key, value := range args {
		all[key] = value
	}
	return NewProblem(c, Subject{Kind: "Service", Name: s.Service}, all, keyAccess)
}

// unreachedLoadBalancers is the hint that load balancers lead to addresses of networks that no router leads to. With a gateway
// there may be a route. One whose address is on a network is reached there.
func (f Facts) unreachedLoadBalancers(r Request) Problems {
	boots := slices.DeleteFunc(slices.Clone(r.Networks), func(s NetworkRequest) bool { return !s.Primary })
	if len(boots) == 0 || slices.ContainsFunc(boots, func(s NetworkRequest) bool { return s.Gateway.IsValid() || s.UnservedNetworks }) {
		return nil
	}
	on := func(a netip.Addr) bool {
		return slices.ContainsFunc(boots, func(s NetworkRequest) bool { return s.CIDR.IsValid() && s.CIDR.Contains(a) })
	}
	var names []string
	for _, s := range f.LoadBalancers {
		if s.Leads != LeadsElsewhere && !slices.ContainsFunc(s.Addresses, on) {
			names = append(names, cmp.Or(s.HostedService, s.Service))
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return Problems{NewProblem(LoadBalancersToNoRoute, r.cluster(), Args{"services": listed(names)}, keyAccess)}
}

// leadIngress returns in with the ingress at VMs with a lease, wherever the EndpointSlices of its Service have edges, will have
// them, or are not written again since. last is the plan in force.
func (in input) leadIngress(last Plan) input {
	out := in
	out.Endpoints = slices.Clone(in.Endpoints)
	for i, e := range out.Endpoints {
		if e.Origin == OriginApps && e.Backend.Kind == BackendVMs && e.Backend.Service != "" && e.Backend.TargetPort != 0 {
			out.Endpoints[i].Backend.ByLease = in.led(e.Backend, last)
		}
	}
	return out
}

// led reports whether the EndpointSlices of b's Service do not have the VMs.
func (in input) led(b Backend, last Plan) bool {
	i := slices.IndexFunc(in.LoadBalancers, func(s LoadBalancer) bool { return s.Service == b.Service })
	was := slices.ContainsFunc(last.Endpoints, func(e Endpoint) bool { return e.Backend.Service == b.Service && e.Backend.ByLease })
	if i < 0 {
		return was
	}
	s := in.LoadBalancers[i]
	leads := in.Access.balances() && s.Leads != LeadsElsewhere && !s.NoIPv4 && !s.SourcesHidden && (s.HostedService != "" || in.Access.names(AccessApps)) &&
		slices.ContainsFunc(in.Networks, func(n NetworkRequest) bool { return n.Primary && n.Settings.Selects(ServiceDHCP) })
	return leads || s.Leads == LeadsToEdges || was && !s.Endpoints
}
