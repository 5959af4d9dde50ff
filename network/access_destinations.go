// This file decides what is opened to the management cluster on each network. Nothing is open
// that the user does not name. An entry that cannot be opened is left out with a problem of its
// own, and the others stay.

package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// AccessPort is the TCP port of HTTP CONNECT on the pod network's device.
const AccessPort = 3128

// AccessObject is the name of the NetworkPolicy of access, and of the Service of the first network.
const AccessObject = "oooi-access"

// longestService is the limit for the name of a Service, in characters.
const longestService = 63

// The annotation keys that problems of this file name.
const (
	keyAccess     = "management-access"
	keyAccessFrom = "management-access-from"
	keyAccessBy   = "management-access-accounts"
)

// maxAccessNamed is how many destinations a problem names.
const maxAccessNamed = 12

// portsOfEdges are the ports that a pod of an edge has on the pod network already.
func portsOfEdges() map[uint16]string {
	return map[uint16]string{AccessPort: "HTTP CONNECT", MetricsPort: "metrics", 8053: "DNS for pods", 7788: "heartbeats"}
}

// Opens reports whether callers of HTTP CONNECT or of ports of oooi's own Services reach anything through a.
func (a Access) Opens() bool { return len(a.Destinations) > 0 }

// OpensAccess reports whether edges of p let pods of the management cluster in. Load balancers do not count.
func (p Plan) OpensAccess() bool {
	return slices.ContainsFunc(p.Networks, func(n Network) bool { return n.Access.Opens() })
}

// openAccess returns p with what r opens on each network, and why entries are left out. Retained
// networks are among them.
func (p Plan) openAccess(r Request) (Plan, Problems) {
	step := accessStep{Request: r, plan: p, opens: map[string][]AccessDestination{}}
	problems := r.accessUnused()
	for _, e := range r.accessEntries() {
		problems = append(problems, step.open(e)...)
	}
	// If every entry is wrong, the user will correct it. That must not recreate edges, neither now nor then.
	empty := len(step.opens) == 0 && r.Access.opens()
	out := p.withEach(func(n *Network) {
		n.Access = r.accessOf(step.opens[n.Name])
		if empty && n.Primary {
			n.Access = Access{Port: AccessPort, Destinations: []AccessDestination{}}
		}
	})
	for i, n := range out.Networks {
		if n.Access.Opens() {
			problems = append(problems, n.accessOpen(p.Cluster.ControlPlaneNamespace, out.AccessService(i)))
		}
	}
	return out, problems
}

// accessOf is the Access of a network that has these destinations. One without a port of its own is left
// out where another one is the same with such a port.
func (r Request) accessOf(all []AccessDestination) Access {
	if len(all) == 0 {
		return Access{}
	}
	all = slices.SortedFunc(slices.Values(all), func(a, b AccessDestination) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Port, b.Port), cmp.Compare(b.Listen, a.Listen))
	})
	all = slices.CompactFunc(all, func(a, b AccessDestination) bool {
		return a.Name == b.Name && a.Port == b.Port && (a.Listen == 0 || b.Listen == 0)
	})
	a := Access{Port: AccessPort, Destinations: all, Namespaces: distinct(r.Access.Namespaces), Accounts: distinct(r.Access.Accounts)}
	if len(a.Accounts) > 0 {
		a.Audience = AccessObject + "." + r.Cluster.ControlPlaneNamespace
	}
	return a
}

// accessEntries are the entries of r, each once and in a defined order.
func (r Request) accessEntries() []AccessEntry {
	all := slices.SortedFunc(slices.Values(r.Access.Entries), func(a, b AccessEntry) int {
		return cmp.Or(cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Listen, b.Listen))
	})
	return slices.CompactFunc(all, func(a, b AccessEntry) bool { return a.String() == b.String() })
}

// accessUnused says that annotations tell who gets in where nothing is open.
func (r Request) accessUnused() Problems {
	var problems Problems
	if len(r.Access.Entries) > 0 {
		return nil
	}
	if len(r.Access.Namespaces) > 0 {
		problems = append(problems, NewProblem(AccessSettingUnused, r.cluster(), nil, keyAccessFrom, keyAccess))
	}
	if len(r.Access.Accounts) > 0 {
		problems = append(problems, NewProblem(AccessSettingUnused, r.cluster(), nil, keyAccessBy, keyAccess))
	}
	return problems
}

