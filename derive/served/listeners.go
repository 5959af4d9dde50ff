// This file decides the listeners of an edge, and the backend of each connection.
//
//	dialed address                 listener                selected by
//	a host name, port P            service VIP, port P     TLS server name, or any
//	a bare IP, port P              that address, port P    any
//
// A connection with a known server name goes to the backend of that name's endpoint. All others go to the default of
// the listener, the endpoint with MatchAny, or are closed. Clients of the API server send no server name, or that of
// an in-cluster Service. So a listener with only a default does not read server names. On port 443, the names of
// in-cluster Services belong to the default if it is an endpoint of HyperShift, and no other endpoint gets them. An
// exact name has precedence over a wildcard that matches it.
//
// Two endpoints can request the same listener or name. Endpoints of HyperShift have precedence, first those that
// every node needs. Then come endpoints of a Service's annotation, the ingress, and registries, each group sorted by
// name. The other endpoint is left out with a problem, which is an Error if every node needs that endpoint.

package served

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

// inClusterNames returns the TLS server names that API server clients in the hosted cluster send: the names of the
// Service kubernetes in the API server's certificate, and openshift, which older OpenShift clients use.
func inClusterNames() []string {
	var out []string
	for _, service := range []string{"kubernetes", "openshift"} {
		for _, below := range []string{"", ".default", ".default.svc", ".default.svc.cluster.local"} {
			out = append(out, service+below)
		}
	}
	return out
}

func connections(service netip.Addr, endpoints []network.Endpoint) ([]network.Listener, []network.Backend, problem.Problems) {
	var problems problem.Problems
	listeners := map[string]*builder{}
	backends := map[string]network.Backend{}
	for _, e := range byPrecedence(endpoints) {
		for _, at := range listenAddresses(service, e) {
			key := netip.AddrPortFrom(at, e.Port).String()
			l := listeners[key]
			if l == nil {
				l = &builder{Listener: network.Listener{Address: at, Port: e.Port}, names: map[string]string{}, forwards: map[string]int{}}
				listeners[key] = l
			}
			p, bad := l.refused(e, problem.BackendNameInUse, problem.Args{"by": {e.Backend.Name}})
			if other, has := backends[e.Backend.Name]; !has || sameBackend(other, e.Backend) {
				p, bad = l.assign(e)
			}
			if bad {
				problems = append(problems, notServed(e, p)...)
				continue
			}
			backends[e.Backend.Name] = e.Backend
		}
	}
	var ls []network.Listener
	for _, l := range listeners {
		if l.Default == "" && len(l.Forwards) == 0 {
			continue
		}
		l.exceptFromWildcards()
		slices.SortFunc(l.Forwards, func(a, b network.Forward) int { return cmp.Compare(a.ServerNames[0], b.ServerNames[0]) })
		ls = append(ls, l.Listener)
	}
	slices.SortFunc(ls, func(a, b network.Listener) int {
		return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Port, b.Port))
	})
	bs := slices.SortedFunc(maps.Values(backends), func(a, b network.Backend) int { return cmp.Compare(a.Name, b.Name) })
	return ls, bs, problems
}

