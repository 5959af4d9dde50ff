// This file decides the DNS records of a network, and the upstream servers. Each host
// name of an endpoint resolves to the service VIP, or to its own load balancer on the
// network. Only these exact names are answered: other names in their domains are still
// forwarded.

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
	v := View{Name: "vms", Clients: []netip.Prefix{n.CIDR}, Records: records(n, in.Endpoints, own)}
	if up.Mode == UpstreamNone && in.Cluster.Domain != "" {
		v.Zones = []string{in.Cluster.Domain}
	}
	views := []View{v}
	if s.Primary && s.Gateway.IsValid() {
		views = append(views, viewBeyond(n, s.Gateway, v.Records, in.Cluster.Domain))
	}
	return DNS{Views: views, Upstreams: up}, problems
}

// viewBeyond is the view of hosts beyond n: those in client networks, and those that gateway
// masquerades, which have its address. They get the names of VMs and no others: edges resolve names
// for VMs only. Nothing in the cluster's domain is forwarded for them, so what is not there does not exist.
func viewBeyond(n Network, gateway netip.Addr, records []Record, domain string) View {
	v := View{Name: "clients", Clients: slices.Concat([]netip.Prefix{host(gateway)}, n.ClientNetworks), Records: records, OwnNamesOnly: true}
	if domain != "" {
		v.Zones = []string{domain}
	}
	return v
}

// records returns one record per name of n. A record that the user set has precedence over a
// derived one. Of endpoints with one name, the first by precedence decides.
func records(n Network, endpoints []Endpoint, own []Record) []Record {
	byName := map[string]Record{}
	for _, e := range sortedEndpoints(endpoints) {
		for _, h := range lowered(e.Hosts) {
			if _, has := byName[h]; !has {
				byName[h] = Record{Name: h, Addresses: []netip.Addr{n.resolved(e)}}
			}
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
