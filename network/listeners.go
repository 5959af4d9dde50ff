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
// endpoint that takes any never looks at it.

package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// connections are the listeners for endpoints, and the backends behind them.
func connections(service netip.Addr, endpoints []Endpoint) ([]Listener, []Backend, Problems) {
	var problems Problems
	listeners := map[string]*Listener{}
	backends := map[string]Backend{}
	for _, e := range sortedEndpoints(endpoints) {
		for _, at := range dialled(service, e) {
			key := netip.AddrPortFrom(at, e.Port).String()
			l := listeners[key]
			if l == nil {
				l = &Listener{Address: at, Port: e.Port}
				listeners[key] = l
			}
			if p, bad := claim(l, e); bad {
				problems = append(problems, p)
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
		slices.SortFunc(l.Forwards, func(a, b Forward) int { return cmp.Compare(a.ServerNames[0], b.ServerNames[0]) })
		ls = append(ls, *l)
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

// dialled is every address that e is reached at.
func dialled(service netip.Addr, e Endpoint) []netip.Addr {
	at := slices.Clone(e.Addresses)
	if len(e.Hosts) > 0 {
		at = append(at, service)
	}
	return at
}

// claim gives e its part of l, or says who has it already.
func claim(l *Listener, e Endpoint) (Problem, bool) {
	taken := func(by string) (Problem, bool) {
		return Problem{Reason: AddressConflict, Field: e.Name, Detail: fmt.Sprintf(
			"%s is not served at %s: %s answers there already. Publish one of them at another port or name.", e.Name, l.Name(), by)}, true
	}
	if e.Match == MatchAny {
		if l.Default != "" && l.Default != e.Backend.Name {
			return taken(l.Default)
		}
		l.Default = e.Backend.Name
		return Problem{}, false
	}
	names := lowered(e.Hosts)
	if len(names) == 0 {
		return Problem{Reason: PublishingUnsupported, Field: e.Name, Detail: fmt.Sprintf(
			"%s is not served at %s: it is told from others by its server name, and has none.", e.Name, l.Name())}, true
	}
	for _, f := range l.Forwards {
		for _, n := range names {
			if slices.Contains(f.ServerNames, n) && f.Backend != e.Backend.Name {
				return taken(f.Backend)
			}
		}
	}
	for i, f := range l.Forwards {
		if f.Backend == e.Backend.Name {
			f.ServerNames = append(f.ServerNames, names...)
			slices.Sort(f.ServerNames)
			f.ServerNames = slices.Compact(f.ServerNames)
			l.Forwards[i] = f
			return Problem{}, false
		}
	}
	l.Forwards = append(l.Forwards, Forward{ServerNames: names, Backend: e.Backend.Name})
	return Problem{}, false
}

// sortedEndpoints orders by name, so that who is first at a listener does not
// hang on the order in which Routes were listed.
func sortedEndpoints(in []Endpoint) []Endpoint {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b Endpoint) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Backend.Name, b.Backend.Name))
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
