// This file finds addresses that the user set and that VMs or edges do not reach. Each such address is a problem. It is
// still served as set, since an unknown host may forward to it.

package served

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// maxNamed is the maximum number of records that a problem names.
const maxNamed = 5

const fieldOAuth = "spec.configuration.oauth"

// unreached returns the problems of n, the network of s.
func unreached(n network.Network, s network.NetworkRequest, in Input) problem.Problems {
	var ps problem.Problems
	reach := in.reach(n, s)
	note := func(c problem.Cause, args problem.Args, keys ...string) {
		args["cidr"] = []string{n.CIDR.String()}
		ps = append(ps, n.Problem(c, args, keys...))
	}
	if relays := network.Without(n.DHCP.Relays, func(a netip.Addr) bool { return reach.FromEdge(a) == network.OnNetwork }); len(relays) > 0 {
		note(problem.RelaysUnreachable, problem.Args{"servers": {network.AddressList(relays)}}, network.KeyDHCPRelays)
	}
	serves := func(a netip.Addr) bool { // Edges serve the time at the service VIP only.
		return in.reached(reach, a) && reach.FromVM(a) != network.AtEdges || a == n.ServiceVIP && n.Runs(network.ServiceNTP)
	}
	if servers := network.Without(n.TimeServers(), serves); len(servers) > 0 {
		cause, keys := problem.OnlyTimeServersUnreachable, []string{network.KeyNTPServers, network.KeyGateway, network.KeyServices}
		if n.Runs(network.ServiceNTP) {
			cause, keys = problem.TimeServersUnreachable, keys[:2]
		}
		note(cause, problem.Args{"servers": {network.AddressList(servers)}}, keys...)
	}
	ps = append(ps, amongServices(n, s, in, reach)...)
	if !n.Primary {
		return ps
	}
	ps = append(ps, noNameServer(n, s, in, reach)...)
	ps = append(ps, imagesElsewhere(n, in, reach)...)
	ps = append(ps, providersElsewhere(n, in, reach)...)
	if !n.Runs(network.ServiceDNS) {
		return ps
	}
	for _, a := range in.missing(reach, in.Apps.Addresses) {
		note(problem.AppsAddressUnreachable, problem.Args{"name": {in.Apps.Name}, "address": {a.String()}}, network.KeyAppsAddress, network.KeyGateway)
	}
	if records := missingRecords(in, reach, s.Settings.Records); len(records) > 0 {
		note(problem.RecordsUnreachable, problem.Args{"records": records}, network.KeyRecords, network.KeyGateway)
	}
	return ps
}

// noNameServer returns a problem if VMs reach none of the DNS servers that DHCP advertises. Nodes resolve names before
// they have routes to the pods and Services of the hosted cluster, and afterwards.
func noNameServer(n network.Network, s network.NetworkRequest, in Input, reach network.Reach) problem.Problems {
	servers, booting := n.DHCP.DNSServers, reach
	booting.InHostedCluster = nil
	args := problem.Args{"cidr": {n.CIDR.String()}}
	var p problem.Problem
	switch {
	case !n.Runs(network.ServiceDHCP) || in.unreadable(network.KeyUpstreams):
		return nil
	case s.Settings.Upstreams == nil || len(s.Settings.Upstreams.Servers) == 0:
		if len(servers) > 0 {
			return nil // Edges run DNS.
		}
		p = n.Problem(problem.NameServersMissing, args, network.KeyServices, network.KeyUpstreams)
	case len(in.missing(booting, servers)) == len(servers):
		args["servers"] = network.Texts(s.Settings.Upstreams.Servers)
		p = n.Problem(problem.NameServersUnreachable, args, network.KeyUpstreams, network.KeyServices, network.KeyGateway)
	case slices.ContainsFunc(servers, func(a netip.Addr) bool { return reach.FromVM(a) != network.InCluster && in.reached(reach, a) }):
		return nil
	default:
		args["servers"], args["other"] = []string{network.AddressList(servers)}, []string{destination(in.inHostedCluster(servers[0]))}
		return problem.Problems{n.Problem(problem.NameServersInHostedCluster, args, network.KeyUpstreams)}
	}
	named := func(e network.Endpoint) bool { return e.NeededByNodes() && len(e.Hosts) > 0 }
	if len(servers) == 0 && !slices.ContainsFunc(in.Endpoints, named) {
		p = p.Warning() // Nodes may need addresses only.
	}
	return problem.Problems{p}
}

// unreadable reports whether a value of annotation key is invalid, so that its meaning is unknown.
func (in Input) unreadable(key string) bool {
	return slices.ContainsFunc(in.Problems, func(p problem.Problem) bool {
		return p.Cause == problem.AnnotationUnreadable && slices.Contains(p.Keys, key)
	})
}

