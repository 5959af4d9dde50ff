// This file decides which listeners of the plan may accept connections, and why the
// others may not. It is pure. It never decides where connections go.

package agent

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/network"
)

// An Admission is what an edge may serve now. Whole values are replaced.
type Admission struct {
	// Network is the plan's, with the admissible listeners only.
	Network network.Network
	// CutOff are the backends that the edge cannot reach.
	CutOff CutOff
	// Missing is why the edge does not serve all of the plan, nil where it does.
	Missing error
}

// Same says whether both admit the same listeners and cut off the same backends.
func (a Admission) Same(b Admission) bool {
	return maps.EqualFunc(a.CutOff, b.CutOff, func(error, error) bool { return true }) &&
		slices.Equal(listenerNames(a.Network), listenerNames(b.Network))
}

// Admit decides it for a view. May is nil for an address that may be served at; see
// Interface.May. A listener is left out where its address may not be served, or where
// none of its backends can be reached. Connections to a backend that is cut off are
// closed. Envoy itself could listen without an address, and would not notice that an
// interface was replaced.
func Admit(v edge.View, cut CutOff, may func(netip.Addr) error) Admission {
	out := Admission{Network: v.Network, CutOff: cut}
	out.Network.Listeners = nil
	var errs []error
	checked := map[netip.Addr]error{}
	for _, l := range v.Network.Listeners {
		err, known := checked[l.Address]
		if !known {
			err = may(l.Address)
			checked[l.Address] = err
			if err != nil {
				errs = append(errs, err)
			}
		}
		if err != nil {
			continue
		}
		reached := false
		for _, b := range backendsOf(l) {
			err := cut[b]
			reached = reached || err == nil
			if err != nil && publishedByHyperShift(v.Endpoints, b) {
				errs = append(errs, fmt.Errorf("%s is not served: %w", l.Name(), err))
			}
		}
		if reached {
			out.Network.Listeners = append(out.Network.Listeners, l)
		}
	}
	out.Missing = errors.Join(errs...)
	return out
}

// Refuse admits nothing, because of err.
func Refuse(v edge.View, err error) Admission {
	v.Network.Listeners = nil
	return Admission{Network: v.Network, Missing: err}
}

// publishedByHyperShift says whether HyperShift published what is behind a backend.
// Only that makes an edge unready: what a user publishes fails alone. A backend that
// no endpoint names counts as HyperShift's.
func publishedByHyperShift(endpoints []network.Endpoint, backend string) bool {
	named := false
	for _, e := range endpoints {
		if e.Backend.Name == backend {
			named = true
			if e.Origin == network.OriginHyperShift {
				return true
			}
		}
	}
	return !named
}

// backendsOf are the backends of l, each once.
func backendsOf(l network.Listener) []string {
	var out []string
	if l.Default != "" {
		out = append(out, l.Default)
	}
	for _, f := range l.Forwards {
		out = append(out, f.Backend)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// listenerNames are the names of n's listeners in Envoy.
func listenerNames(n network.Network) []string {
	var names []string
	for _, l := range n.Listeners {
		names = append(names, l.Name())
	}
	return names
}

// A CutOff is the backends that an edge cannot reach, by name, and why.
type CutOff map[string]error

// CutOffBackends are those of n's backends in the control plane to which the pod
// network does not lead: not to their Service, or to none of their pods. Endpoints
// are the pods of a backend.
func CutOffBackends(routes edge.Routes, device string, n network.Network, endpoints func(network.Backend) []netip.AddrPort) CutOff {
	at := func(what string, a netip.Addr) error { return routes.CutOff(n, device, placeOf(what, a)) }
	out := CutOff{}
	for _, b := range n.Backends {
		if b.Kind != network.BackendPods {
			continue
		}
		var errs, pods []error
		if b.ClusterIP.IsValid() {
			errs = append(errs, at("Service "+b.Service, b.ClusterIP))
		}
		behind := endpoints(b)
		for _, pod := range behind {
			if err := at("a pod of Service "+b.Service, pod.Addr()); err != nil {
				pods = append(pods, err)
			}
		}
		if len(pods) == len(behind) {
			errs = append(errs, pods...)
		}
		if err := errors.Join(errs...); err != nil {
			out[b.Name] = err
		}
	}
	return out
}

// Close gives each backend that is cut off an empty list of endpoints, so that its
// connections are closed.
func (c CutOff) Close(endpoints map[string][]netip.AddrPort) map[string][]netip.AddrPort {
	out := maps.Clone(endpoints)
	for name := range c {
		out[name] = []netip.AddrPort{}
	}
	return out
}

// String lists why, sorted by backend. Empty where none is cut off.
func (c CutOff) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		out = append(out, fmt.Sprintf("%s: %v", name, c[name]))
	}
	return strings.Join(out, "; ")
}
