// This file decides everything that Envoy is told about one network.

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

// Options are what resources need to know about the place that Envoy runs in.
type Options struct {
	// Device machines are on; connections by others are not accepted, and machines
	// that are backends are dialled by it only. Empty: every device.
	Device string
	// UpstreamDevice leads to every other backend, dialled by it only. Empty: as
	// routes say.
	UpstreamDevice string
}

// Resources are everything that Envoy is told, by name. Listeners and clusters
// refer to each other by name; each cluster has its endpoints. Don't change what
// they hold.
type Resources struct {
	Listeners map[string]*listenerv3.Listener
	Clusters  map[string]*clusterv3.Cluster
	Endpoints map[string]*endpointv3.ClusterLoadAssignment
}

// NewResources are the resources for n. Behind are the addresses of each backend,
// by its name: nil or not there where they are not known.
func NewResources(n network.Network, o Options, behind map[string][]netip.AddrPort) Resources {
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
		out.Endpoints[name] = newLoadAssignment(name, dialled(b, behind[b.Name]))
	}
	for _, l := range n.Listeners {
		out.Listeners[l.Name()] = newListener(l, backends, o.Device)
	}
	return out
}

// equal says whether Envoy would see no difference.
func (r Resources) equal(o Resources) bool {
	return same(r.Listeners, o.Listeners) && same(r.Clusters, o.Clusters) && same(r.Endpoints, o.Endpoints)
}

func same[M proto.Message](a, b map[string]M) bool {
	return maps.EqualFunc(a, b, func(x, y M) bool { return proto.Equal(x, y) })
}

// next is the first step on the way from what Envoy has to what it should have,
// to where no step is left. In no step does a listener name a cluster that is
// not there:
//
//	make   new clusters and endpoints come beside the old ones
//	move   listeners change
//	break  clusters that no listener names any more go
func next(from, to Resources) Resources {
	made := Resources{Listeners: from.Listeners, Clusters: over(from.Clusters, to.Clusters), Endpoints: over(from.Endpoints, to.Endpoints)}
	if !made.equal(from) {
		return made
	}
	moved := Resources{Listeners: to.Listeners, Clusters: from.Clusters, Endpoints: from.Endpoints}
	if !moved.equal(from) {
		return moved
	}
	return to
}

// over is a with b's entries, which win.
func over[M any](a, b map[string]M) map[string]M {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]M{}
	}
	maps.Copy(out, b)
	return out
}