// amongServices returns a hint for each key with addresses in the network of Services of the hosted cluster. A Service
// may have them, but no other host.
func amongServices(n network.Network, s network.NetworkRequest, in Input, reach network.Reach) (ps problem.Problems) {
	note := func(key string, all ...netip.Addr) {
		all = network.Without(all, func(a netip.Addr) bool { return reach.FromVM(a) != network.InCluster || !in.reached(reach, a) })
		if len(all) == 0 {
			return
		}
		slices.SortFunc(all, netip.Addr.Compare)
		all = slices.Compact(all)
		r := in.inHostedCluster(all[0])
		args := problem.Args{"addresses": {network.AddressList(all[:min(len(all), maxNamed)])}, "other": {destination(r)}}
		ps = append(ps, n.Problem(problem.AddressOfService, args, key))
	}
	note(network.KeyNTPServers, n.DHCP.NTPServers...)
	if !n.Primary {
		return ps
	}
	if n.Runs(network.ServiceDNS) {
		var records []netip.Addr
		for _, r := range s.Settings.Records {
			records = append(records, r.Addresses...)
		}
		note(network.KeyAppsAddress, in.Apps.Addresses...)
		note(network.KeyRecords, network.Without(records, func(a netip.Addr) bool { // imagesElsewhere reports those of registries.
			return slices.ContainsFunc(in.ImageHosts, func(at netip.AddrPort) bool { return at.Addr() == a })
		})...)
	}
	var providers []netip.Addr
	for _, at := range in.ProviderHosts {
		providers = append(providers, at.Addr())
	}
	note(fieldOAuth, providers...)
	return ps
}

// imagesElsewhere returns problems about addresses that nodes dial for images and that are inside the hosted cluster or
// belong to edges. If a Service of the user answers at an address of edges, that address is no problem.
func imagesElsewhere(n network.Network, in Input, reach network.Reach) (ps problem.Problems) {
	fields := []string{"spec.configuration.proxy", "spec.release.image", "spec.imageContentSources"}
	var ofEdges []string
	for _, at := range in.ImageHosts {
		switch reach.FromVM(at.Addr()) {
		case network.AtEdges:
			if !answers(n, at) {
				ofEdges = append(ofEdges, at.String())
			}
		case network.InCluster:
			r := in.inHostedCluster(at.Addr())
			ps = append(ps, n.Problem(problem.ImagesInHostedCluster, problem.Args{"hosts": {at.String()}, "other": {destination(r)}}, fields...))
		}
	}
	if len(ofEdges) > 0 {
		ps = append(ps, n.Problem(problem.ImagesFromEdge, problem.Args{"hosts": ofEdges}, fields...))
	}
	return ps
}

// providersElsewhere returns problems about the addresses of identity providers that belong to edges, or that nodes look
// for inside the hosted cluster. There, only a Service may be a provider.
func providersElsewhere(n network.Network, in Input, reach network.Reach) (ps problem.Problems) {
	var ofEdges []string
	for _, at := range in.ProviderHosts {
		switch way := reach.FromVM(at.Addr()); {
		case way == network.AtEdges && !answers(n, at):
			ofEdges = append(ofEdges, at.String())
		case way == network.InCluster && !in.reached(reach, at.Addr()):
			r := in.inHostedCluster(at.Addr())
			ps = append(ps, n.Problem(problem.IdentityProviderInHostedCluster, problem.Args{"hosts": {at.String()}, "other": {destination(r)}}, fieldOAuth))
		}
	}
	if len(ofEdges) > 0 {
		ps = append(ps, n.Problem(problem.IdentityProviderIsEdge, problem.Args{"hosts": ofEdges}, fieldOAuth))
	}
	return ps
}

// answers reports whether a Service of the user gets all connections to destination at, which is an address of edges of
// n. The TLS server name that a client sends does not matter. HyperShift's endpoints are neither registries, nor HTTP
// proxies, nor identity providers.
func answers(n network.Network, at netip.AddrPort) bool {
	return slices.ContainsFunc(n.Listeners, func(l network.Listener) bool {
		ofUser := func(b network.Backend) bool {
			return b.Name == l.Default && network.PublishedBy(b.Service) == (network.PublishedService{})
		}
		return l.Address == at.Addr() && l.Port == at.Port() && slices.ContainsFunc(n.Backends, ofUser)
	})
}

// reached reports whether VMs reach a host with address a. Inside the hosted cluster, that may be a Service. Nodes
// route all other addresses there to pods, or to nothing.
func (in Input) reached(r network.Reach, a netip.Addr) bool {
	way := r.FromVM(a)
	return way != network.Unreachable && (way != network.InCluster || in.inHostedCluster(a).OfServices)
}

// inHostedCluster returns the network inside the hosted cluster that contains a, the address that each node has itself,
// or the zero value.
func (in Input) inHostedCluster(a netip.Addr) network.ReservedDestination {
	if a == in.NodeAPI && a.IsValid() {
		return network.ReservedDestination{What: "the API server's address on each node", Prefix: network.Host(a)}
	}
	i := slices.IndexFunc(in.InHostedCluster, func(r network.ReservedDestination) bool { return r.Prefix.Contains(a) })
	if i < 0 {
		return network.ReservedDestination{}
	}
	return in.InHostedCluster[i]
}

func (in Input) missing(r network.Reach, all []netip.Addr) []netip.Addr {
	return network.Without(all, func(a netip.Addr) bool { return in.reached(r, a) })
}

// missingRecords returns the records, as "name=address", whose addresses VMs cannot reach: at most maxNamed of them,
// sorted, and then the number of the others. 0.0.0.0 and 127.0.0.1 do not count: they block a name.
func missingRecords(in Input, r network.Reach, records []network.Record) []string {
	var out []string
	for _, x := range records {
		blocks := func(a netip.Addr) bool { return a.IsUnspecified() || a.IsLoopback() }
		if len(x.Addresses) > 0 && len(in.missing(r, x.Addresses)) == len(x.Addresses) && !slices.ContainsFunc(x.Addresses, blocks) {
			out = append(out, x.Name+"="+x.Addresses[0].String())
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if more := len(out) - maxNamed; more > 0 {
		out = append(out[:maxNamed], fmt.Sprintf("%d more", more))
	}
	return out
}
