// This file decides when Envoy may serve: which of the plan's listeners, and why
// not the others. It never decides where connections go.

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/envoy"
	"github.com/cldmnky/oooi/network"
)

// envoyAnswersWithin is how long Envoy may take to say which listeners it has.
const envoyAnswersWithin = time.Second

// may is the network with the listeners that may accept connections, those of its
// backends that are cut off, and why it does not serve as a whole: the device has
// not an address, the edge would forward, or it can't reach what HyperShift
// published. A listener goes where nobody behind it can be reached; else it stays
// as it is, and connections to who is cut off are closed. Envoy could listen
// without an address, but not without a device, and would not notice that a device
// was made anew.
func (p *proxy) may() (network.Network, cutOff, error) {
	view := p.source.Current()
	n := view.Network
	all := n.Listeners
	n.Listeners = nil
	routes, err := p.flags.routes()
	if err == nil {
		err = routes.CutOff(n, p.flags.device, p.needs(n)...)
	}
	if err != nil {
		return n, nil, err
	}
	cut := p.cutOff(routes, n)
	var errs []error
	asked := map[netip.Addr]error{}
	for _, l := range all {
		err, known := asked[l.Address]
		if !known {
			err = p.flags.may(l.Address)
			asked[l.Address] = err
			if err != nil {
				errs = append(errs, err)
			}
		}
		if err != nil {
			continue
		}
		reached := false
		for _, b := range leadsTo(l) {
			why := cut[b]
			reached = reached || why == nil
			if why != nil && publishedByHyperShift(view.Endpoints, b) {
				errs = append(errs, fmt.Errorf("%s is not served: %w", l.Name(), why))
			}
		}
		if reached {
			n.Listeners = append(n.Listeners, l)
		}
	}
	return n, cut, errors.Join(errs...)
}

// serves is nil where Envoy accepts connections now that it may accept. It asks
// for less than readiness does: a plan that changes, a listener that Envoy
// refused or an address that only the next pod will hold must not make two edges
// say of themselves that they don't serve, since then neither takes over for the
// other. For the same reason Envoy may be slow to answer for a moment.
func (p *proxy) serves(ctx context.Context) error {
	n, _, missing := p.may()
	if missing != nil && len(n.Listeners) == 0 {
		return missing
	}
	asked := time.Now()
	err := listens(ctx, p.admin, n)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.envoy, err = p.envoy.next(err, asked, time.Now())
	return err
}

// listens is nil where Envoy is up and has one of n's listeners, if there are any.
func listens(ctx context.Context, admin *envoy.Admin, n network.Network) error {
	ctx, cancel := context.WithTimeout(ctx, envoyAnswersWithin)
	defer cancel()
	return admin.ServesAny(ctx, listenerNames(n))
}

// listenerNames are those by which Envoy knows n's listeners.
func listenerNames(n network.Network) []string {
	var names []string
	for _, l := range n.Listeners {
		names = append(names, l.Name())
	}
	return names
}

// publishedByHyperShift says whether HyperShift published what is behind a
// backend. Only that makes an edge unready: what a user adds breaks for itself.
// Of what no endpoint names, nobody knows better.
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

// needs are what a proxy can't do without: the API server says who is behind
// backends, the resolver where hosts outside are.
func (p *proxy) needs(n network.Network) []network.Place {
	out := apiServer()
	for _, b := range n.Backends {
		if b.Kind == network.BackendOutside {
			return append(out, resolvers()...)
		}
	}
	return out
}

// cutOff are backends that the edge has cut itself off from, by name, and why.
type cutOff map[string]error

// but is behind with nobody behind those that are cut off.
func (c cutOff) but(behind map[string][]netip.AddrPort) map[string][]netip.AddrPort {
	for name := range c {
		behind[name] = []netip.AddrPort{}
	}
	return behind
}

// same says whether the same ones are cut off.
func (c cutOff) same(o cutOff) bool {
	return maps.EqualFunc(c, o, func(error, error) bool { return true })
}

// String is why, sorted; empty where nobody is cut off.
func (c cutOff) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		out = append(out, fmt.Sprintf("%s: %v", name, c[name]))
	}
	return strings.Join(out, "; ")
}

// cutOff are those of n's backends in the control plane to which the pod network
// does not lead: to their Service, or to none of their pods.
func (p *proxy) cutOff(routes edge.Routes, n network.Network) cutOff {
	at := func(what string, a netip.Addr) error {
		return routes.CutOff(n, p.flags.device, address(what, a))
	}
	out := cutOff{}
	for _, b := range n.Backends {
		if b.Kind != network.BackendPods {
			continue
		}
		var errs, pods []error
		if b.ClusterIP.IsValid() {
			errs = append(errs, at("Service "+b.Service, b.ClusterIP))
		}
		behind := p.backends.Endpoints(b)
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

// leadsTo are the backends of l, each once.
func leadsTo(l network.Listener) []string {
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
