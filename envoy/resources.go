// This file decides all resources of one network.

package envoy

import (
	"maps"
	"net/netip"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/proto"

	"github.com/cldmnky/oooi/network"
)

// Options describe where Envoy runs.
type Options struct {
	// Device is the device of the network. Envoy accepts connections on it only, and
	// dials VMs through it only. Empty: every device.
	Device string
	// UpstreamDevice is the device for all other backends. Empty: the routes decide.
	UpstreamDevice string
	// RunDir is the directory of Envoy's sockets. Empty: Envoy has no ReachSocket.
	RunDir string
}

// Resources is the whole configuration, by name. Listeners refer to clusters by
// name; each cluster has its endpoints. Do not modify them.
type Resources struct {
	Listeners map[string]*listenerv3.Listener
	Clusters  map[string]*clusterv3.Cluster
	Endpoints map[string]*endpointv3.ClusterLoadAssignment
}

// NewResources returns the resources of n. Endpoints are the addresses of each
// backend by name; nil or missing if they are not known.
func NewResources(n network.Network, o Options, endpoints map[string][]netip.AddrPort) Resources {
	out := Resources{
		Listeners: map[string]*listenerv3.Listener{},
		Clusters:  map[string]*clusterv3.Cluster{},
		Endpoints: map[string]*endpointv3.ClusterLoadAssignment{},
	}
	backends := map[string]network.Backend{}
	for _, b := range n.Backends {
		backends[b.Name] = b
		name := clusterName(b)
		out.Clusters[name] = newCluster(b, o)
		out.Endpoints[name] = newLoadAssignment(name, dialed(b, endpoints[b.Name]))
	}
	for _, l := range n.Listeners {
		out.Listeners[l.Name()] = newListener(l, backends, o.Device)
	}
	if b, ok := n.APIBackend(); ok && o.RunDir != "" {
		out.Listeners[reach] = newReachListener(o.RunDir)
		out.Clusters[reach] = newReachCluster(b, o)
		out.Endpoints[reach] = newLoadAssignment(reach, dialed(b, endpoints[b.Name]))
	}
	return out
}

// equal reports whether Envoy would see no difference.
func (r Resources) equal(o Resources) bool {
	return same(r.Listeners, o.Listeners) && same(r.Clusters, o.Clusters) && same(r.Endpoints, o.Endpoints)
}

func same[M proto.Message](a, b map[string]M) bool {
	return maps.EqualFunc(a, b, func(x, y M) bool { return proto.Equal(x, y) })
}
