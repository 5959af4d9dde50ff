// This file decides which servers an edge runs. For a server that the user disables, a problem says what others must
// provide.

package served

import (
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// NoServices returns the problem that the user disabled all services of s. A secondary network that does not run may
// have annotation services "none". Then there is no problem.
func (in Input) NoServices(s network.NetworkRequest) problem.Problems {
	switch {
	case s.Primary:
		return problem.Problems{s.Problem(problem.ServicesEmpty, nil, network.KeyServices)}
	case in.IsRetained(s.Attachment.NetworkName()):
		return problem.Problems{s.Problem(problem.SecondaryInUse, nil, network.KeyServices)}
	case len(s.Settings.Services) > 0:
		return problem.Problems{s.Problem(problem.SecondaryWithoutDHCP, nil, network.KeyServices)}
	}
	return nil
}

// LeavesAlone reports whether the user disabled all services of this secondary network, and no VM is on it, so that its
// edges are removed.
func (in Input) LeavesAlone(name string) bool {
	return !slices.Contains(in.InUse, name) && slices.ContainsFunc(in.Networks, func(s network.NetworkRequest) bool {
		return s.Attachment.NetworkName() == name && !s.Primary && len(Services(s)) == 0
	})
}

// nameServers returns option 6: the service VIP if edges run DNS, else the user's upstreams on port 53 at addresses that
// edges do not have.
func nameServers(n network.Network, s network.NetworkRequest) []netip.Addr {
	if n.Runs(network.ServiceDNS) {
		return []netip.Addr{n.ServiceVIP}
	}
	var out []netip.Addr
	if u := s.Settings.Upstreams; u != nil {
		for _, server := range u.Servers {
			if server.Port() == network.PortDNS && n.Reach().FromVM(server.Addr()) != network.AtEdges {
				out = append(out, server.Addr())
			}
		}
	}
	return out
}

// servedByOthers returns a problem for each disabled service of n: what other servers must provide.
func servedByOthers(n network.Network, endpoints []network.Endpoint) problem.Problems {
	var ps problem.Problems
	note := func(c problem.Cause, args problem.Args) { ps = append(ps, n.Problem(c, args, network.KeyServices)) }
	if !n.Primary {
		return nil
	}
	if !n.Runs(network.ServiceDHCP) {
		note(problem.DHCPByOthers, problem.Args{"addresses": {network.List(n.HeldAddresses())}, "options": {optionsInWords(n)}})
	}
	if !n.Runs(network.ServiceDNS) && len(hosts(endpoints)) > 0 {
		args := problem.Args{"names": hosts(endpoints)}
		if n.Runs(network.ServiceProxy) {
			args["address"] = []string{n.ServiceVIP.String()}
			note(problem.DNSByOthers, args)
		} else {
			note(problem.DNSAndProxyByOthers, args)
		}
	}
	if !n.Runs(network.ServiceProxy) && len(endpoints) > 0 {
		note(problem.ProxyByOthers, problem.Args{"endpoints": endpointNames(endpoints)})
	}
	return ps
}

func optionsInWords(n network.Network) string {
	out := "121 (routes) " + network.RouteList(n.DHCP.Routes)
	if len(n.DHCP.DNSServers) > 0 {
		out += "; 6 (DNS servers) " + network.List(n.DHCP.DNSServers)
	}
	if servers := n.TimeServers(); len(servers) > 0 {
		out += "; 42 (NTP servers) " + network.List(servers)
	}
	return out
}

func hosts(endpoints []network.Endpoint) []string {
	var out []string
	for _, e := range endpoints {
		out = append(out, network.Lowered(e.Hosts)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func endpointNames(endpoints []network.Endpoint) []string {
	var out []string
	for _, e := range endpoints {
		out = append(out, e.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
