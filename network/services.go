// This file decides which servers an edge runs, and says what others must do
// where the user leaves some of them out.

package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// fieldServices is the annotation key that problems of this file name.
const fieldServices = "services"

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
	p := Problem{Reason: ServedByOthers, Field: fieldServices, Detail: fmt.Sprintf(
		"network %s is not served: beside a machine's first network there is DHCP only, and %s leaves it out.", s.Attachment, fieldServices)}
	if s.Primary {
		p = Problem{Reason: AnnotationInvalid, Field: fieldServices, Blocking: true, Detail: fmt.Sprintf(
			"network %s: %s names none of dhcp, dns, proxy.", s.Attachment, fieldServices)}
	}
	return p, true
}

// nameServers is option 6: ours where we answer, else the servers that the user
// named as upstreams, as far as they are on the port that clients ask and are not an
// address of an edge: no DNS server runs there.
func nameServers(n Network, s NetworkRequest) []netip.Addr {
	if n.runs(ServiceDNS) {
		return []netip.Addr{n.ServiceAddress}
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
	note := func(format string, args ...any) {
		ps = append(ps, Problem{Reason: ServedByOthers, Field: fieldServices, Detail: fmt.Sprintf(format, args...)})
	}
	if !n.Primary {
		return nil
	}
	if !n.runs(ServiceDHCP) {
		note("DHCP on network %s is not ours. Its server must keep away from %s, and give machines the routes %s (option 121)%s.",
			n.Attachment, list(n.own()), n.routesInWords(), n.serversInWords())
	}
	if !n.runs(ServiceDNS) && len(hosts(endpoints)) > 0 {
		at := n.ServiceAddress.String()
		if !n.runs(ServiceProxy) {
			at = "the addresses of whatever carries their connections"
		}
		note("DNS on network %s is not ours. Its server must answer %s with %s.", n.Attachment, strings.Join(hosts(endpoints), ", "), at)
	}
	if !n.runs(ServiceProxy) && len(endpoints) > 0 {
		note("connections on network %s are not ours: nothing is carried to %s. Names are answered only as far as dns-records has them.",
			n.Attachment, strings.Join(endpointNames(endpoints), ", "))
	}
	return ps
}

func (n Network) routesInWords() string {
	var out []string
	for _, r := range n.DHCP.Routes {
		out = append(out, r.Destination.String()+" via "+r.Via.String())
	}
	return strings.Join(out, ", ")
}

func (n Network) serversInWords() string {
	if len(n.DHCP.DNSServers) == 0 {
		return ""
	}
	return fmt.Sprintf(" and the DNS server %s (option 6)", list(n.DHCP.DNSServers))
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
