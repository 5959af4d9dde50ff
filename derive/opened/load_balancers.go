// This file decides which load balancers of the hosted cluster forward to edges, on which network and at which ports. A
// Service that cannot forward to edges is left out with a problem, and the others stay.

package opened

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// Kubernetes' default range of node ports. Load balancers forward to no other port of VMs, such as the kubelet's or
// ssh's. The copy of a Service without node ports has target port 0, and the API server replaces 0 by the port of the
// Service.
const firstNodePort, lastNodePort = 30000, 32767

// LoadBalancers returns p with the load balancers that forward to edges, and problems about the others.
func LoadBalancers(p network.Plan, r network.Request, f network.Facts, last network.Plan) (network.Plan, problem.Problems) {
	if !r.Access.Balances() {
		return p, unreachedLoadBalancers(f, r)
	}
	entry := network.AccessEntry{Destination: network.AccessLoadBalancers}
	step := accessStep{Request: r, plan: p, opens: map[string][]network.AccessDestination{}}
	if problems := step.onVMs(entry, network.AccessDestination{}); len(step.opens) == 0 {
		return p, problems
	}
	here := balancedOn(p, step.opens, f.InUse, last)
	balancer := balancer{Request: r, plan: p, facts: f, last: last}
	services, problems := balancer.services()
	out := p.WithEach(func(n *network.Network) {
		if len(step.opens[n.Name]) == 0 {
			return
		}
		n.Access.LoadBalancers = &network.BalancedAccess{Here: n.Name == here}
		if n.Name == here {
			n.Access.LoadBalancers.Services = services
			// A way into the network is always reported.
			args := problem.Args{"services": {cmp.Or(namesOf(services), "none yet")}}
			problems = append(problems, n.Problem(problem.LoadBalancersOpen, args, network.KeyAccess))
		}
	})
	return out, problems
}

// balancedOn returns the Name of the network whose edges get the connections of load balancers. Among the networks in
// possible, it prefers those with VMs. Next comes the network that gets these connections in last, the plan in force,
// then the first in p. So connections do not move to a new network without VMs.
func balancedOn(p network.Plan, possible map[string][]network.AccessDestination, inUse []string, last network.Plan) string {
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
			network.TrueFirst(slices.Contains(inUse, a), slices.Contains(inUse, b)),
			network.TrueFirst(slices.Contains(before, a), slices.Contains(before, b)))
	})
	return all[0]
}

// LoadBalancersPending returns the problem that services do not forward to edges of n yet.
func LoadBalancersPending(n network.Network, services []network.BalancedService) problem.Problem {
	return n.Problem(problem.LoadBalancersNotLed, problem.Args{"services": {namesOf(services)}})
}

// namesOf returns the names in the hosted cluster, else those in the control plane namespace.
func namesOf(services []network.BalancedService) string {
	var names []string
	for _, s := range services {
		names = append(names, cmp.Or(s.HostedService, s.Name))
	}
	return listed(names)
}

func listed(names []string) string {
	if more := len(names) - maxAccessNamed; more > 0 {
		names = append(slices.Clone(names[:maxAccessNamed]), strconv.Itoa(more)+" more")
	}
	return strings.Join(names, ", ")
}

// A balancer decides which Services forward to edges, one after the other.
type balancer struct {
	network.Request
	plan  network.Plan
	facts network.Facts
	last  network.Plan
}

// services returns the Services that forward to edges, sorted by name, and the problems of all Services.
func (x balancer) services() ([]network.BalancedService, problem.Problems) {
	var out []network.BalancedService
	var problems problem.Problems
	left := map[string][]network.BalancedService{}
	ports := map[uint16]network.LoadBalancer{}
	for _, s := range x.inOrder() {
		if s.HostedService == "" && !x.Access.Names(network.AccessApps) {
			problems = append(problems, balancerProblem(s, problem.IngressLoadBalancerToAdd, nil))
			continue
		}
		taken, ps := x.portsOf(s, ports)
		problems = append(problems, ps...)
		if len(taken) == 0 {
			continue
		}
		led := network.BalancedService{Name: s.Service, HostedService: s.HostedService, Ports: taken, Sources: s.Sources}
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
		subject := problem.Subject{Kind: "Service", Name: left[limit][0].Name}
		problems = append(problems, problem.New(problem.LoadBalancersTooMany, subject, problem.Args{"services": {namesOf(left[limit])}, "most": {limit}}, network.KeyAccess))
	}
	out = append(out, x.lastGood(out)...)
	slices.SortFunc(out, func(a, b network.BalancedService) int { return cmp.Compare(a.Name, b.Name) })
	return out, problems
}

func balancedLimit(services, ports int) string {
	switch {
	case services > network.MaxBalancedServices:
		return strconv.Itoa(network.MaxBalancedServices) + " Services"
	case ports > network.MaxBalancedPorts:
		return strconv.Itoa(network.MaxBalancedPorts) + " node ports"
	}
	return ""
}

// inOrder returns all load balancers. Those that already forward to edges come first, so that no other one takes their ports.
func (x balancer) inOrder() []network.LoadBalancer {
	return slices.SortedFunc(slices.Values(x.facts.LoadBalancers), func(a, b network.LoadBalancer) int {
		return cmp.Or(network.TrueFirst(a.Leads == network.LeadsToEdges, b.Leads == network.LeadsToEdges), cmp.Compare(a.Service, b.Service))
	})
}

