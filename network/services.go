// This file decides which servers an edge runs, and says what others must do
// where the user leaves some of them out.

package network

import (
	"net/netip"
	"slices"
	"strings"
)

// keyServices is the annotation key that problems of this file name.
const keyServices = "services"

// services are the servers that an edge on s runs: all, or those that the user
// named; DHCP alone where machines get an address only.
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

// nobodyServes says that the user left nothing for an edge to do on s.
func nobodyServes(s NetworkRequest) (Problem, bool) {
	if len(services(s)) > 0 {
		return Problem{}, false
	}
	if s.Primary {
		return s.problem(ServicesEmpty, nil, keyServices), true
	}
	return s.problem(SecondaryWithoutDHCP, nil, keyServices), true
}

// nameServers is option 6: ours where we answer, else the servers that the user
// named as upstreams, as far as they are on the port that clients ask and are not an
// address of an edge: no DNS server runs there.
func nameServers(n Network, s NetworkRequest) []netip.Addr {
	if n.runs(ServiceDNS) {
		return []netip.Addr{n.ServiceVIP}
	}
	var out []netip.Addr
	if u := s.Settings.Upstreams; u != nil {
		for _, server := range u.Servers {
			if server.Port() == portDNS && !slices.Contains(n.own(), server.Addr()) {
				out = append(out, server.Addr())
			}
		}
	}
	return out
}

// byOthers says what those must do who serve what the user left out on n.
// endpoints are all that machines must reach.
func byOthers(n Network, endpoints []Endpoint) Problems {
	var ps Problems
	note := func(c Cause, args Args) { ps = append(ps, n.problem(c, args, keyServices)) }
	if !n.Primary {
		return nil
	}
	if !n.runs(ServiceDHCP) {
		note(DHCPByOthers, Args{"addresses": list(n.own()), "options": n.optionsInWords()})
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

// optionsInWords are the DHCP options that a server of the user's must send.
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

func list(addresses []netip.Addr) string {
	var out []string
	for _, a := range slices.SortedFunc(slices.Values(addresses), netip.Addr.Compare) {
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
