// This file decides how Envoy dials a backend: through which device, and whether
// it checks the health of endpoints. A cluster depends only on the backend and
// the devices, so it never changes. Its endpoints are in endpoint.go.

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
	// connectTimeout of one attempt. All attempts together take less than the 10 s
	// that the load balancer of a node waits for its API server.
	connectTimeout = 3 * time.Second
	// clusterConnections is the limit for one backend. Envoy's default, 1,024, is
	// less than a cluster of 500 VMs needs.
	clusterConnections = 16_384
	// externalConnections is the limit for one external host. VMs that all pull
	// images at once must not use up maxConnections.
	externalConnections = 4_096
)

// VMs are checked by a TCP connection, since not every VM runs the server. A failed
// connection is retried at other endpoints (connectAttempts), so the checks can be
// slow. There may be hundreds of VMs.
const (
	checkInterval = 10 * time.Second
	checkTimeout  = 2 * time.Second
	// checkAgain is the interval while the state of a VM is about to change.
	checkAgain      = 2 * time.Second
	checksToFail    = 2
	checksToSucceed = 1
)

// clusterName is the backend's name, and its HTTP proxy if it has one. With another
// proxy it is another cluster, so the change is make-before-break.
func clusterName(b network.Backend) string {
	if b.HTTPProxy == "" {
		return b.Name
	}
	return b.Name + "@" + b.HTTPProxy
}

// newCluster dials VMs through the network's device, and everything else through
// the upstream device.
//
// It uses round robin and no affinity to a client: a konnectivity agent dials
// until it has reached every replica of the API server.
func newCluster(b network.Backend, o Options) *clusterv3.Cluster {
	device, connections := o.UpstreamDevice, uint32(clusterConnections)
	switch b.Kind {
	case network.BackendVMs:
		device = o.Device
	case network.BackendExternal:
		connections = externalConnections
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
	out.UpstreamBindConfig = &corev3.BindConfig{SocketOptions: append(boundTo(device), userTimeout())}
	if b.Kind == network.BackendVMs {
		checkHealth(out)
	}
	return out
}

// checkHealth excludes endpoints that do not accept connections.
func checkHealth(c *clusterv3.Cluster) {
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
	// By default Envoy dials all endpoints if many are unhealthy. Many always are.
	c.CommonLbConfig = &clusterv3.Cluster_CommonLbConfig{HealthyPanicThreshold: &typev3.Percent{Value: 0}}
	// Envoy must not dial an address that no VM has any more, even if it responds.
	c.IgnoreHealthOnHostRemoval = true
}