// lastGood returns the Services of the ingress that the plan in force has and that are missing now. An endpoint of the
// ingress still has each of them as its last known good backend. If HyperShift creates one of them again, it forwards
// to edges immediately.
func (x balancer) lastGood(have []network.BalancedService) []network.BalancedService {
	var out []network.BalancedService
	for _, n := range x.last.Networks {
		if n.Access.LoadBalancers == nil {
			continue
		}
		for _, s := range n.Access.LoadBalancers.Services {
			has := slices.ContainsFunc(have, func(o network.BalancedService) bool { return o.Name == s.Name || o.HostedService == s.HostedService })
			exists := slices.ContainsFunc(x.facts.LoadBalancers, func(o network.LoadBalancer) bool { return o.Service == s.Name })
			waits := slices.ContainsFunc(x.plan.Endpoints, func(e network.Endpoint) bool {
				return e.Origin == network.OriginApps && e.Backend.Service == s.Name && slices.Contains(s.Ports, e.Backend.VMPort())
			})
			if !has && !exists && waits {
				out = append(out, s)
			}
		}
	}
	return out
}

// portsOf returns the ports of s at which edges can listen, sorted, and problems about the other ports.
func (x balancer) portsOf(s network.LoadBalancer, taken map[uint16]network.LoadBalancer) ([]uint16, problem.Problems) {
	switch {
	case s.Leads == network.LeadsElsewhere:
		return nil, problem.Problems{balancerProblem(s, problem.LoadBalancerOfOthers, nil)}
	case s.NoIPv4:
		return nil, problem.Problems{balancerProblem(s, problem.LoadBalancerOnlyIPv6, nil)}
	case s.SourcesHidden:
		return nil, problem.Problems{balancerProblem(s, problem.LoadBalancerSourcesHidden, problem.Args{"most": {strconv.Itoa(network.MaxLoadBalancerSources)}})}
	}
	var out []uint16
	var problems problem.Problems
	others := map[string][]string{}
	for _, p := range s.Ports {
		port := strconv.Itoa(int(p.Target))
		other, shared := taken[p.Target]
		switch use := x.use(p.Target); {
		case p.Protocol != "TCP":
			others[p.Protocol] = append(others[p.Protocol], strconv.Itoa(int(p.Port)))
		case p.Target < firstNodePort || p.Target > lastNodePort:
			problems = append(problems, balancerProblem(s, problem.LoadBalancerPortInvalid, problem.Args{"port": {strconv.Itoa(int(p.Port))}}))
		case use != "":
			problems = append(problems, balancerProblem(s, problem.LoadBalancerPortInUse, problem.Args{"port": {port}, "use": {use}}))
		case shared && other.HostedService != s.HostedService && other.HostedService != "" && s.HostedService != "":
			problems = append(problems, balancerProblem(s, problem.LoadBalancerPortShared, problem.Args{"port": {port}, "other": {other.Service}}))
		default:
			out = append(out, p.Target)
		}
	}
	for _, protocol := range []string{"UDP", "SCTP"} {
		if ports := others[protocol]; len(ports) > 0 {
			problems = append(problems, balancerProblem(s, problem.LoadBalancerNotTCP, problem.Args{"protocol": {protocol}, "ports": ports}))
		}
	}
	if s.IPv6 && len(out) > 0 {
		problems = append(problems, balancerProblem(s, problem.LoadBalancerIPv6, nil))
	}
	slices.Sort(out)
	return slices.Compact(out), problems
}

// use returns the entry of management-access that uses port on the pod network, or "".
func (x balancer) use(port uint16) string {
	for _, e := range accessEntries(x.Request) {
		if e.Listen == port {
			return e.String()
		}
	}
	return ""
}

func balancerProblem(s network.LoadBalancer, c problem.Cause, args problem.Args) problem.Problem {
	name := s.Service
	if s.HostedService != "" {
		name += " (" + s.HostedService + " in the hosted cluster)"
	}
	all := problem.Args{"service": {name}}
	maps.Copy(all, args)
	return problem.New(c, problem.Subject{Kind: "Service", Name: s.Service}, all, network.KeyAccess)
}

// unreachedLoadBalancers returns a hint (severity Info) about load balancers whose addresses are on none of the
// networks. VMs on networks without a gateway do not reach them.
func unreachedLoadBalancers(f network.Facts, r network.Request) problem.Problems {
	boots := slices.DeleteFunc(slices.Clone(r.Networks), func(s network.NetworkRequest) bool { return !s.Primary })
	if len(boots) == 0 || slices.ContainsFunc(boots, func(s network.NetworkRequest) bool { return s.Gateway.IsValid() || s.UnservedNetworks }) {
		return nil
	}
	on := func(a netip.Addr) bool {
		return slices.ContainsFunc(boots, func(s network.NetworkRequest) bool { return s.CIDR.IsValid() && s.CIDR.Contains(a) })
	}
	var names []string
	for _, s := range f.LoadBalancers {
		if s.Leads != network.LeadsElsewhere && !slices.ContainsFunc(s.Addresses, on) {
			names = append(names, cmp.Or(s.HostedService, s.Service))
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return problem.Problems{problem.New(problem.LoadBalancersToNoRoute, cluster(r), problem.Args{"services": {listed(names)}}, network.KeyAccess)}
}
