// This file gives resources their versions, which are hashes of their content.
// Equal resources have equal versions.

package envoy

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/proto"
)

// versions holds the version of each resource, by type URL and name.
type versions map[string]map[string]string

// served lists the types in the order in which Envoy needs them.
func served() []string {
	return []string{resourcev3.ClusterType, resourcev3.EndpointType, resourcev3.ListenerType}
}

// newSnapshot returns r as go-control-plane serves it, and its versions.
func newSnapshot(r Resources) (*cachev3.Snapshot, versions, error) {
	s := &cachev3.Snapshot{}
	put(s, resourcev3.ClusterType, r.Clusters)
	put(s, resourcev3.EndpointType, r.Endpoints)
	put(s, resourcev3.ListenerType, r.Listeners)
	if err := s.Consistent(); err != nil {
		return nil, nil, err
	}
	if err := s.ConstructVersionMap(); err != nil {
		return nil, nil, err
	}
	v := versions{}
	for _, t := range served() {
		v[t] = s.GetVersionMap(t)
	}
	return s, v, nil
}

func put[M proto.Message](s *cachev3.Snapshot, typeURL string, all map[string]M) {
	var items []types.Resource
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		items = append(items, all[name])
		b, err := cachev3.MarshalResource(all[name])
		if err != nil {
			panic("envoy: a message always marshals: " + err.Error())
		}
		hash.Write([]byte(name))
		hash.Write([]byte{0})
		hash.Write(b)
	}
	s.Resources[cachev3.GetResponseType(typeURL)] = cachev3.NewResources(hex.EncodeToString(hash.Sum(nil)), items)
}