func (r Request) cluster() Subject { return Subject{Kind: "HostedCluster", Name: r.Cluster.Name} }

// An accessStep collects what is open on each network, by Network.Name.
type accessStep struct {
	Request
	plan  Plan
	opens map[string][]AccessDestination
}

// refused returns the problem that e is left out.
func (x accessStep) refused(c Cause, e AccessEntry, args Args, keys ...string) Problems {
	all := Args{"entry": e.String()}
	for name, value := range args {
		all[name] = value
	}
	return Problems{NewProblem(c, x.cluster(), all, append([]string{keyAccess}, keys...)...)}
}

// open opens e, or says why it is left out.
func (x accessStep) open(e AccessEntry) Problems {
	if problems := x.port(e); len(problems) > 0 {
		return problems
	}
	switch {
	case e.Destination == AccessLoadBalancers:
		return nil // See balanced.
	case e.Destination == AccessNodes:
		return x.onVMs(e, AccessDestination{})
	case e.Destination == AccessApps:
		return x.apps(e)
	case len(e.Addresses) == 0:
		return x.refused(AccessNameUnknown, e, Args{"name": e.Destination}, keyRecords)
	}
	return x.at(e, AccessDestination{}, e.Addresses)
}

// port says why e cannot have a port of its own. Of two entries with one port, none is better.
func (x accessStep) port(e AccessEntry) Problems {
	if e.Listen == 0 {
		return nil
	}
	if use := portsOfEdges()[e.Listen]; use != "" {
		return x.refused(AccessPortInUse, e, Args{"use": use})
	}
	if len(x.Access.Accounts) > 0 {
		return x.refused(AccessPortWithoutToken, e, nil, keyAccessBy)
	}
	for _, other := range x.accessEntries() {
		if other.Listen == e.Listen && other.String() != e.String() {
			return x.refused(AccessPortRepeated, e, Args{"other": other.String()})
		}
	}
	return nil
}

// add opens d for e on n.
func (x accessStep) add(n Network, e AccessEntry, d AccessDestination) {
	d.Name, d.Port, d.Listen = e.Destination, e.Port, e.Listen
	x.opens[n.Name] = append(x.opens[n.Name], d)
}

// onVMs opens d for e, which leads to VMs, on the networks that VMs boot from. Edges know VMs by the
// leases that they gave.
func (x accessStep) onVMs(e AccessEntry, d AccessDestination) Problems {
	var problems Problems
	var found bool
	for _, n := range x.plan.Networks {
		switch {
		case !n.Primary:
			continue
		case !n.runs(ServiceDHCP):
			problems = append(problems, x.refused(AccessNeedsLeases, e, Args{"network": n.Attachment.String()}, keyServices)...)
		default:
			x.add(n, e, d)
		}
		found = true
	}
	if !found && !x.incomplete(func(s NetworkRequest) bool { return s.Primary }) {
		return x.refused(AccessNoNetwork, e, nil)
	}
	return problems
}

// apps opens e where the ingress of the hosted cluster is: at the addresses that the user set, at
// its own load balancer on a network, or at VMs.
func (x accessStep) apps(e AccessEntry) Problems {
	name := x.Access.Apps.Name
	if name == "" {
		return x.refused(AccessIngressUnknown, e, nil, keyAppsAddress)
	}
	d := AccessDestination{Names: []string{name}}
	if len(x.Access.Apps.Addresses) > 0 {
		return x.at(e, d, x.Access.Apps.Addresses)
	}
	i := slices.IndexFunc(x.plan.Endpoints, func(o Endpoint) bool {
		return o.Origin == OriginApps && o.Port == e.Port && slices.Contains(lowered(o.Hosts), lowered([]string{name})[0])
	})
	if i < 0 || x.plan.Endpoints[i].vmPort() == 0 {
		return x.refused(AccessIngressUnknown, e, nil, keyAppsAddress)
	}
	ingress := x.plan.Endpoints[i]
	for _, n := range x.plan.Networks {
		if n.HasLoadBalancer(ingress) {
			return x.at(e, d, []netip.Addr{ingress.LoadBalancer})
		}
	}
	d.TargetPort = ingress.vmPort()
	return x.onVMs(e, d)
}

