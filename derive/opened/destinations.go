// Package opened decides which destinations on each network the management cluster reaches through edges: only those
// that the user names in annotation management-access. An entry that cannot be opened is left out with a problem of its
// own, and the others stay. The package is pure.
package opened

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// maxAccessNamed is the maximum number of destinations that a problem names.
const maxAccessNamed = 12

// Access returns p with the destinations that r opens on each network, including retained ones. It returns a problem
// for each entry that is left out, and one for each network with open destinations.
func Access(p network.Plan, r network.Request) (network.Plan, problem.Problems) {
	step := accessStep{Request: r, plan: p, opens: map[string][]network.AccessDestination{}}
	problems := accessUnused(r)
	for _, e := range accessEntries(r) {
		problems = append(problems, step.open(e)...)
	}
	// If all entries are wrong, edges still get the access port, so that neither the mistake nor its correction
	// recreates edges.
	empty := len(step.opens) == 0 && r.Access.Opens()
	out := p.WithEach(func(n *network.Network) {
		n.Access = accessOf(r, step.opens[n.Name])
		if empty && n.Primary {
			n.Access = network.Access{Port: network.AccessPort, Destinations: []network.AccessDestination{}}
		}
	})
	for i, n := range out.Networks {
		if n.Access.Opens() {
			problems = append(problems, accessOpen(n, p.Cluster.ControlPlaneNamespace, out.AccessService(i)))
		}
	}
	return out, problems
}

// accessOf returns the Access with the destinations all, for the callers that r admits. Of two that differ only in
// Listen, it leaves out the one without Listen.
func accessOf(r network.Request, all []network.AccessDestination) network.Access {
	if len(all) == 0 {
		return network.Access{}
	}
	all = slices.SortedFunc(slices.Values(all), func(a, b network.AccessDestination) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Port, b.Port), cmp.Compare(b.Listen, a.Listen))
	})
	all = slices.CompactFunc(all, func(a, b network.AccessDestination) bool {
		return a.Name == b.Name && a.Port == b.Port && (a.Listen == 0 || b.Listen == 0)
	})
	a := network.Access{Port: network.AccessPort, Destinations: all, Namespaces: distinct(r.Access.Namespaces), Accounts: distinct(r.Access.Accounts)}
	if len(a.Accounts) > 0 {
		a.Audience = network.AccessObject + "." + r.Cluster.ControlPlaneNamespace
	}
	return a
}

// accessEntries returns the entries of r, sorted, without duplicates.
func accessEntries(r network.Request) []network.AccessEntry {
	all := slices.SortedFunc(slices.Values(r.Access.Entries), func(a, b network.AccessEntry) int {
		return cmp.Or(cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Listen, b.Listen))
	})
	return slices.CompactFunc(all, func(a, b network.AccessEntry) bool { return a.String() == b.String() })
}

func accessUnused(r network.Request) problem.Problems {
	var problems problem.Problems
	if len(r.Access.Entries) > 0 {
		return nil
	}
	if len(r.Access.Namespaces) > 0 {
		problems = append(problems, problem.New(problem.AccessSettingUnused, cluster(r), nil, network.KeyAccessFrom, network.KeyAccess))
	}
	if len(r.Access.Accounts) > 0 {
		problems = append(problems, problem.New(problem.AccessSettingUnused, cluster(r), nil, network.KeyAccessBy, network.KeyAccess))
	}
	return problems
}

func cluster(r network.Request) problem.Subject {
	return problem.Subject{Kind: "HostedCluster", Name: r.Cluster.Name}
}

type accessStep struct {
	network.Request
	plan  network.Plan
	opens map[string][]network.AccessDestination
}

func (x accessStep) refused(c problem.Cause, e network.AccessEntry, args problem.Args, keys ...string) problem.Problems {
	all := problem.Args{"entry": {e.String()}}
	maps.Copy(all, args)
	return problem.Problems{problem.New(c, cluster(x.Request), all, append([]string{network.KeyAccess}, keys...)...)}
}

func (x accessStep) open(e network.AccessEntry) problem.Problems {
	if problems := x.port(e); len(problems) > 0 {
		return problems
	}
	switch {
	case e.Destination == network.AccessLoadBalancers:
		return nil // See LoadBalancers.
	case e.Destination == network.AccessNodes:
		return x.onVMs(e, network.AccessDestination{})
	case e.Destination == network.AccessApps:
		return x.apps(e)
	case len(e.Addresses) == 0:
		return x.refused(problem.AccessNameUnknown, e, problem.Args{"name": {e.Destination}}, network.KeyRecords)
	}
	return x.at(e, network.AccessDestination{}, e.Addresses)
}

// port returns a problem if edges themselves use the port e.Listen, or if another entry has the same port. It also
// returns one if callers must send a token, because connections to e.Listen carry none. If e.Listen is 0, it returns
// nil.
func (x accessStep) port(e network.AccessEntry) problem.Problems {
	if e.Listen == 0 {
		return nil
	}
	if use := network.PortsOfEdges()[e.Listen]; use != "" {
		return x.refused(problem.AccessPortInUse, e, problem.Args{"use": {use}})
	}
	if len(x.Access.Accounts) > 0 {
		return x.refused(problem.AccessPortWithoutToken, e, nil, network.KeyAccessBy)
	}
	for _, other := range accessEntries(x.Request) {
		if other.Listen == e.Listen && other.String() != e.String() {
			return x.refused(problem.AccessPortRepeated, e, problem.Args{"other": {other.String()}})
		}
	}
	return nil
}

