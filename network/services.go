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
	all := AllServices()
	if !s.Primary {
		all = []Service{ServiceDHCP}
	}
	return slices.DeleteFunc(all, func(x Service) bool { return !s.Settings.Selects(x) })
}

// AllServices returns the servers of an edge, in the order in which a network lists them.
func AllServices() []Service { return []Service{ServiceDHCP, ServiceDNS, ServiceNTP, ServiceProxy} }

// Selects reports whether the user wants server x. It says nothing about secondary networks,
// which run no other server than DHCP.
func (s Settings) Selects(x Service) bool { return s.Services == nil || slices.Contains(s.Services, x) }

func (n Network) runs(s Service) bool { return slices.Contains(n.Services, s) }

// noServices returns the problem that the user disabled all services of s. There is none if
// annotation services says so, and no VM boots from s.
func (in input) noServices(s NetworkRequest) Problems {
	switch {
	case s.Primary:
		return Problems{s.problem(ServicesEmpty, nil, keyServices)}
	case in.isRunning(s.Attachment.NetworkName()):
		return Problems{s.problem(SecondaryInUse, nil, keyServices)}
	case len(s.Settings.Services) > 0:
		return Problems{s.problem(SecondaryWithoutDHCP, nil, keyServices)}
	}
	return nil
}

// leavesAlone reports whether the user disabled all services of the secondary network of this
// name, and no VM is on it: its edges are removed.
func (in input) leavesAlone(name string) bool {
	return !slices.Contains(in.InUse, name) && slices.ContainsFunc(in.Networks, func(s NetworkRequest) bool {
		return s.Attachment.NetworkName() == name && !s.Primary && len(services(s)) == 0
	})
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

// TimeServers are what DHCP sends as option 42: what the user set, otherwise the service VIP if edges
// run NTP. The plan does not store that default: an edge of a release without NTP reads the plan, too,
// and must not send VMs to a closed port.
func (n Network) TimeServers() []netip.Addr {
	if len(n.DHCP.NTPServers) == 0 && n.runs(ServiceNTP) && n.ServiceVIP.IsValid() {
		return []netip.Addr{n.ServiceVIP}
	}
	return n.DHCP.NTPServers
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
	out := "121 (routes) " + RouteList(n.DHCP.Routes)
	if len(n.DHCP.DNSServers) > 0 {
		out += "; 6 (DNS servers) " + list(n.DHCP.DNSServers)
	}
	if servers := n.TimeServers(); len(servers) > 0 {
		out += "; 42 (NTP servers) " + list(servers)
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
