// This file decides the DNS records of a network, and the upstream servers. Each host name of an endpoint resolves to
// the service VIP, or to its own load balancer on the network. Other names in its domain are forwarded.

package served

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

func names(n network.Network, s network.NetworkRequest, in Input) (network.DNS, problem.Problems) {
	up, problems := upstreams(n, s, in)
	own := s.Settings.Records
	if _, ours := appsAddressIsEdge(n, in); !ours && in.Apps.Name != "" {
		own = slices.Concat(own, []network.Record{in.Apps})
		for _, name := range in.FurtherApps {
			own = append(own, network.Record{Name: name, Addresses: in.Apps.Addresses})
		}
	}
	v := network.View{Name: "vms", Clients: []netip.Prefix{n.CIDR}, Records: records(n, in.Endpoints, own)}
	if in.Cluster.Domain != "" && (up.Mode == network.UpstreamNone || hasWholeDomain(n, in)) {
		v.Zones = []string{in.Cluster.Domain}
	}
	if isWholeWorld(n, s, up) {
		v.Zones = append(v.Zones, ".")
	}
	views := []network.View{v}
	if s.Primary && s.Gateway.IsValid() {
		views = append(views, viewBeyond(n, s.Gateway, v.Records, in.Cluster.Domain))
	}
	return network.DNS{Views: views, Upstreams: up}, problems
}

// hasWholeDomain reports whether edges have all names in the cluster's domain. With base domain passthrough, others have only
// names of the ingress, which edges serve. Upstreams resolve all other names to the ingress of the management cluster. If
// the cluster has no prefix of its own, its domain also has the names of the management cluster.
func hasWholeDomain(n network.Network, in Input) bool {
	return in.Passthrough && !strings.EqualFold(in.ManagementDomain, in.Cluster.Domain) && n.Runs(network.ServiceProxy)
}

// isWholeWorld reports whether VMs on n can resolve only the names of this plan: edges ask no upstream server, and VMs
// have no other DNS server as far as is known. With two servers, a resolver asks the second only if the first refuses.
func isWholeWorld(n network.Network, s network.NetworkRequest, up network.Upstreams) bool {
	if u := s.Settings.Upstreams; u != nil {
		return u.Mode == network.UpstreamNone
	}
	return up.Mode == network.UpstreamNone && n.Runs(network.ServiceDHCP) && !s.UnservedNetworks
}

// viewBeyond returns the view of hosts in client networks, and of hosts behind the gateway's own address. These hosts get
// only the names that VMs get: edges resolve other names for VMs only. Other names in the cluster's domain do not exist.
func viewBeyond(n network.Network, gateway netip.Addr, records []network.Record, domain string) network.View {
	v := network.View{Name: "clients", Clients: slices.Concat([]netip.Prefix{network.Host(gateway)}, n.ClientNetworks), Records: records, OwnNamesOnly: true}
	if domain != "" {
		v.Zones = []string{domain}
	}
	return v
}

// records returns one record for each name of n. Records of the user have precedence, then the first endpoint.
func records(n network.Network, endpoints []network.Endpoint, own []network.Record) []network.Record {
	byName := map[string]network.Record{}
	for _, e := range network.SortedEndpoints(endpoints) {
		for _, h := range network.Lowered(e.Hosts) {
			if _, has := byName[h]; !has {
				byName[h] = network.Record{Name: h, Addresses: []netip.Addr{n.Resolved(e)}}
			}
		}
	}
	chosen := map[string]network.Record{}
	for _, r := range own {
		name := network.Lowered([]string{r.Name})[0]
		chosen[name] = network.Record{Name: name, Addresses: append(chosen[name].Addresses, r.Addresses...)}
	}
	for name, r := range chosen {
		slices.SortFunc(r.Addresses, netip.Addr.Compare)
		r.Addresses = slices.Compact(r.Addresses)
		byName[name] = r
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b network.Record) int { return cmp.Compare(a.Name, b.Name) })
}

// recordsAtEdges returns a problem for each of the user's records at an address of n's edges, unless an edge answers
// for its name there.
func recordsAtEdges(n network.Network, own []network.Record, endpoints []network.Endpoint) problem.Problems {
	var ps problem.Problems
	published := hosts(endpoints)
	for _, r := range own {
		name := network.Lowered([]string{r.Name})[0]
		serves := func(host string) bool { return network.MatchesHost(host, name) }
		for _, a := range r.Addresses {
			answers := slices.ContainsFunc(n.Listeners, func(l network.Listener) bool { return l.Address == a && l.Default != "" })
			if slices.Contains(n.HeldAddresses(), a) && !answers && !slices.ContainsFunc(published, serves) {
				ps = append(ps, n.Problem(problem.RecordIsEdge, problem.Args{"name": {name}, "address": {a.String()}}, network.KeyRecords))
			}
		}
	}
	return ps
}

// appsAddressIsEdge returns the problem that the user set an address of an edge for the ingress. Nothing answers there,
// so the record is left out.
func appsAddressIsEdge(n network.Network, in Input) (problem.Problem, bool) {
	for _, a := range in.Apps.Addresses {
		if n.Runs(network.ServiceDNS) && slices.Contains(slices.Concat(n.HeldAddresses(), n.PublishedAddresses), a) {
			return n.Problem(problem.AppsAddressIsEdge, problem.Args{"name": append([]string{in.Apps.Name}, in.FurtherApps...), "address": {a.String()}}, network.KeyAppsAddress), true
		}
	}
	return problem.Problem{}, false
}
