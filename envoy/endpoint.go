// This file decides which addresses stand behind a backend.

package envoy

import (
	"net/netip"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/cldmnky/oooi/network"
)

// Endpoints knows which pods stand behind a Service.
type Endpoints interface {
	// Endpoints are the addresses behind the named port of service: nil where
	// nothing is known of that Service, empty and not nil where nobody is ready.
	Endpoints(service, portName string) []netip.AddrPort
	// Changed is closed when Endpoints may have changed since it was asked.
	Changed() <-chan struct{}
}

// Behind are the addresses of each of n's backends, by the backend's name, as
// Resources are made from. A nil e knows nothing.
func Behind(n network.Network, e Endpoints) map[string][]netip.AddrPort {
	out := map[string][]netip.AddrPort{}
	if e == nil {
		return out
	}
	for _, b := range n.Backends {
		out[b.Name] = e.Endpoints(b.Service, b.PortName)
	}
	return out
}

// dialled is what Envoy dials for b: the pods where they are known, also where
// there is none, else the Service's own address, which works as long as the node
// does. A backend with neither has nobody behind it.
func dialled(b network.Backend, pods []netip.AddrPort) []netip.AddrPort {
	if pods == nil && b.ClusterIP.IsValid() {
		return []netip.AddrPort{netip.AddrPortFrom(b.ClusterIP, b.Port)}
	}
	out := slices.Clone(pods)
	slices.SortFunc(out, netip.AddrPort.Compare)
	return slices.Compact(out)
}

// newLoadAssignment is who stands behind the cluster of a backend's name.
func newLoadAssignment(backend string, at []netip.AddrPort) *endpointv3.ClusterLoadAssignment {
	out := &endpointv3.ClusterLoadAssignment{ClusterName: backend}
	if len(at) == 0 {
		return out
	}
	locality := &endpointv3.LocalityLbEndpoints{}
	for _, a := range at {
		locality.LbEndpoints = append(locality.LbEndpoints, &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
				Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
					Address:       a.Addr().String(),
					PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(a.Port())},
				}}},
			}},
		})
	}
	out.Endpoints = []*endpointv3.LocalityLbEndpoints{locality}
	return out
}