// byPrecedence sorts endpoints for listeners: the API server first, then HyperShift's other MatchAny endpoints, so that
// no other endpoint gets the server names of their clients. Endpoints that every node needs follow, then the rest, and
// former places last.
func byPrecedence(endpoints []network.Endpoint) []network.Endpoint {
	rank := func(e network.Endpoint) int {
		switch {
		case e.Former:
			return 4
		case e.NeededByNodes() && e.Name == network.APIService:
			return 0
		case e.Origin == network.OriginHyperShift && e.Match == network.MatchAny:
			return 1
		case e.NeededByNodes():
			return 2
		}
		return 3
	}
	out := network.SortedEndpoints(endpoints)
	slices.SortStableFunc(out, func(a, b network.Endpoint) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// sameBackend reports whether a and b have the same target. It does not compare their ClusterIPs, of which one may be outdated.
func sameBackend(a, b network.Backend) bool {
	return a.Kind == b.Kind && a.Service == b.Service && a.Host == b.Host && a.Port == b.Port
}

// notServed returns why e is not served, and for a registry the effect on nodes.
func notServed(e network.Endpoint, why problem.Problem) problem.Problems {
	if e.Origin != network.OriginRegistry {
		return problem.Problems{why}
	}
	return problem.Problems{why, problem.New(problem.RegistryNotServed, why.Subject, problem.Args{"registry": {e.Name}}, why.Keys...)}
}

func listenAddresses(service netip.Addr, e network.Endpoint) []netip.Addr {
	at := slices.Clone(e.Addresses)
	if len(e.Hosts) > 0 {
		at = append(at, service)
	}
	return at
}

func formerPlaceTaken(e network.Endpoint) problem.Problem {
	return problem.New(problem.FormerPlaceTaken, e.Subject(), problem.Args{"at": {e.Place()}})
}

type builder struct {
	network.Listener
	// names maps each server name to the name of its backend, including the names of the default endpoint.
	names map[string]string
	// forwards maps the name of each backend to its index in Forwards.
	forwards map[string]int
	// ignoresNames is true if the default is an endpoint of HyperShift at a port other than 443. Server names are not read there.
	ignoresNames bool
}

func (l *builder) refused(e network.Endpoint, c problem.Cause, args problem.Args) (problem.Problem, bool) {
	if e.Former {
		return formerPlaceTaken(e), true
	}
	subject, keys := e.Subject(), []string(nil)
	all := problem.Args{"at": {l.Name()}}
	if e.Origin == network.OriginService {
		subject, keys = problem.Subject{Kind: "Service", Name: e.Backend.Service}, []string{network.KeyPublish}
		all["at"] = []string{fmt.Sprintf("%s:%d", e.Hosts[0], e.Port)}
	}
	maps.Copy(all, args)
	if e.NeededByNodes() {
		return problem.New(c, subject, all, network.KeyPublishing), true
	}
	p := problem.New(c, subject, all, keys...).Warning()
	if e.Origin == network.OriginApps && e.Port != network.PortHTTPS {
		p.Severity = problem.SeverityInfo // Its names still work with TLS, and few clients use plain HTTP.
	}
	return p, true
}

// assign adds e to l, or returns the problem that prevents it.
func (l *builder) assign(e network.Endpoint) (problem.Problem, bool) {
	inUse := func(by string) (problem.Problem, bool) {
		return l.refused(e, problem.ListenerInUse, problem.Args{"by": {by}})
	}
	if l.Port == network.PortDNS {
		return l.refused(e, problem.PortReservedForDNS, nil)
	}
	names := network.Lowered(e.Hosts)
	if e.Match == network.MatchAny {
		if l.Default != "" && l.Default != e.Backend.Name {
			return inUse(l.Default)
		}
		l.Default = e.Backend.Name
		if e.Origin == network.OriginHyperShift {
			l.ignoresNames = e.Port != network.PortHTTPS
			names = append(names, inClusterNames()...)
		}
	} else {
		if l.ignoresNames && e.Origin != network.OriginHyperShift {
			return l.refused(e, problem.ListenerWithoutServerNames, problem.Args{"by": {l.Default}})
		}
		if len(names) == 0 {
			return l.refused(e, problem.ServerNameMissing, nil)
		}
		for _, n := range names {
			if by := l.names[n]; by != "" && by != e.Backend.Name {
				return inUse(by)
			}
		}
		l.forward(names, e.Backend.Name)
	}
	for _, n := range names {
		l.names[n] = cmp.Or(l.names[n], e.Backend.Name)
	}
	return problem.Problem{}, false
}

func (l *builder) forward(names []string, backend string) {
	i, has := l.forwards[backend]
	if !has {
		l.forwards[backend] = len(l.Forwards)
		l.Forwards = append(l.Forwards, network.Forward{ServerNames: names, Backend: backend})
		return
	}
	all := slices.Concat(l.Forwards[i].ServerNames, names)
	slices.Sort(all)
	l.Forwards[i].ServerNames = slices.Compact(all)
}

// exceptFromWildcards adds a Forward for the names of the default endpoint that a wildcard of another endpoint matches.
func (l *builder) exceptFromWildcards() {
	var except []string
	for _, f := range l.Forwards {
		for _, wildcard := range f.ServerNames {
			suffix, is := strings.CutPrefix(wildcard, "*")
			if !is {
				continue
			}
			for name, by := range l.names {
				if by == l.Default && strings.HasSuffix(name, suffix) {
					except = append(except, name)
				}
			}
		}
	}
	if len(except) > 0 {
		slices.Sort(except)
		l.forward(slices.Compact(except), l.Default)
	}
}
