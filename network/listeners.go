// This file decides the listeners of an edge, and the backend of each connection.
//
//	dialed address                 listener                selected by
//	a host name, port P            service VIP, port P     TLS server name, or any
//	a bare IP, port P              that address, port P    any
//
// A connection with a known server name goes to that endpoint's backend. All others go
// to the listener's default, the endpoint with MatchAny, or are closed. Clients of the
// API server send no server name, or that of an in-cluster Service. So a default never
// reads the server name, and on port 443 no other endpoint gets those names. An exact
// name has precedence over a wildcard that matches it.
//
// Two endpoints can request the same listener or name. What HyperShift published has
// precedence, and of it what every node needs. Then come a Service's annotation, the
// ingress, a registry, then the first by name. The other endpoint is left out with a
// problem. That is an Error if every node needs the endpoint.

package network

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// inClusterNames are TLS server names that API server clients in the hosted cluster
// send: those in its certificate for the Service kubernetes, and openshift, which
// older OpenShift clients use.
func inClusterNames() []string {
	var out []string
	for _, service := range []string{"kubernetes", "openshift"} {
		for _, below := range []string{"", ".default", ".default.svc", ".default.svc.cluster.local"} {
			out = append(out, service+below)
		}
	}
	return out
}

// portDNS is the port of the DNS server, for UDP and TCP.
const portDNS = 53

// PortHTTPS is the port on which endpoints are selected by server name.
const PortHTTPS = 443

// PortHTTP is the port of the hosted cluster's ingress for clients without TLS.
const PortHTTP = 80

// connections returns the listeners for endpoints, and their backends.
func connections(service netip.Addr, endpoints []Endpoint) ([]Listener, []Backend, Problems) {
	var problems Problems
	listeners := map[string]*builder{}
	backends := map[string]Backend{}
	for _, e := range byPrecedence(endpoints) {
		for _, at := range listenAddresses(service, e) {
			key := netip.AddrPortFrom(at, e.Port).String()
			l := listeners[key]
			if l == nil {
				l = &builder{Listener: Listener{Address: at, Port: e.Port}, names: map[string]string{}, forwards: map[string]int{}}
				listeners[key] = l
			}
			p, bad := l.refused(e, BackendNameInUse, Args{"by": e.Backend.Name})
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
	var ls []Listener
	for _, l := range listeners {
		if l.Default == "" && len(l.Forwards) == 0 {
			continue
		}
		l.exceptFromWildcards()
		slices.SortFunc(l.Forwards, func(a, b Forward) int { return cmp.Compare(a.ServerNames[0], b.ServerNames[0]) })
		ls = append(ls, l.Listener)
	}
	slices.SortFunc(ls, func(a, b Listener) int {
		return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Port, b.Port))
	})
	var bs []Backend
	for _, b := range backends {
		bs = append(bs, b)
	}
	slices.SortFunc(bs, func(a, b Backend) int { return cmp.Compare(a.Name, b.Name) })
	return ls, bs, problems
}

