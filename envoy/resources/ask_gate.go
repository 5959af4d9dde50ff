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
	// gateTimeout is how long a connection waits for an answer. After that Envoy carries it: a gate that does not answer must not
	// cut VMs off. The timeout is long. On a node that a VM keeps busy, an answer may take half a second, and a source must not
	// exceed its share meanwhile. If the gate has ended, no connection waits.
	//
	// If no answer arrives and Reset succeeds, the kernel still limits a source. The gate also counts without questions, and the
	// kernel resets further connections of a full source. So a source can exceed its share by what it opens between two counts.
	// That is a quarter of a second, near a limit a tenth, and on a busy node a second. If the whole gate hangs, the kernel still
	// resets connections of the sources that were full. If the gate has ended, only Envoy's own limits remain.
	gateTimeout = 2 * time.Second
	// askedKey is the runtime key of the percentage of connections that Envoy asks about. Without a value, all.
	askedKey = "ratelimit.tcp_filter_enabled"
)

// askGate makes Envoy ask the gate before it dials for any chain of l. The filter that function reserve adds must come first.
// It counts down at the end of each connection, even if the gate denied the connection before the filter counted it.
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
