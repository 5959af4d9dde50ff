// This file decides whether the hosted cluster's own load balancer answers for its ingress. On networks where it does
// (network.HasLoadBalancer), names resolve to it. Edges listen for the ingress at the service VIP on every network, for
// clients that stored this address.
//
// A user of the hosted cluster may choose the address of the load balancer. If another host has the address, the load
// balancer is not used, and names resolve to the service VIP.

package derive

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/derive/served"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// leaveTakenLoadBalancers returns a copy of in without load balancer addresses that another host of a network has. It
// returns a problem for each of them on port 443 whose endpoint has host names.
func leaveTakenLoadBalancers(in served.Input, others []OtherCluster) (served.Input, problem.Problems) {
	out := in
	out.Endpoints = slices.Clone(in.Endpoints)
	var ps problem.Problems
	for i, e := range in.Endpoints {
		for _, s := range sortedRequests(in.Networks) {
			by := hasAddress(in, s, e.LoadBalancer, others)
			if by == "" {
				continue
			}
			out.Endpoints[i].LoadBalancer = netip.Addr{}
			if e.Port == network.PortHTTPS && len(e.Hosts) > 0 {
				ps = append(ps, served.LoadBalancerInUse(s, e, by))
			}
			break
		}
	}
	return out, ps
}

// hasAddress returns a text for the other host that has address a on the network of s. The host is a router or a server
// that the user named, a VM, or another cluster by its plan in force. If no other host is known, or if VMs do not boot
// from that network, hasAddress returns "".
func hasAddress(in served.Input, s network.NetworkRequest, a netip.Addr, others []OtherCluster) string {
	if !s.Primary || !s.CIDR.IsValid() || !s.CIDR.Contains(a) {
		return ""
	}
	up := cmp.Or(s.Settings.Upstreams, &network.Upstreams{})
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
		if slices.ContainsFunc(u.Serves.Networks, func(n network.Network) bool { return n.Attachment.SameNetwork(s.Attachment) && assigns(n, a) }) {
			by = append(by, "hosted cluster "+u.Name)
		}
	}
	if len(by) == 0 {
		return ""
	}
	return slices.Min(by)
}

func assigns(n network.Network, a netip.Addr) bool {
	return !slices.Contains(n.DHCP.Named, a) && slices.ContainsFunc(assigned(n), func(r usedRange) bool { return r.Contains(a) })
}

// leadIngress sets ByLease on a backend of the ingress if the EndpointSlices of the backend's Service do not list VMs:
// they list edges, will list edges, or listed edges and are not written again yet.
func leadIngress(in served.Input, last network.Plan) served.Input {
	out := in
	out.Endpoints = slices.Clone(in.Endpoints)
	for i, e := range out.Endpoints {
		if e.Origin == network.OriginApps && e.Backend.Kind == network.BackendVMs && e.Backend.Service != "" && e.Backend.TargetPort != 0 {
			out.Endpoints[i].Backend.ByLease = led(in, e.Backend, last)
		}
	}
	return out
}

// led reports whether edges must find the VMs of b by their leases, because the EndpointSlices of b's Service do not list them.
func led(in served.Input, b network.Backend, last network.Plan) bool {
	i := slices.IndexFunc(in.LoadBalancers, func(s network.LoadBalancer) bool { return s.Service == b.Service })
	was := slices.ContainsFunc(last.Endpoints, func(e network.Endpoint) bool { return e.Backend.Service == b.Service && e.Backend.ByLease })
	if i < 0 {
		return was
	}
	s := in.LoadBalancers[i]
	leads := in.Access.Balances() && s.Leads != network.LeadsElsewhere && !s.NoIPv4 && !s.SourcesHidden && (s.HostedService != "" || in.Access.Names(network.AccessApps)) &&
		slices.ContainsFunc(in.Networks, func(n network.NetworkRequest) bool { return n.Primary && n.Settings.Selects(network.ServiceDHCP) })
	return leads || s.Leads == network.LeadsToEdges || was && !s.Endpoints
}