func (x accessStep) add(n network.Network, e network.AccessEntry, d network.AccessDestination) {
	d.Name, d.Port, d.Listen = e.Destination, e.Port, e.Listen
	x.opens[n.Name] = append(x.opens[n.Name], d)
}

// onVMs opens d on the networks that VMs boot from, with VMs as the destination. Edges know the addresses of VMs from leases.
func (x accessStep) onVMs(e network.AccessEntry, d network.AccessDestination) problem.Problems {
	var problems problem.Problems
	var found bool
	for _, n := range x.plan.Networks {
		switch {
		case !n.Primary:
			continue
		case !n.Runs(network.ServiceDHCP):
			problems = append(problems, x.refused(problem.AccessNeedsLeases, e, problem.Args{"network": {n.Attachment.String()}}, network.KeyServices)...)
		default:
			x.add(n, e, d)
		}
		found = true
	}
	if !found && !x.incomplete(func(s network.NetworkRequest) bool { return s.Primary }) {
		return x.refused(problem.AccessNoNetwork, e, nil)
	}
	return problems
}

// apps opens the hosted cluster's ingress: the addresses that the user set, its own load balancer on a network, or VMs.
func (x accessStep) apps(e network.AccessEntry) problem.Problems {
	name := x.Access.Apps.Name
	if name == "" {
		return x.refused(problem.AccessIngressUnknown, e, nil, network.KeyAppsAddress)
	}
	d := network.AccessDestination{Names: []string{name}}
	if len(x.Access.Apps.Addresses) > 0 {
		return x.at(e, d, x.Access.Apps.Addresses)
	}
	i := slices.IndexFunc(x.plan.Endpoints, func(o network.Endpoint) bool {
		return o.Origin == network.OriginApps && o.Port == e.Port && slices.Contains(network.Lowered(o.Hosts), network.Lowered([]string{name})[0])
	})
	if i < 0 || x.plan.Endpoints[i].Backend.VMPort() == 0 {
		return x.refused(problem.AccessIngressUnknown, e, nil, network.KeyAppsAddress)
	}
	ingress := x.plan.Endpoints[i]
	for _, n := range x.plan.Networks {
		if n.HasLoadBalancer(ingress) {
			return x.at(e, d, []netip.Addr{ingress.LoadBalancer})
		}
	}
	d.TargetPort = ingress.Backend.VMPort()
	return x.onVMs(e, d)
}

// at opens d at the addresses that hosts of a network can have, each on its network. If it opens none, it returns why
// the first address cannot be used.
func (x accessStep) at(e network.AccessEntry, d network.AccessDestination, addresses []netip.Addr) problem.Problems {
	var problems problem.Problems
	var found bool
	sorted := slices.Compact(slices.SortedFunc(slices.Values(addresses), netip.Addr.Compare))
	for _, n := range x.plan.Networks {
		d.Addresses = network.Without(sorted, func(a netip.Addr) bool { return n.Reach().FromEdge(a) != network.OnNetwork })
		if len(d.Addresses) > 0 {
			x.add(n, e, d)
			found = true
		}
	}
	for _, a := range sorted {
		problems = append(problems, x.notDialed(e, a)...)
	}
	if found || len(problems) == 0 {
		return nil
	}
	return problems[:1]
}

// notDialed returns the problem that edges of no network dial a, with the reason, or nil if edges dial a. It also
// returns nil if a may belong to a network that is not served, because that network has a problem already.
func (x accessStep) notDialed(e network.AccessEntry, a netip.Addr) problem.Problems {
	args := problem.Args{"address": {a.String()}}
	for _, n := range x.plan.Networks {
		reach := n.Reach()
		switch {
		case slices.Contains(reach.Held, a):
			return x.refused(problem.AccessToEdge, e, args)
		case reach.FromEdge(a) == network.OnNetwork:
			return nil
		case n.CIDR.Contains(a):
			args["cidr"] = []string{n.CIDR.String()}
			return x.refused(problem.AccessToNoHost, e, args)
		}
	}
	if x.incomplete(func(s network.NetworkRequest) bool { return !s.CIDR.IsValid() || s.CIDR.Contains(a) }) {
		return nil
	}
	var cidrs []string
	for _, n := range x.plan.Networks {
		cidrs = append(cidrs, n.CIDR.String())
	}
	args["cidrs"] = []string{cmp.Or(strings.Join(cidrs, ", "), "none")}
	return x.refused(problem.AccessOutsideNetworks, e, args)
}

func (x accessStep) incomplete(matches func(network.NetworkRequest) bool) bool {
	return slices.ContainsFunc(x.Networks, func(s network.NetworkRequest) bool {
		has := slices.ContainsFunc(x.plan.Networks, func(n network.Network) bool { return n.Name == s.Attachment.NetworkName() })
		return !has && matches(s)
	})
}

// accessOpen returns a problem that reports what is open on n, and for which callers. A way into the network is always reported.
func accessOpen(n network.Network, ns, service string) problem.Problem {
	open := network.Texts(n.Access.Destinations)
	if more := len(open) - maxAccessNamed; more > 0 {
		open = append(open[:maxAccessNamed], fmt.Sprintf("%d more", more))
	}
	args := problem.Args{
		"namespaces": slices.Concat([]string{ns}, n.Access.Namespaces), "destinations": open,
		"service": {service + "." + ns},
	}
	if len(n.Access.Accounts) == 0 {
		return n.Problem(problem.AccessOpen, args, network.KeyAccess, network.KeyAccessFrom, network.KeyAccessBy)
	}
	args["accounts"] = n.Access.Accounts
	return n.Problem(problem.AccessOpenToAccounts, args, network.KeyAccess, network.KeyAccessFrom, network.KeyAccessBy)
}

func distinct(all []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(all)))
}
