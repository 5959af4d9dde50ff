// This file decides which addresses Envoy dials for a backend.

package resources

import (
	"net/netip"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/cldmnky/oooi/network"
)

// Endpoints knows the current addresses of backends.
type Endpoints interface {
	// Endpoints returns the addresses to dial for b. If b has an HTTP proxy, these are the
	// proxy's addresses. Nil: not known. Empty but not nil: no endpoint is ready.
	Endpoints(b network.Backend) []netip.AddrPort
	// Changed returns a channel that is closed when Endpoints may have changed.
	Changed() <-chan struct{}
}

// EndpointsOf returns the addresses of each backend of n, by the backend's name. If e is nil, no
// address is known.
func EndpointsOf(n network.Network, e Endpoints) map[string][]netip.AddrPort {
	out := map[string][]netip.AddrPort{}
	if e == nil {
		return out
	}
	for _, b := range n.Backends {
		out[b.Name] = e.Endpoints(b)
	}
	return out
}

// dialed returns what Envoy dials for b: the known endpoints, even if there are none. Pods
// whose endpoints are not known are dialed through the cluster IP of their Service.
func dialed(b network.Backend, known []netip.AddrPort) []netip.AddrPort {
	if known == nil && b.Kind == network.BackendPods && b.ClusterIP.IsValid() {
		return []netip.AddrPort{netip.AddrPortFrom(b.ClusterIP, b.Port)}
	}
	out := slices.Clone(known)
	slices.SortFunc(out, netip.AddrPort.Compare)
	return slices.Compact(out)
}

// newLoadAssignment returns the endpoints of a cluster.
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