// vmPort is the port at which VMs answer for e. 0: they do not, or it is unknown.
func (e Endpoint) vmPort() uint16 {
	switch {
	case e.Backend.Kind != BackendVMs:
		return 0
	case e.Backend.Service != "":
		return e.Backend.TargetPort
	}
	return e.Backend.Port
}

// at opens d for e at those of addresses that hosts of a network can have, each on its network. If
// there is none, it says why the first one is none.
func (x accessStep) at(e AccessEntry, d AccessDestination, addresses []netip.Addr) Problems {
	var problems Problems
	var found bool
	sorted := slices.Compact(slices.SortedFunc(slices.Values(addresses), netip.Addr.Compare))
	for _, n := range x.plan.Networks {
		d.Addresses = without(sorted, func(a netip.Addr) bool { return n.Reach().FromEdge(a) != OnNetwork })
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

// notDialed says why a, an address of e, is not dialed on any network. Nothing is said about an
// address that is dialed, and about one of a network that is not served: its own problem tells.
func (x accessStep) notDialed(e AccessEntry, a netip.Addr) Problems {
	args := Args{"address": a.String()}
	for _, n := range x.plan.Networks {
		reach := n.Reach()
		switch {
		case slices.Contains(reach.Held, a):
			return x.refused(AccessToEdge, e, args)
		case reach.FromEdge(a) == OnNetwork:
			return nil
		case n.CIDR.Contains(a):
			args["cidr"] = n.CIDR.String()
			return x.refused(AccessToNoHost, e, args)
		}
	}
	if x.incomplete(func(s NetworkRequest) bool { return !s.CIDR.IsValid() || s.CIDR.Contains(a) }) {
		return nil
	}
	var cidrs []string
	for _, n := range x.plan.Networks {
		cidrs = append(cidrs, n.CIDR.String())
	}
	args["cidrs"] = cmp.Or(strings.Join(cidrs, ", "), "none")
	return x.refused(AccessOutsideNetworks, e, args)
}

// incomplete reports whether the plan lacks a requested network that matches.
func (x accessStep) incomplete(matches func(NetworkRequest) bool) bool {
	return slices.ContainsFunc(x.Networks, func(s NetworkRequest) bool {
		has := slices.ContainsFunc(x.plan.Networks, func(n Network) bool { return n.Name == s.Attachment.NetworkName() })
		return !has && matches(s)
	})
}

// AccessService is the name of the Service that leads to the access of the network at i:
// "oooi-access" on the first network that VMs boot from, else the network's name follows.
func (p Plan) AccessService(i int) string {
	if i == 0 && p.Networks[0].Primary {
		return AccessObject
	}
	return AccessObject + "-" + p.Networks[i].Dashed(longestService-len(AccessObject)-1)
}

// accessOpen says what is open on n, and to whom. It is a hole, so it is always told.
func (n Network) accessOpen(ns, service string) Problem {
	var open []string
	for _, d := range n.Access.Destinations {
		open = append(open, d.String())
	}
	if more := len(open) - maxAccessNamed; more > 0 {
		open = append(open[:maxAccessNamed], fmt.Sprintf("%d more", more))
	}
	args := Args{
		"namespaces": strings.Join(slices.Concat([]string{ns}, n.Access.Namespaces), ", "), "destinations": strings.Join(open, ", "),
		"service": service + "." + ns,
	}
	if len(n.Access.Accounts) == 0 {
		return n.problem(AccessOpen, args, keyAccess, keyAccessFrom, keyAccessBy)
	}
	args["accounts"] = strings.Join(n.Access.Accounts, ", ")
	return n.problem(AccessOpenToAccounts, args, keyAccess, keyAccessFrom, keyAccessBy)
}

// String is what a caller names: "nodes:10250".
func (d AccessDestination) String() string {
	return AccessEntry{Listen: d.Listen, Destination: d.Name, Port: d.Port}.String()
}

// distinct is all without repetitions, sorted. None: nil.
func distinct(all []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(all)))
}
