// This file decides which listeners of the plan may accept connections, and why the others may not. It
// is pure.

package proxy

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/network"
)

// An Admission is what an edge may serve now. It is replaced as a whole.
type Admission struct {
	// Network is the network of the plan, with only its admissible listeners.
	Network network.Network
	// CutOff are the unreachable backends.
	CutOff CutOff
	// Missing is why the edge does not serve the whole plan, nil if it does.
	Missing error
	// Read: the kernel has reported its state at least once. Until then, an Envoy that runs keeps
	// its configuration.
	Read bool
	// Open are the plan's addresses that may be served, sorted.
	Open []netip.Addr
}

// Same reports whether a and b admit the same listeners and cut off the same backends.
func (a Admission) Same(b Admission) bool {
	return a.Read == b.Read && slices.Equal(a.Open, b.Open) && maps.EqualFunc(a.CutOff, b.CutOff, func(error, error) bool { return true }) &&
		slices.Equal(listenerNames(a.Network), listenerNames(b.Network))
}

// Admit selects the listeners of a view that may be served: those whose address is admissible (see
// Interface.Admissible) and that have a reachable backend. Envoy could listen without the address, but
// would not notice a replaced interface.
func Admit(v inforce.View, cut CutOff, admissible func(netip.Addr) error) Admission {
	out := Admission{Network: v.Network, CutOff: cut, Read: true}
	out.Network.Listeners = nil
	var errs []error
	checked := map[netip.Addr]error{}
	for _, l := range v.Network.Listeners {
		err, known := checked[l.Address]
		if !known {
			err = admissible(l.Address)
			checked[l.Address] = err
		}
		if err != nil {
			errs = append(errs, err)
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
	for a, err := range checked {
		if err == nil {
			out.Open = append(out.Open, a)
		}
	}
	slices.SortFunc(out.Open, netip.Addr.Compare)
	out.Missing = errors.Join(once(errs)...)
	return out
}

// once returns errs without errors whose text repeats an earlier one.
func once(errs []error) []error {
	said := map[string]bool{}
	return slices.DeleteFunc(errs, func(err error) bool {
		was := said[err.Error()]
		said[err.Error()] = true
		return was
	})
}

// Refuse returns an Admission without listeners, because of err.
func Refuse(v inforce.View, err error) Admission {
	v.Network.Listeners = nil
	return Admission{Network: v.Network, Missing: err, Read: true}
}

// Keep returns the Admission while the kernel does not report its state, because of err. It admits the
// listeners of v whose addresses are in last.Open.
func Keep(last Admission, v inforce.View, err error) Admission {
	out := Admit(v, last.CutOff, func(a netip.Addr) error {
		if slices.Contains(last.Open, a) {
			return nil
		}
		return err
	})
	if out.Missing == nil {
		out.Missing = err
	}
	out.Read = last.Read
	return out
}

// publishedByHyperShift reports whether HyperShift published a backend's endpoint, or no endpoint names
// the backend. Only a fault of a backend for which it returns true makes an edge unready. A fault of an
// endpoint that a user publishes affects that endpoint only.
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

// backendsOf returns the backends of l, sorted and without duplicates.
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

// listenerNames returns the names of n's listeners in Envoy.
func listenerNames(n network.Network) []string {
	var names []string
	for _, l := range n.Listeners {
		names = append(names, l.Name())
	}
	return names
}

// CutOff maps each unreachable backend to the reason why it is unreachable.
type CutOff map[string]error

// CutOffBackends returns n's backends in the control plane that the pod network does not reach: either
// their Service, or all of their pods. endpoints returns the pods of a backend.
func CutOffBackends(routes serving.Routes, device string, n network.Network, endpoints func(network.Backend) []netip.AddrPort) CutOff {
	at := func(what string, a netip.Addr) error { return routes.CutOff(n, device, serving.PlaceOf(what, a)) }
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

// Close returns endpoints with an empty list for each unreachable backend, so that Envoy does not
// dial it.
func (c CutOff) Close(endpoints map[string][]netip.AddrPort) map[string][]netip.AddrPort {
	out := maps.Clone(endpoints)
	for name := range c {
		out[name] = []netip.AddrPort{}
	}
	return out
}

// String lists the reasons, sorted by backend. Empty: all are reachable.
func (c CutOff) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		out = append(out, fmt.Sprintf("%s: %v", name, c[name]))
	}
	return strings.Join(out, "; ")
}
