// This file selects the pods behind a Service from its EndpointSlices. It never dials.

package kube

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/network"
)

// EndpointSlices watches the namespace's EndpointSlices.
type EndpointSlices struct {
	signal signal.Signal
	store  cache.Store
	seen   func() bool
}

// EndpointSlices watches the namespace's EndpointSlices until ctx ends.
func (k *Kube) EndpointSlices(ctx context.Context) *EndpointSlices {
	e := &EndpointSlices{}
	change := func(*discoveryv1.EndpointSlice) { e.signal.Notify() }
	e.store, e.seen = follow(ctx, k.lister(k.clients.discovery, "endpointslices", nil), &discoveryv1.EndpointSlice{}, slim, on(change, change), nil)
	go func() {
		if signal.Poll(ctx, e.seen) {
			e.signal.Notify()
		}
	}()
	return e
}

// slim drops unused fields, since a namespace has many slices.
func slim(o any) (any, error) {
	if s, ok := o.(*discoveryv1.EndpointSlice); ok {
		s.ManagedFields, s.Annotations = nil, nil
	}
	return o, nil
}

// Ready returns nil once all existing EndpointSlices were read.
func (e *EndpointSlices) Ready() error {
	if !e.seen() {
		return errors.New("EndpointSlices have not been read from the API server yet")
	}
	return nil
}

// Changed returns a channel that is closed at the next change. Call it before Endpoints, so that no
// change is missed.
func (e *EndpointSlices) Changed() <-chan struct{} { return e.signal.Changed() }

// Endpoints returns the addresses behind b's Service and port name, sorted. A Service's only port
// may have no name. Nil: no slice of the Service was seen, so dial its cluster IP. Empty: there is
// no endpoint.
func (e *EndpointSlices) Endpoints(b network.Backend) []netip.AddrPort {
	var all []*discoveryv1.EndpointSlice
	for _, o := range e.store.List() {
		if s, ok := o.(*discoveryv1.EndpointSlice); ok && s.Labels[discoveryv1.LabelServiceName] == b.Service {
			all = append(all, s)
		}
	}
	return endpoints(all, b.PortName)
}

// endpoints returns the ready endpoints, else those that still serve while they terminate
// (KEP-1669), else those that are not ready and do not terminate. After an outage of the API
// server, all pods are reported unready for a while. A pod that does not serve refuses
// connections itself.
func endpoints(slice []*discoveryv1.EndpointSlice, portName string) []netip.AddrPort {
	if len(slice) == 0 {
		return nil
	}
	ready, serving, other := []netip.AddrPort{}, []netip.AddrPort{}, []netip.AddrPort{}
	for _, s := range slice {
		if s.AddressType != discoveryv1.AddressTypeIPv4 {
			continue
		}
		for _, p := range s.Ports {
			if p.Port == nil || deref(p.Name, "") != portName {
				continue
			}
			for _, e := range s.Endpoints {
				at := addresses(e, uint16(*p.Port))
				switch c := e.Conditions; {
				case deref(c.Ready, true):
					ready = append(ready, at...)
				case deref(c.Serving, false):
					serving = append(serving, at...)
				case !deref(c.Terminating, false):
					other = append(other, at...)
				}
			}
		}
	}
	for _, all := range [][]netip.AddrPort{ready, serving, other} {
		if len(all) > 0 {
			slices.SortFunc(all, netip.AddrPort.Compare)
			return slices.Compact(all)
		}
	}
	return []netip.AddrPort{}
}

// addresses returns e's addresses, each with port.
func addresses(e discoveryv1.Endpoint, port uint16) []netip.AddrPort {
	var out []netip.AddrPort
	for _, a := range e.Addresses {
		if addr, err := netip.ParseAddr(a); err == nil {
			out = append(out, netip.AddrPortFrom(addr, port))
		}
	}
	return out
}

func deref[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
