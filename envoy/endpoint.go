// This file decides which addresses stand behind a backend.

package envoy

import (
	"net/netip"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/cldmnky/oooi/network"
)

// Endpoints knows who stands behind backends.
type Endpoints interface {
	// Endpoints are the addresses to dial for b, which are the HTTP proxy's where it
	// has one: nil where nothing is known of it, empty and not nil where nobody is
	// ready.
	Endpoints(b network.Backend) []netip.AddrPort
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
		out[b.Name] = e.Endpoints(b)
	}
	return out
}

// dialled is what Envoy dials for b: who is behind it where that is known, also
// where that is nobody, else, for pods, the Service's own address, which works as
// long as the node does. A backend with neither has nobody behind it.
func dialled(b network.Backend, behind []netip.AddrPort) []netip.AddrPort {
	if behind == nil && b.Kind == network.BackendPods && b.ClusterIP.IsValid() {
		return []netip.AddrPort{netip.AddrPortFrom(b.ClusterIP, b.Port)}
	}
	out := slices.Clone(behind)
	slices.SortFunc(out, netip.AddrPort.Compare)
	return slices.Compact(out)
}

// newLoadAssignment is who stands behind a cluster.
func newLoadAssignment(cluster string, at []netip.AddrPort) *endpointv3.ClusterLoadAssignment {
	out := &endpointv3.ClusterLoadAssignment{ClusterName: cluster}
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
