// This file decides the DNS records of a network, and the upstream servers. Each host
// name of an endpoint resolves to the service VIP. Only these exact names are answered:
// other names in their domains are still forwarded.

package network

import (
	"cmp"
	"net/netip"
	"slices"
)

// names returns the DNS views and upstreams of n.
func names(n Network, s NetworkRequest, in input) (DNS, Problems) {
	up, problems := upstreams(n, s, in)
	own := s.Settings.Records
	if _, ours := appsAddressIsEdge(n, in); !ours && in.Apps.Name != "" {
		own = slices.Concat(own, []Record{in.Apps})
	}
	v := View{Name: "machines", Clients: []netip.Prefix{n.CIDR}, Records: records(n.ServiceVIP, in.Endpoints, own)}
	if up.Mode == UpstreamNone && in.Cluster.Domain != "" {
		v.Zones = []string{in.Cluster.Domain}
	}
	return DNS{Views: []View{v}, Upstreams: up}, problems
}

// records returns one record per name. A record that the user set has precedence over a
// derived one.
func records(service netip.Addr, endpoints []Endpoint, own []Record) []Record {
	byName := map[string]Record{}
	for _, e := range endpoints {
		for _, h := range lowered(e.Hosts) {
			byName[h] = Record{Name: h, Addresses: []netip.Addr{service}}
		}
	}
	chosen := map[string]Record{}
	for _, r := range own {
		name := lowered([]string{r.Name})[0]
		chosen[name] = Record{Name: name, Addresses: append(chosen[name].Addresses, r.Addresses...)}
	}
	for name, r := range chosen {
		slices.SortFunc(r.Addresses, netip.Addr.Compare)
		r.Addresses = slices.Compact(r.Addresses)
		byName[name] = r
	}
	var out []Record
	for _, r := range byName {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Record) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// appsAddressIsEdge says that the address that the user gave the ingress is one of ours,
// where nothing answers for it: the record is left out.
func appsAddressIsEdge(n Network, in input) (Problem, bool) {
	for _, a := range in.Apps.Addresses {
		if n.runs(ServiceDNS) && slices.Contains(slices.Concat(n.heldAddresses(), n.PublishedAddresses), a) {
			return n.problem(AppsAddressIsEdge, Args{"name": in.Apps.Name, "address": a.String()}, keyAppsAddress), true
		}
	}
	return Problem{}, false
}
