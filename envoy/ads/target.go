// This file converts resources to the form in which Envoy receives them. Equal resources have equal
// versions, also after a restart of the server.

package ads

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/cldmnky/oooi/envoy/resources"
)

// The types of resources, by URL.
const (
	clusterType  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	endpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	listenerType = "type.googleapis.com/envoy.config.listener.v3.Listener"
	runtimeType  = "type.googleapis.com/envoy.service.runtime.v3.Runtime"
)

// served lists the types in the order in which Envoy needs them.
func served() []string { return []string{runtimeType, clusterType, endpointType, listenerType} }

// A target is all that each Envoy should have. It is replaced as a whole.
type target struct {
	// byType holds the resources by type and name.
	byType map[string]map[string]*discoveryv3.Resource
	// Field named holds the clusters that each listener refers to, by the listener's name.
	named map[string][]string
}

// newTarget returns r in the form in which Envoy receives it.
func newTarget(r resources.Resources) target {
	t := target{named: map[string][]string{}, byType: map[string]map[string]*discoveryv3.Resource{
		clusterType: versioned(r.Clusters), endpointType: versioned(r.Endpoints), listenerType: versioned(r.Listeners),
		runtimeType: versioned(r.Runtimes),
	}}
	for name, l := range r.Listeners {
		t.named[name] = resources.ClustersOf(l)
		t.byType[listenerType][name].Version = withLeads(t.byType[listenerType][name].Version, l)
	}
	return t
}

// with returns t with more resources of a type. A resource that t already has is not replaced.
func (t target) with(typeURL string, more map[string]*discoveryv3.Resource) target {
	if len(more) == 0 {
		return t
	}
	maps.Copy(more, t.byType[typeURL])
	t.byType = maps.Clone(t.byType)
	t.byType[typeURL] = more
	return t
}

func versioned[M proto.Message](all map[string]M) map[string]*discoveryv3.Resource {
	out := map[string]*discoveryv3.Resource{}
	for name, m := range all {
		a := resources.Packed(m)
		hash := sha256.Sum256(a.GetValue())
		out[name] = &discoveryv3.Resource{Name: name, Version: hex.EncodeToString(hash[:16]), Resource: a}
	}
	return out
}

// version returns the version of a resource in the target. Empty: the target does not have the resource.
func (t target) version(typeURL, name string) string { return t.byType[typeURL][name].GetVersion() }

// names returns the names of the resources of a type, sorted.
func (t target) names(typeURL string) []string {
	return slices.Sorted(maps.Keys(t.byType[typeURL]))
}
