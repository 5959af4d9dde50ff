// This file decides that Envoy asks package gate whether a new connection may be carried.

package resources

import (
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	limitv3 "github.com/envoyproxy/go-control-plane/envoy/config/ratelimit/v3"
	descriptorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/ratelimit/v3"
	"google.golang.org/protobuf/types/known/durationpb"
)

// FromKey and ToKey name the addresses of a connection in a question.
const FromKey, ToKey = "from", "to"

const (
	// gateCluster is the static cluster of the gate.
	gateCluster = "gate"
	// gateTimeout is how long a connection waits for an answer. Without one it is carried: a gate that does not answer must not
	// cut VMs off. On a node that a VM keeps busy an answer may take half a second, and a source must not exceed its share
	// then. If the gate has ended, no connection waits.
	//
	// Without answers, the kernel bounds a source, if Reset succeeds. The gate counts without questions, too, and the kernel
	// resets all further connections of a source that is full. So a source exceeds that by what it opens between two counts:
	// in a quarter of a second, in a tenth if it was near its share, and in a second on a busy node. If all of the gate
	// hangs, the kernel keeps out the sources that were full. If the gate has ended, only Envoy's own limits are left.
	gateTimeout = 2 * time.Second
	// askedKey is the runtime value of Envoy's filter: the percentage of connections that it asks about. Without a
	// value it asks about all.
	askedKey = "ratelimit.tcp_filter_enabled"
)

// askGate makes Envoy ask the gate before it dials for a connection to any chain of l. The filter of reserve must come
// first: it counts down at each end of a connection, also of one that it has not counted because the gate denied it.
func askGate(l *listenerv3.Listener) {
	ask := &listenerv3.Filter{
		Name: "envoy.filters.network.ratelimit",
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: Packed(&filterv3.RateLimit{
			StatPrefix: gateCluster,
			Domain:     gateCluster,
			Descriptors: []*descriptorv3.RateLimitDescriptor{{Entries: []*descriptorv3.RateLimitDescriptor_Entry{
				{Key: FromKey, Value: "%DOWNSTREAM_REMOTE_ADDRESS%"},
				{Key: ToKey, Value: "%DOWNSTREAM_LOCAL_ADDRESS%"},
			}}},
			Timeout: durationpb.New(gateTimeout),
			RateLimitService: &limitv3.RateLimitServiceConfig{
				TransportApiVersion: corev3.ApiVersion_V3,
				GrpcService: &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
					EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: gateCluster},
				}},
			},
		})},
	}
	for _, c := range ChainsOf(l) {
		c.Filters = slices.Insert(c.Filters, len(c.Filters)-1, ask)
	}
}
