// This file decides which connections are accepted where, and which Service
// each goes to.
//
//	what is dialled                listener                by
//	a host name, port P            service address : P     TLS server name, or any
//	a bare IP, port P              that address : P        any
//
// On one listener, known server names go to their own Services; everything else
// goes to the one endpoint that takes any connection, or is closed. Clients of
// the API server send no server name, or that of an in-cluster Service, so an
// endpoint that takes any never looks at it, and where it shares port 443 nobody
// else has those names. An exact name wins over a wildcard that contains it. Where two endpoints want one place, what HyperShift published
// has it, then a Service's annotation, the ingress, a registry, and among equals
// the first by name; the other is left out there, and said.

package network

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// inClusterNames are what clients of the API server in the hosted cluster may send
// as TLS server name: those that its certificate has for the Service kubernetes,
// and, for OpenShift's older clients, openshift.
func inClusterNames() []string {
	var out []string
	for _, service := range []string{"kubernetes", "openshift"} {
		for _, below := range []string{"", ".default", ".default.svc", ".default.svc.cluster.local"} {
			out = append(out, service+below)
		}
	}
	return out
}

// portDNS is where names are answered, by TCP too.
const portDNS = 53

// portHTTPS is where server names tell endpoints apart.
const portHTTPS = 443

// connections are the listeners for endpoints, and the backends behind them.
func connections(service netip.Addr, endpoints []Endpoint) ([]Listener, []Backend, Problems) {
	var problems Problems
	listeners := map[string]*filling{}
	backends := map[string]Backend{}
	for _, e := range anyFirst(sortedEndpoints(endpoints)) {
		for _, at := range dialled(service, e) {
			key := netip.AddrPortFrom(at, e.Port).String()
			l := listeners[key]
			if l == nil {
				l = &filling{Listener: Listener{Address: at, Port: e.Port}, names: map[string]string{}}
				listeners[key] = l
			}
			p, bad := l.refused(e, BackendNameInUse, Args{"by": e.Backend.Name})
			if other, has := backends[e.Backend.Name]; !has || sameBackend(other, e.Backend) {
				p, bad = l.assign(e)
			}
			if bad {
				problems = append(problems, refusals(e, p)...)
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

// anyFirst is in with what HyperShift published for any connection before all
// else, so that nothing else has the names of its clients.
func anyFirst(in []Endpoint) []Endpoint {
	slices.SortStableFunc(in, func(a, b Endpoint) int {
		first := func(e Endpoint) int {
			if e.Origin == OriginHyperShift && e.Match == MatchAny {
				return 0
			}
			return 1
		}
		return cmp.Compare(first(a), first(b))
	})
	return in
}

// sameBackend says whether connections to either end at the same place, as far as
// two of one name can differ there. A ClusterIP may be older in one.
func sameBackend(a, b Backend) bool {
	return a.Kind == b.Kind && a.Service == b.Service && a.Host == b.Host && a.Port == b.Port
}

// refusals are why, which keeps e from being served, and what nodes miss by that.
func refusals(e Endpoint, why Problem) Problems {
	if e.Origin != OriginRegistry {
		return Problems{why}
	}
	return Problems{why, NewProblem(RegistryNotServed, why.Subject, Args{"registry": e.Name}, why.Keys...)}
}

// dialled is every address that e is reached at.
func dialled(service netip.Addr, e Endpoint) []netip.Addr {
	at := slices.Clone(e.Addresses)
	if len(e.Hosts) > 0 {
		at = append(at, service)
	}
	return at
}

// A filling is a listener, and whose each name is there: that of an endpoint that
// takes any connection too, though nobody looks at it.
type filling struct {
	Listener
	// names to backends.
	names map[string]string
	// unseen: HyperShift published the default at a port of its own, where nobody
	// looks at server names.
	unseen bool
}

// refused says that e is not served at l.
func (l *filling) refused(e Endpoint, c Cause, args Args) (Problem, bool) {
	subject, keys := e.subject(), []string(nil)
	all := Args{"at": l.Name()}
	if e.Origin == OriginService {
		subject, keys = Subject{Kind: "Service", Name: e.Backend.Service}, []string{keyPublish}
		all["at"] = fmt.Sprintf("%s:%d", e.Hosts[0], e.Port)
	}
	maps.Copy(all, args)
	return NewProblem(c, subject, all, keys...).warning(), true
}

// keyPublish is the annotation key by which a Service is published.
const keyPublish = "publish"

// assign gives e its part of l, or says who has it already.
func (l *filling) assign(e Endpoint) (Problem, bool) {
	taken := func(by string) (Problem, bool) { return l.refused(e, ListenerInUse, Args{"by": by}) }
	if l.Port == portDNS {
		return l.refused(e, PortReservedForDNS, nil)
	}
	names := lowered(e.Hosts)
	if e.Match == MatchAny {
		if l.Default != "" && l.Default != e.Backend.Name {
			return taken(l.Default)
		}
		l.Default = e.Backend.Name
		if e.Origin == OriginHyperShift {
			l.unseen = e.Port != portHTTPS
			names = append(names, inClusterNames()...)
		}
	} else {
		if l.unseen && e.Origin != OriginHyperShift {
			return l.refused(e, ListenerWithoutServerNames, Args{"by": l.Default})
		}
		if len(names) == 0 {
			return l.refused(e, ServerNameMissing, nil)
		}
		for _, n := range names {
			if by := l.names[n]; by != "" && by != e.Backend.Name {
				return taken(by)
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
func (l *filling) forward(names []string, backend string) {
	i := slices.IndexFunc(l.Forwards, func(f Forward) bool { return f.Backend == backend })
	if i < 0 {
		l.Forwards = append(l.Forwards, Forward{ServerNames: names, Backend: backend})
		return
	}
	all := slices.Concat(l.Forwards[i].ServerNames, names)
	slices.Sort(all)
	l.Forwards[i].ServerNames = slices.Compact(all)
}

// exceptFromWildcards keeps a wildcard from taking the names of the endpoint that
// takes any connection.
func (l *filling) exceptFromWildcards() {
	var except []string
	for _, f := range l.Forwards {
		for _, wildcard := range f.ServerNames {
			suffix, is := strings.CutPrefix(wildcard, "*")
			for name, by := range l.names {
				if is && by == l.Default && strings.HasSuffix(name, suffix) {
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

// sortedEndpoints orders by origin and name, so that who is first at a listener
// does not hang on the order in which objects were listed, and nothing that a
// user adds takes the place of what HyperShift published.
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
