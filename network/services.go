// This file decides the servers that an edge runs. If the user disables some of them,
// problems name what other servers must provide.

package network

import (
	"net/netip"
	"slices"
	"strings"
)

// keyServices is the annotation key that problems of this file name.
const keyServices = "services"

// services are the servers that an edge on s runs: all, or those that the user set. On a
// secondary network, it is DHCP at most.
func services(s NetworkRequest) []Service {
	all := []Service{ServiceDHCP, ServiceDNS, ServiceProxy}
	if !s.Primary {
		all = all[:1]
	}
	return slices.DeleteFunc(all, func(x Service) bool {
		return s.Settings.Services != nil && !slices.Contains(s.Settings.Services, x)
	})
}

func (n Network) runs(s Service) bool { return slices.Contains(n.Services, s) }

// noServices returns the problem that the user disabled all services of s.
func noServices(s NetworkRequest) (Problem, bool) {
	if len(services(s)) > 0 {
		return Problem{}, false
	}
	if s.Primary {
		return s.problem(ServicesEmpty, nil, keyServices), true
	}
	return s.problem(SecondaryWithoutDHCP, nil, keyServices), true
}

// nameServers is option 6: the service VIP if edges run DNS, else the user's upstreams on
// port 53. An address of an edge is left out, since no DNS server runs there.
func nameServers(n Network, s NetworkRequest) []netip.Addr {
	if n.runs(ServiceDNS) {
		return []netip.Addr{n.ServiceVIP}
	}
	var out []netip.Addr
	if u := s.Settings.Upstreams; u != nil {
		for _, server := range u.Servers {
			if server.Port() == portDNS && !slices.Contains(n.heldAddresses(), server.Addr()) {
				out = append(out, server.Addr())
			}
		}
	}
	return out
}

// servedByOthers returns a problem for each disabled service of n, which names what other
// servers must provide. endpoints are all that VMs connect to.
func servedByOthers(n Network, endpoints []Endpoint) Problems {
	var ps Problems
	note := func(c Cause, args Args) { ps = append(ps, n.problem(c, args, keyServices)) }
	if !n.Primary {
		return nil
	}
	if !n.runs(ServiceDHCP) {
		note(DHCPByOthers, Args{"addresses": list(n.heldAddresses()), "options": n.optionsInWords()})
	}
	if !n.runs(ServiceDNS) && len(hosts(endpoints)) > 0 {
		args := Args{"names": strings.Join(hosts(endpoints), ", ")}
		if n.runs(ServiceProxy) {
			args["address"] = n.ServiceVIP.String()
			note(DNSByOthers, args)
		} else {
			note(DNSAndProxyByOthers, args)
		}
	}
	if !n.runs(ServiceProxy) && len(endpoints) > 0 {
		note(ProxyByOthers, Args{"endpoints": strings.Join(endpointNames(endpoints), ", ")})
	}
	return ps
}

// optionsInWords are the DHCP options that another DHCP server must send.
func (n Network) optionsInWords() string {
	var routes []string
	for _, r := range n.DHCP.Routes {
		routes = append(routes, r.Destination.String()+" via "+r.Via.String())
	}
	out := "121 (routes) " + strings.Join(routes, ", ")
	if len(n.DHCP.DNSServers) > 0 {
		out += "; 6 (DNS servers) " + list(n.DHCP.DNSServers)
	}
	return out
}

// list is AddressList of sorted addresses.
func list(addresses []netip.Addr) string {
	return AddressList(slices.SortedFunc(slices.Values(addresses), netip.Addr.Compare))
}

// AddressList returns addresses for messages: in their order, with commas.
func AddressList(addresses []netip.Addr) string {
	var out []string
	for _, a := range addresses {
		out = append(out, a.String())
	}
	return strings.Join(out, ", ")
}

func hosts(endpoints []Endpoint) []string {
	var out []string
	for _, e := range endpoints {
		out = append(out, lowered(e.Hosts)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func endpointNames(endpoints []Endpoint) []string {
	var out []string
	for _, e := range endpoints {
		out = append(out, e.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
