// This file decides how a backend is dialled. A cluster follows from the
// backend's name and the device alone, so it never changes while it is there;
// who stands behind it is decided in endpoint.go.

package envoy

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	// connectTimeout of one attempt. All attempts together are shorter than the 10 s
	// that a node's own load balancer waits for its API server.
	connectTimeout = 3 * time.Second
	// clusterConnections is how many connections one backend gets. Envoy's own
	// limit, 1,024, is less than what a cluster of 500 machines has open.
	clusterConnections = 16_384
)

// newCluster dials backend by device, or as routes say where it is empty.
//
// Connections go to endpoints in turn and never by who asks: a konnectivity
// agent dials until it has met every replica of the API server.
func newCluster(backend, device string) *clusterv3.Cluster {
	out := &clusterv3.Cluster{
		Name:                          backend,
		ClusterDiscoveryType:          &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:              &clusterv3.Cluster_EdsClusterConfig{EdsConfig: overADS(nil)},
		ConnectTimeout:                durationpb.New(connectTimeout),
		LbPolicy:                      clusterv3.Cluster_ROUND_ROBIN,
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(bufferLimit),
		CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
			MaxConnections:     wrapperspb.UInt32(clusterConnections),
			MaxPendingRequests: wrapperspb.UInt32(clusterConnections),
		}}},
		UpstreamConnectionOptions: &clusterv3.UpstreamConnectionOptions{TcpKeepalive: &corev3.TcpKeepalive{
			KeepaliveProbes:   wrapperspb.UInt32(keepaliveProbes),
			KeepaliveTime:     wrapperspb.UInt32(uint32(keepaliveIdle / time.Second)),
			KeepaliveInterval: wrapperspb.UInt32(uint32(keepaliveInterval / time.Second)),
		}},
	}
	if device != "" {
		out.UpstreamBindConfig = &corev3.BindConfig{SocketOptions: boundTo(device)}
	}
	return out
}
