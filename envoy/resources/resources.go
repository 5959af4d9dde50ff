// This file decides all resources of one network.

package resources

import (
	"maps"
	"net/netip"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	runtimev3 "github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/cldmnky/oooi/network"
)

// Options describe where Envoy runs.
type Options struct {
	// Device is the only device on which Envoy accepts connections and dials VMs. Empty: every device.
	Device string
	// UpstreamDevice is the device for all other backends. Empty: the routes decide.
	UpstreamDevice string
	// ReachSocket is Dirs.Reach. Empty: Envoy has no such socket.
	ReachSocket string
	// Limits are how much this Envoy carries. Zero: the API server's ports have no limit, and Envoy asks
	// no gate.
	Limits Limits
}

// Resources is the whole configuration, by name. Each cluster has its endpoints. Do not modify them.
type Resources struct {
	Listeners map[string]*listenerv3.Listener
	Clusters  map[string]*clusterv3.Cluster
	Endpoints map[string]*endpointv3.ClusterLoadAssignment
	Runtimes  map[string]*runtimev3.Runtime
}

// New returns the resources of n. endpoints are the addresses of backends by name, nil or missing if
// not known.
func New(n network.Network, o Options, endpoints map[string][]netip.AddrPort) Resources {
	out := Resources{
		Listeners: map[string]*listenerv3.Listener{},
		Clusters:  map[string]*clusterv3.Cluster{},
		Endpoints: map[string]*endpointv3.ClusterLoadAssignment{},
		Runtimes:  newRuntimes(n.AccessLog),
	}
	backends := map[string]network.Backend{}
	for _, b := range n.Backends {
		backends[b.Name] = b
		name := ClusterName(b)
		out.Clusters[name] = newCluster(b, o)
		out.Endpoints[name] = newLoadAssignment(name, dialed(b, endpoints[b.Name]))
	}
	ports := APIPorts(n)
	for _, l := range n.Listeners {
		reserved := uint32(0)
		if slices.Contains(ports, l.Name()) {
			reserved = o.Limits.API() / uint32(len(ports))
		}
		out.Listeners[l.Name()] = newListener(l, backends, o, reserved)
	}
	if b, ok := n.ReachBackend(); ok && o.ReachSocket != "" {
		out.Listeners[reach] = newReachListener(o.ReachSocket)
		out.Clusters[reach] = newReachCluster(b, o)
		out.Endpoints[reach] = newLoadAssignment(reach, dialed(b, endpoints[b.Name]))
	}
	return out
}

// Asking returns r with the percentage of connections that Envoy asks its gate about. Zero: all.
func (r Resources) Asking(percent uint32) Resources {
	if percent == 0 {
		return r
	}
	values := proto.CloneOf(r.Runtimes[levels])
	values.Layer.Fields[askedKey] = structpb.NewNumberValue(float64(percent))
	r.Runtimes = map[string]*runtimev3.Runtime{levels: values}
	return r
}

// APIPorts returns the names of the listeners that forward only to the hosted API server.
func APIPorts(n network.Network) (out []string) {
	b, ok := n.APIBackend()
	for _, l := range n.Listeners {
		if ok && l.Default == b.Name && len(l.Forwards) == 0 {
			out = append(out, l.Name())
		}
	}
	return out
}

// Equal reports whether r and o have equal resources.
func (r Resources) Equal(o Resources) bool {
	return same(r.Listeners, o.Listeners) && same(r.Clusters, o.Clusters) && same(r.Endpoints, o.Endpoints) && same(r.Runtimes, o.Runtimes)
}

func same[M proto.Message](a, b map[string]M) bool {
	return maps.EqualFunc(a, b, func(x, y M) bool { return proto.Equal(x, y) })
}
