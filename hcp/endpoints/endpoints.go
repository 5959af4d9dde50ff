// Package endpoints decides what VMs must reach, and to which backends edges forward their connections. VMs must reach
// the endpoints that HyperShift publishes, other Routes and Services, the ingress of the hosted cluster, and external
// hosts for images. The package reports what VMs cannot reach.
package endpoints

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/external"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/reach"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// Of returns what VMs on the requested networks must reach. If VMs boot from the pod network, they use that network,
// and nothing is published for them. last is the plan in force, and nodeAPI is Facts.NodeAPI.
func Of(o objects.Objects, in network.Request, s settings.Values, last network.Plan, nodeAPI netip.Addr) Reachable {
	var r Reachable
	own := reach.Set{In: in}
	if usesNetworks(in) {
		for _, x := range []Reachable{publishedEndpoints(o), publications(o), apps(o, in, s, last)} {
			r.Endpoints, r.Waiting = append(r.Endpoints, x.Endpoints...), append(r.Waiting, x.Waiting...)
			r.Problems = append(r.Problems, x.Problems...)
			if x.Apps.Name != "" {
				r.Apps, r.FurtherApps = x.Apps, x.FurtherApps
			}
		}
		r = withoutPublishedApps(r)
		own = reachOf(o.HostedCluster, in, s.Records, r)
		images, providers := external.ImageHosts(o, own), providerHosts(o.HostedCluster, own)
		r.ImageHosts, r.ProviderHosts = own.AddressesOf(images), own.AddressesOf(providers)
		outside, problems := external.Of(o, in, s, own)
		dialed := network.Without(outside, func(e network.Endpoint) bool { return external.Refused(o, e) })
		r.Endpoints, r.Problems = append(r.Endpoints, outside...), slices.Concat(r.Problems, problems, dialedFromNodes(o, own.With(dialed)), namesOfEdges(own.With(dialed), images, providers))
		r.LoadBalancers, r.Announced = services.LoadBalancers(o.Services, o.Slices), announcedAddresses(o.HostedCluster)
		r.Balanced = services.Balanced(o.Services, in)
	}
	slices.Sort(r.Waiting)
	r.Problems = slices.Concat(r.Problems, recordProblems(s.Records, r.Endpoints), belowClusterLocal(o.HostedCluster, in, s.Records, r.Endpoints), limitations(o, in, r.Endpoints), issuersOnNetwork(o.HostedCluster, own), throughProxy(o.HostedCluster, in, r.Endpoints, nodeAPI))
	return r
}

// withoutPublishedApps returns r without the names of the ingress that another endpoint also has. Edges forward
// connections to such a name to the other endpoint.
func withoutPublishedApps(r Reachable) Reachable {
	published := func(name string) bool {
		return slices.ContainsFunc(r.Endpoints, func(e network.Endpoint) bool {
			return e.Origin != network.OriginApps && slices.Contains(network.Lowered(e.Hosts), name)
		})
	}
	out := r
	out.FurtherApps = network.Without(r.FurtherApps, published)
	out.Endpoints = slices.Clone(r.Endpoints)
	for i, e := range out.Endpoints {
		if e.Origin == network.OriginApps {
			out.Endpoints[i].Hosts = append(e.Hosts[:1:1], network.Without(e.Hosts[1:], published)...)
		}
	}
	return out
}

// usesNetworks reports whether VMs reach their control plane through a requested network. It returns true for a cluster
// without networks, which might get some.
func usesNetworks(in network.Request) bool { return len(in.Networks) == 0 || reach.HasPrimary(in) }

// Reachable is what VMs must reach.
type Reachable struct {
	Endpoints []network.Endpoint
	// Waiting holds the names of the endpoints that are not published yet.
	Waiting  []string
	Problems problem.Problems
	// Apps is the record of *.apps if the user set its address.
	Apps network.Record
	// FurtherApps are other names of the ingress, at the addresses of Apps.
	FurtherApps   []string
	LoadBalancers []network.LoadBalancer
	// Announced are the addresses in spec.services.
	Announced []netip.Addr
	// Balanced becomes network.Facts.Balanced.
	Balanced []network.ServiceAddress
	// ImageHosts and ProviderHosts become the fields of the same names in network.Facts.
	ImageHosts, ProviderHosts []netip.AddrPort
}

