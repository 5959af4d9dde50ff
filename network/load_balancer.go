// This file decides on which networks the hosted cluster's own load balancer answers for its
// ingress. There its names resolve to it. Edges listen for the ingress at the service VIP on
// every network, so that clients that know that address keep it.
//
// The guest's user may choose the address of the load balancer. An address that another host
// has is not used: names resolve to the service VIP.

package network

import (
	"cmp"
	"net/netip"
	"slices"
)

// HasLoadBalancer reports whether a load balancer on the network answers for e: it has a host
// address of the CIDR that edges do not hold.
func (n Network) HasLoadBalancer(e Endpoint) bool {
	return n.Primary && n.Reach().FromVM(e.LoadBalancer) == OnNetwork
}

// withoutLoadBalancer returns those of endpoints for which only edges of n answer.
func (n Network) withoutLoadBalancer(endpoints []Endpoint) []Endpoint {
	return slices.DeleteFunc(slices.Clone(endpoints), n.HasLoadBalancer)
}

// resolved returns the address that the hosts of e have on n.
func (n Network) resolved(e Endpoint) netip.Addr {
	if n.HasLoadBalancer(e) {
		return e.LoadBalancer
	}
	return n.ServiceVIP
}

// loadBalancerInUse returns the problem that the load balancer of e has address a on s's network,
// as by has.
func (s NetworkRequest) loadBalancerInUse(e Endpoint, by string) Problem {
	return s.problem(AppsLoadBalancerInUse, Args{"name": e.Hosts[0], "address": e.LoadBalancer.String(), "holder": by})
}

// loadBalancerIsEdge returns the problem that the load balancer of an endpoint has an address of
// n's edges, n being the network of s. A published address is not one: a load balancer may have
// the API at another port.
func loadBalancerIsEdge(n Network, s NetworkRequest, endpoints []Endpoint) Problems {
	var ps Problems
	for _, e := range endpoints {
		if n.Primary && e.Port == PortHTTPS && len(e.Hosts) > 0 && slices.Contains(n.heldAddresses(), e.LoadBalancer) {
			ps = append(ps, s.loadBalancerInUse(e, "an edge"))
		}
	}
	return ps
}

// leaveTakenLoadBalancers returns in, but without the load balancers whose addresses another host of a
// network has, and a problem for each.
func (in input) leaveTakenLoadBalancers(others []OtherCluster) (input, Problems) {
	out := in
	out.Endpoints = slices.Clone(in.Endpoints)
	var ps Problems
	for i, e := range in.Endpoints {
		for _, s := range sortedRequests(in.Networks) {
			by := in.hasAddress(s, e.LoadBalancer, others)
			if by == "" {
				continue
			}
			out.Endpoints[i].LoadBalancer = netip.Addr{}
			if e.Port == PortHTTPS && len(e.Hosts) > 0 {
				ps = append(ps, s.loadBalancerInUse(e, by))
			}
			break
		}
	}
	return out, ps
}

// hasAddress returns what has a on the network of s: a router or a server that the user named, a VM,
// or another cluster by its plan in force. Empty: nothing does, or VMs do not boot from that network.
func (in input) hasAddress(s NetworkRequest, a netip.Addr, others []OtherCluster) string {
	if !s.Primary || !s.CIDR.IsValid() || !s.CIDR.Contains(a) {
		return ""
	}
	up := cmp.Or(s.Settings.Upstreams, &Upstreams{})
	switch {
	case a == s.Gateway:
		return "the gateway"
	case slices.ContainsFunc(up.Servers, func(x netip.AddrPort) bool { return x.Addr() == a }):
		return "a DNS server"
	case slices.Contains(s.Settings.NTPServers, a):
		return "an NTP server"
	case slices.Contains(s.Settings.DHCPRelays, a):
		return "a DHCP relay"
	}
	var by []string
	for _, r := range s.Settings.Reservations {
		if r.Address == a {
			by = append(by, "the reservation of "+r.MAC)
		}
	}
	for _, v := range in.VMAddresses {
		if v.Address == a && v.Network == s.Attachment.NetworkName() {
			by = append(by, "VM "+v.VM)
		}
	}
	for _, u := range others {
		if slices.ContainsFunc(u.Serves.Networks, func(n Network) bool { return n.Attachment.SameNetwork(s.Attachment) && n.assigns(a) }) {
			by = append(by, "hosted cluster "+u.Name)
		}
	}
	if len(by) == 0 {
		return ""
	}
	return slices.Min(by)
}

// assigns reports whether n's edges hold a, or DHCP assigns it.
func (n Network) assigns(a netip.Addr) bool {
	return !slices.Contains(n.DHCP.Named, a) && slices.ContainsFunc(n.assigned(), func(r usedRange) bool { return r.Contains(a) })
}
