// This file decides how a backend is dialled: by which device, and whether those
// behind it are tried before a connection is. A cluster follows from the backend
// and the place alone, so it never changes while it is there; who stands behind
// it is decided in endpoint.go.

package envoy

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cldmnky/oooi/network"
)

const (
	// connectTimeout of one attempt. All attempts together are shorter than the 10 s
	// that a node's own load balancer waits for its API server.
	connectTimeout = 3 * time.Second
	// clusterConnections is how many connections one backend gets. Envoy's own
	// limit, 1,024, is less than what a cluster of 500 machines has open.
	clusterConnections = 16_384
	// outsideConnections is the same for what is outside: machines that pull images
	// all at once leave others their part of maxConnections.
	outsideConnections = 4_096
)

// Machines are tried by connecting, since not every one runs what is asked for.
// A connection that found nobody is tried at others too (connectAttempts), so
// this need not be fast, and there may be hundreds.
const (
	checkInterval = 10 * time.Second
	checkTimeout  = 2 * time.Second
	// checkAgain is the interval while a machine's state is about to change.
	checkAgain      = 2 * time.Second
	checksToFail    = 2
	checksToSucceed = 1
)

// clusterName is the backend's, and for one behind an HTTP proxy that too: it is
// dialled in another way, so it is another cluster, made before the first breaks.
func clusterName(b network.Backend) string {
	if b.HTTPProxy == "" {
		return b.Name
	}
	return b.Name + "@" + b.HTTPProxy
}

// newCluster dials b: machines by the device that they are on, everything else by
// the upstream device.
//
// Connections go to endpoints in turn and never by who asks: a konnectivity
// agent dials until it has met every replica of the API server.
func newCluster(b network.Backend, o Options) *clusterv3.Cluster {
	device, connections := o.UpstreamDevice, uint32(clusterConnections)
	switch b.Kind {
	case network.BackendMachines:
		device = o.Device
	case network.BackendOutside:
		connections = outsideConnections
	}
	out := &clusterv3.Cluster{
		Name:                          clusterName(b),
		ClusterDiscoveryType:          &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:              &clusterv3.Cluster_EdsClusterConfig{EdsConfig: overADS(nil)},
		ConnectTimeout:                durationpb.New(connectTimeout),
		LbPolicy:                      clusterv3.Cluster_ROUND_ROBIN,
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(bufferLimit),
		CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
			MaxConnections:     wrapperspb.UInt32(connections),
			MaxPendingRequests: wrapperspb.UInt32(connections),
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
	if b.Kind == network.BackendMachines {
		onlyThoseThatAnswer(out)
	}
	return out
}

// onlyThoseThatAnswer sends no connection to endpoints that don't accept one.
func onlyThoseThatAnswer(c *clusterv3.Cluster) {
	c.HealthChecks = []*corev3.HealthCheck{{
		Timeout:            durationpb.New(checkTimeout),
		Interval:           durationpb.New(checkInterval),
		UnhealthyInterval:  durationpb.New(checkInterval),
		NoTrafficInterval:  durationpb.New(checkInterval),
		IntervalJitter:     durationpb.New(checkTimeout),
		UnhealthyThreshold: wrapperspb.UInt32(checksToFail),
		HealthyThreshold:   wrapperspb.UInt32(checksToSucceed),

		UnhealthyEdgeInterval: durationpb.New(checkAgain),
		HealthChecker:         &corev3.HealthCheck_TcpHealthCheck_{TcpHealthCheck: &corev3.HealthCheck_TcpHealthCheck{}},
	}}
	// Otherwise Envoy sends to all where many are dead, and many always are.
	c.CommonLbConfig = &clusterv3.Cluster_CommonLbConfig{HealthyPanicThreshold: &typev3.Percent{Value: 0}}
	// An address that is not a machine's any more is not dialled, though somebody
	// answers there.
	c.IgnoreHealthOnHostRemoval = true
}