func (r *Reachable) add(e network.Endpoint, fault *problem.Problem) {
	if fault == nil && (e.Port == 0 || e.Backend.Port == 0) {
		fault = portInvalid(e)
	}
	if fault == nil {
		r.Endpoints = append(r.Endpoints, e)
		return
	}
	r.Problems = append(r.Problems, *fault)
	if fault.Waits() {
		r.Problems[len(r.Problems)-1].Subject = endpoint(e.Name)
		r.Waiting = append(r.Waiting, e.Name)
	}
}

func endpoint(name string) problem.Subject { return problem.Subject{Kind: "Endpoint", Name: name} }

func newProblem(c problem.Cause, subject problem.Subject, args problem.Args, keys ...string) *problem.Problem {
	p := problem.New(c, subject, args, keys...)
	return &p
}

// problemOf returns a problem whose subject Reachable.add sets.
func problemOf(c problem.Cause, args problem.Args) *problem.Problem {
	return newProblem(c, problem.Subject{}, args)
}

// recordProblems returns a problem for each record of the user that overrides the name of
// an endpoint, or that covers a top-level domain.
func recordProblems(records []network.Record, endpoints []network.Endpoint) problem.Problems {
	var problems problem.Problems
	for _, r := range records {
		published := func(e network.Endpoint) bool {
			return slices.ContainsFunc(e.Hosts, func(host string) bool { return strings.EqualFold(host, r.Name) })
		}
		below, wildcard := strings.CutPrefix(r.Name, "*.")
		args := problem.Args{"name": {r.Name}, "addresses": {network.AddressList(r.Addresses)}}
		switch {
		case slices.ContainsFunc(endpoints, published):
			problems = append(problems, problem.New(problem.RecordOverridesEndpoint, problem.Subject{}, args, network.KeyRecords))
		case wildcard && !strings.Contains(below, "."):
			problems = append(problems, problem.New(problem.RecordCoversTopLevelDomain, problem.Subject{}, args, network.KeyRecords))
		}
	}
	return problems
}

// belowClusterLocal returns problems for names below cluster.local that are no Services. The DNS server of the hosted
// cluster answers for this zone itself. Pods dial OAuth and identity providers, so logins fail. Nodes resolve other names.
func belowClusterLocal(hc *hyperv1.HostedCluster, in network.Request, records []network.Record, endpoints []network.Endpoint) (ps problem.Problems) {
	const zone = ".cluster.local"
	dialed, others := map[string]bool{}, map[string]bool{}
	add := func(to map[string]bool, name string) {
		if name = strings.ToLower(name); strings.HasSuffix(name, zone) && !strings.HasSuffix(name, ".svc"+zone) {
			to[name] = true
		}
	}
	for _, e := range endpoints {
		for _, host := range e.Hosts {
			switch {
			case network.PublishedAt(e.Name).Service == network.OAuthService:
				add(dialed, host)
			case e.Origin == network.OriginService:
				add(others, host)
			}
		}
	}
	for _, p := range identityProviders(hc) {
		for _, at := range p.hosts {
			host, _ := reach.HostPort(at)
			add(dialed, host)
		}
	}
	for _, r := range records {
		add(others, r.Name)
	}
	report := func(names map[string]bool, severity problem.Severity) {
		if len(names) > 0 && reach.HasPrimary(in) {
			p := problem.New(problem.NamesInHostedCluster, problem.Subject{}, problem.Args{"hosts": slices.Sorted(maps.Keys(names))})
			p.Severity = severity
			ps = append(ps, p)
		}
	}
	for name := range dialed {
		delete(others, name)
	}
	report(dialed, problem.SeverityWarning)
	report(others, problem.SeverityInfo)
	return ps
}

// reachOf returns what nodes of hc reach: the endpoints and names in own, the hosts in records, and what the hosted
// cluster's HTTP proxy reaches.
func reachOf(hc *hyperv1.HostedCluster, in network.Request, records []network.Record, own Reachable) reach.Set {
	records = slices.Clone(records)
	if own.Apps.Name != "" {
		for _, name := range append([]string{own.Apps.Name}, own.FurtherApps...) {
			records = append(records, network.Record{Name: name, Addresses: own.Apps.Addresses})
		}
	}
	return reach.Set{In: in, Records: records, Endpoints: own.Endpoints, Proxy: reach.ProxyOf(hc, reach.NodesOnly)}
}
