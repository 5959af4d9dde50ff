// This file decides which names are answered, and who answers the rest. Every
// host name of an endpoint is the service address; whole domains that belong to
// others are never shadowed, only the exact names in them.

package network

import (
	"cmp"
	"net/netip"
	"slices"
)

// names is what DNS answers on n.
func names(n Network, s NetworkRequest, in input) DNS {
	up := Upstreams{Mode: UpstreamNone}
	if s.Gateway.IsValid() {
		up.Mode = UpstreamManagement
	}
	if s.Settings.Upstreams != nil {
		up = *s.Settings.Upstreams
	}
	own := s.Settings.Records
	if _, ours := ourApps(n, in); !ours && in.Apps.Name != "" {
		own = slices.Concat(own, []Record{in.Apps})
	}
	v := View{Name: "machines", Clients: []netip.Prefix{n.CIDR}, Records: records(n.ServiceVIP, in.Endpoints, own)}
	if up.Mode == UpstreamNone && in.Cluster.Domain != "" {
		v.Zones = []string{in.Cluster.Domain}
	}
	return DNS{Views: []View{v}, Upstreams: up}
}

// records has one record per name: a user's own record wins over a derived one,
// since it is the more deliberate of the two.
func records(service netip.Addr, endpoints []Endpoint, own []Record) []Record {
	byName := map[string]Record{}
	for _, e := range endpoints {
		for _, h := range lowered(e.Hosts) {
			byName[h] = Record{Name: h, Addresses: []netip.Addr{service}}
		}
	}
	said := map[string]Record{}
	for _, r := range own {
		name := lowered([]string{r.Name})[0]
		said[name] = Record{Name: name, Addresses: append(said[name].Addresses, r.Addresses...)}
	}
	for name, r := range said {
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

// ourApps says that the address that the user gave the ingress is one of ours,
// where nothing answers for it: the record is left out.
func ourApps(n Network, in input) (Problem, bool) {
	for _, a := range in.Apps.Addresses {
		if n.runs(ServiceDNS) && slices.Contains(slices.Concat(n.own(), n.PublishedAddresses), a) {
			return n.problem(AppsAddressIsEdge, Args{"name": in.Apps.Name, "address": a.String()}, keyAppsAddress), true
		}
	}
	return Problem{}, false
}
