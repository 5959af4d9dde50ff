// This file reads from a listener's version to which cluster each of its chains leads. Envoy reports versions when it
// connects, so this survives a restart of the server. This file is pure.

package ads

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/cldmnky/oooi/envoy/resources"
)

// leadSize is the size of a lead in a version, in bytes.
const leadSize = 8

// A lead is a chain of a listener and the cluster that gets its connections. Both are hashes of names.
type lead struct{ chain, cluster uint32 }

func hashed(name string) uint32 {
	sum := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint32(sum[:])
}

// withLeads returns the version of l: a hash of l, followed by the leads of l.
func withLeads(hash string, l *listenerv3.Listener) string {
	var out []byte
	for _, c := range resources.ChainsOf(l) {
		out = binary.BigEndian.AppendUint32(out, hashed(c.GetName()))
		out = binary.BigEndian.AppendUint32(out, hashed(resources.ClusterOf(c)))
	}
	return hash + "." + base64.RawURLEncoding.EncodeToString(out)
}

// leadsOf returns the leads in a version of a listener.
func leadsOf(version string) (out []lead) {
	_, text, _ := strings.Cut(version, ".")
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b)%leadSize != 0 {
		return nil // A compromised Envoy may send any version.
	}
	for b := range slices.Chunk(b, leadSize) {
		out = append(out, lead{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])})
	}
	return out
}

// closing returns the target, plus empty endpoints for each cluster that Envoy has and the target does not. A withdrawn
// backend gets no connection, even if Envoy refuses the listener without it. A cluster keeps its endpoints while Envoy
// uses it for a name that moves to another cluster, and while earlier connections may still dial it.
func (k *known) closing(to target, now time.Time) target {
	clusters, listeners := k.byType[clusterType], k.byType[listenerType]
	if clusters == nil || listeners == nil || k.moved(to) {
		return to // Envoy has not reported its listeners yet, or these clusters may be removed.
	}
	moves := map[uint32]bool{}
	for name, h := range listeners.has {
		stays := map[uint32]bool{}
		for _, l := range leadsOf(to.version(listenerType, name)) {
			stays[l.chain] = true
		}
		for _, version := range h.maybe {
			for _, l := range leadsOf(version) {
				if stays[l.chain] {
					moves[l.cluster] = true
				}
			}
		}
	}
	closed := map[string]*endpointv3.ClusterLoadAssignment{}
	for name := range clusters.has {
		if to.byType[clusterType][name] == nil && !moves[hashed(name)] && k.draining.leftUntil(name, now).IsZero() {
			closed[name] = &endpointv3.ClusterLoadAssignment{ClusterName: name}
		}
	}
	return to.with(endpointType, versioned(closed))
}
