// Package served decides what one network gets: addresses, servers, listeners, backends, records and options. The
// package is pure.
package served

import (
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// Input has the arguments of Derive, as its steps change them.
type Input struct {
	network.Request
	network.Facts
	// Retained are the networks of the plan in force that are still wanted. Their addresses are not given to other networks.
	Retained []network.Network
}

// Network returns what the network of s gets, and its problems.
func Network(in Input, s network.NetworkRequest) (network.Network, problem.Problems) {
	addresses, problems := Allocate(s, in.Edges)
	n := network.Network{
		Name:              s.Attachment.NetworkName(),
		Attachment:        s.Attachment,
		NodePools:         slices.Sorted(slices.Values(s.NodePools)),
		Primary:           s.Primary,
		Services:          Services(s),
		CIDR:              s.CIDR.Masked(),
		NextHopVIP:        addresses.nextHopVIP,
		ServiceVIP:        addresses.serviceVIP,
		Edges:             addresses.edges,
		ReservedAddresses: addresses.reserved,
	}
	if !n.ServiceVIP.IsValid() {
		return n, problems // Without addresses, nothing is served.
	}
	in, ps := leaveTakenPlaces(n, s, in)
	problems = slices.Concat(problems, ps, dhcpSettingsUnused(in, s))
	whole, endpoints := in, in.Endpoints
	switch {
	case !n.Runs(network.ServiceProxy):
		in.Endpoints, in.Announced = slices.DeleteFunc(slices.Clone(in.Endpoints), func(e network.Endpoint) bool { return !n.HasLoadBalancer(e) }), nil
	case s.Primary:
		n.PublishedAddresses = publishedAddresses(in.Endpoints)
		n.Listeners, n.Backends, ps = connections(n.ServiceVIP, in.Endpoints)
		problems = append(problems, ps...)
	}
	problems = append(problems, loadBalancerIsEdge(n, s, endpoints)...)
	problems = append(problems, serviceHasEdgeAddress(n, in)...)
	n.DNS.Upstreams.Mode = network.UpstreamNone
	n.ClientNetworks, ps = clientNetworks(n, s, in)
	problems = append(problems, ps...)
	if n.Runs(network.ServiceDNS) {
		n.DNS, ps = names(n, s, in)
		problems = append(problems, ps...)
		if p, ours := appsAddressIsEdge(n, in); ours && n.Primary {
			problems = append(problems, p)
		}
	}
	problems = append(problems, recordsAtEdges(n, s.Settings.Records, endpoints)...)
	problems = append(problems, conflicts(n, s, in, heldFor(n, in))...)
	n.DHCP = dhcpOptions(n, s, addresses.dhcpRange, in)
	problems = append(problems, wildcardsOverSearchDomains(n, s, in)...)
	n.DHCP.Named = named(n, whole)
	if p, large := mtuTooLarge(n, s); large && n.Runs(network.ServiceDHCP) {
		problems = append(problems, p)
	}
	if p, small := rangeTooSmall(n, s, in.VMAddresses); small {
		problems = append(problems, p)
	}
	if !s.Primary && s.Gateway.IsValid() {
		problems = append(problems, n.Problem(problem.GatewayOnSecondary, problem.Args{"gateway": {s.Gateway.String()}}, network.KeyGateway))
	}
	problems = append(problems, unreached(n, s, whole)...)
	return n, append(problems, servedByOthers(n, n.WithoutLoadBalancer(endpoints))...)
}

func publishedAddresses(endpoints []network.Endpoint) []netip.Addr {
	var out []netip.Addr
	for _, e := range endpoints {
		if e.Match == network.MatchAny {
			out = append(out, e.Addresses...)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// LoadBalancerInUse returns the problem that another host has the address of e's load balancer on s's network.
// Parameter by names that host.
func LoadBalancerInUse(s network.NetworkRequest, e network.Endpoint, by string) problem.Problem {
	return s.Problem(problem.AppsLoadBalancerInUse, problem.Args{"name": {e.Hosts[0]}, "address": {e.LoadBalancer.String()}, "holder": {by}})
}

// loadBalancerIsEdge returns a problem for each endpoint whose load balancer has an address of n's edges. Published
// addresses do not count: a load balancer may have the API server at another port.
func loadBalancerIsEdge(n network.Network, s network.NetworkRequest, endpoints []network.Endpoint) problem.Problems {
	var ps problem.Problems
	for _, e := range endpoints {
		if n.Primary && e.Port == network.PortHTTPS && len(e.Hosts) > 0 && slices.Contains(n.HeldAddresses(), e.LoadBalancer) {
			ps = append(ps, LoadBalancerInUse(s, e, "an edge"))
		}
	}
	return ps
}

// serviceHasEdgeAddress returns a problem for each load balancer of the control plane with an address of n's edges. It is a
// Warning if edges run there: they keep the address.
func serviceHasEdgeAddress(n network.Network, in Input) (ps problem.Problems) {
	for _, b := range in.Balanced {
		has := func(x network.Network) bool { return x.Name == n.Name && slices.Contains(x.HeldAddresses(), b.Address) }
		if !has(n) {
			continue
		}
		p := n.Problem(problem.ServiceHasEdgeAddress, problem.Args{"service": {b.Service}, "role": {n.RoleOf(b.Address)}, "address": {b.Address.String()}}, network.KeyEdgeAddresses)
		if slices.ContainsFunc(in.Retained, has) {
			p = p.Warning()
		}
		ps = append(ps, p)
	}
	return ps
}

// InForce reports whether s is in force with its requested CIDR.
func (in Input) InForce(s network.NetworkRequest) bool {
	name, cidr := s.Attachment.NetworkName(), s.CIDR.Masked()
	return slices.ContainsFunc(in.Retained, func(n network.Network) bool { return n.Name == name && n.CIDR == cidr })
}

// IsRetained reports whether the network of this name is retained, with any CIDR.
func (in Input) IsRetained(name string) bool {
	return slices.ContainsFunc(in.Retained, func(n network.Network) bool { return n.Name == name })
}

func (in Input) reach(n network.Network, s network.NetworkRequest) network.Reach {
	r := n.Reach()
	r.Gateway = netip.Addr{}
	if s.Primary {
		r.Gateway = s.Gateway
	}
	for _, other := range in.Networks {
		if other.Attachment != s.Attachment && other.CIDR.IsValid() && containsAll(other.NodePools, s.NodePools) {
			r.Links = append(r.Links, other.CIDR.Masked())
		}
	}
	r.Unserved, r.NodeAPI = s.UnservedNetworks, in.NodeAPI
	for _, g := range in.InHostedCluster {
		r.InHostedCluster = append(r.InHostedCluster, g.Prefix)
	}
	return r
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(x string) bool { return !slices.Contains(all, x) })
}

// Services returns the servers of an edge on s: all, or those that the user set. A secondary network has DHCP only.
func Services(s network.NetworkRequest) []network.Service {
	all := network.AllServices()
	if !s.Primary {
		all = []network.Service{network.ServiceDHCP}
	}
	return slices.DeleteFunc(all, func(x network.Service) bool { return !s.Settings.Selects(x) })
}