// byPrecedence orders endpoints for listeners: the API server, then HyperShift's other
// MatchAny endpoints, so that no other endpoint gets the server names of their clients,
// then what every node needs, then the rest.
func byPrecedence(endpoints []Endpoint) []Endpoint {
	rank := func(e Endpoint) int {
		switch {
		case e.NeededByNodes() && e.Name == APIService:
			return 0
		case e.Origin == OriginHyperShift && e.Match == MatchAny:
			return 1
		case e.NeededByNodes():
			return 2
		}
		return 3
	}
	out := sortedEndpoints(endpoints)
	slices.SortStableFunc(out, func(a, b Endpoint) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// sameBackend reports whether two backends of the same name have the same target. The
// ClusterIP is not compared, since one of them may be older.
func sameBackend(a, b Backend) bool {
	return a.Kind == b.Kind && a.Service == b.Service && a.Host == b.Host && a.Port == b.Port
}

// notServed is why e is not served, and for a registry also the effect on nodes.
func notServed(e Endpoint, why Problem) Problems {
	if e.Origin != OriginRegistry {
		return Problems{why}
	}
	return Problems{why, NewProblem(RegistryNotServed, why.Subject, Args{"registry": e.Name}, why.Keys...)}
}

// listenAddresses are the addresses at which e is served.
func listenAddresses(service netip.Addr, e Endpoint) []netip.Addr {
	at := slices.Clone(e.Addresses)
	if len(e.Hosts) > 0 {
		at = append(at, service)
	}
	return at
}

// A builder is a listener to which endpoints are added.
type builder struct {
	Listener
	// names maps each server name to its backend, the names of the default included.
	names map[string]string
	// forwards maps each backend to its index in Forwards.
	forwards map[string]int
	// ignoresNames is true if HyperShift published the default on a port of its own,
	// where server names are not read.
	ignoresNames bool
}

// refused returns the problem that e is not served at l.
func (l *builder) refused(e Endpoint, c Cause, args Args) (Problem, bool) {
	subject, keys := e.subject(), []string(nil)
	all := Args{"at": l.Name()}
	if e.Origin == OriginService {
		subject, keys = Subject{Kind: "Service", Name: e.Backend.Service}, []string{keyPublish}
		all["at"] = fmt.Sprintf("%s:%d", e.Hosts[0], e.Port)
	}
	maps.Copy(all, args)
	if e.NeededByNodes() {
		return NewProblem(c, subject, all, keyPublishing), true
	}
	p := NewProblem(c, subject, all, keys...).warning()
	if e.Origin == OriginApps && e.Port != PortHTTPS {
		p.Severity = SeverityInfo // Its names work: clients of plain HTTP are few.
	}
	return p, true
}

// keyPublish is the annotation key that publishes a Service.
const keyPublish = "publish"

// assign adds e to l, or returns the problem that prevents it.
func (l *builder) assign(e Endpoint) (Problem, bool) {
	inUse := func(by string) (Problem, bool) { return l.refused(e, ListenerInUse, Args{"by": by}) }
	if l.Port == portDNS {
		return l.refused(e, PortReservedForDNS, nil)
	}
	names := lowered(e.Hosts)
	if e.Match == MatchAny {
		if l.Default != "" && l.Default != e.Backend.Name {
			return inUse(l.Default)
		}
		l.Default = e.Backend.Name
		if e.Origin == OriginHyperShift {
			l.ignoresNames = e.Port != PortHTTPS
			names = append(names, inClusterNames()...)
		}
	} else {
		if l.ignoresNames && e.Origin != OriginHyperShift {
			return l.refused(e, ListenerWithoutServerNames, Args{"by": l.Default})
		}
		if len(names) == 0 {
			return l.refused(e, ServerNameMissing, nil)
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
	return Problem{}, false
}

// forward sends connections with one of names to backend.
func (l *builder) forward(names []string, backend string) {
	i, has := l.forwards[backend]
	if !has {
		l.forwards[backend] = len(l.Forwards)
		l.Forwards = append(l.Forwards, Forward{ServerNames: names, Backend: backend})
		return
	}
	all := slices.Concat(l.Forwards[i].ServerNames, names)
	slices.Sort(all)
	l.Forwards[i].ServerNames = slices.Compact(all)
}

// exceptFromWildcards forwards the names of the default to it explicitly where a
// wildcard would match them.
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

// sortedEndpoints orders by origin and name. The order in which objects were listed has
// no effect.
func sortedEndpoints(in []Endpoint) []Endpoint {
	order := []Origin{OriginHyperShift, OriginService, OriginApps, OriginRegistry}
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b Endpoint) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Origin), slices.Index(order, b.Origin)),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Backend.Name, b.Backend.Name))
	})
	return out
}

func lowered(hosts []string) []string {
	var out []string
	for _, h := range hosts {
		out = append(out, strings.ToLower(strings.TrimSuffix(h, ".")))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
