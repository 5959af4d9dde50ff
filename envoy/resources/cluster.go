// This file decides how Envoy dials a backend. A cluster depends only on the backend and the devices,
// so it never changes.

package resources

import (
	"slices"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cldmnky/oooi/network"
)

const (
	// connectTimeout limits one attempt to dial. A connection fails after connectAttempts, each at
	// another endpoint if there is one. This takes less than the 10 s that the load balancer of a node
	// waits for its API server.
	connectTimeout  = 3 * time.Second
	connectAttempts = 3
	// externalConnectTimeout and externalConnectAttempts are for external hosts, which may be far away: a
	// satellite adds 600 ms. An address that stops answering delays a connection by one attempt, also
	// whenever Envoy tries it again.
	externalConnectTimeout  = 800 * time.Millisecond
	externalConnectAttempts = 8
	// podConnectTimeout and podConnectAttempts are for pods, which accept a connection within
	// milliseconds. The kernel would repeat a lost packet only after 1 s. An endpoint that stops
	// answering delays a connection by podConnectTimeout.
	podConnectTimeout  = 400 * time.Millisecond
	podConnectAttempts = 8
	// LongestStart is the longest time until a backend accepts a connection: Envoy asks the gate, then
	// dials.
	LongestStart = gateTimeout + connectAttempts*connectTimeout
	// clusterConnections is the limit for one backend. Envoy's default, 1,024, is too low for 500 VMs.
	clusterConnections = 16_384
	// externalConnections is the limit for one external host: VMs that all pull images must not use up
	// MaxConnections.
	externalConnections = 4_096
)

// ClusterName returns the backend's name, with its HTTP proxy if it has one: a change of the proxy
// is make-before-break.
func ClusterName(b network.Backend) string {
	if b.HTTPProxy == "" {
		return b.Name
	}
	return b.Name + "@" + b.HTTPProxy
}

// dialing returns the time limit of one attempt to connect to b, and the number of attempts.
func dialing(b network.Backend) (timeout time.Duration, attempts uint32) {
	switch b.Kind {
	case network.BackendPods:
		return podConnectTimeout, podConnectAttempts
	case network.BackendExternal:
		return externalConnectTimeout, externalConnectAttempts
	default:
		return connectTimeout, connectAttempts
	}
}

// newCluster returns a cluster that dials the healthy endpoints of b.
func newCluster(b network.Backend, o Options) *clusterv3.Cluster {
	out := newDialing(b, o)
	dialHealthy(out, b)
	return out
}

// newDialing returns a cluster that dials VMs through the network's device, and other backends
// through the upstream device. Endpoints are chosen by round robin, without affinity to a client: a
// konnectivity agent dials until it has reached every replica.
func newDialing(b network.Backend, o Options) *clusterv3.Cluster {
	device, connections := o.UpstreamDevice, uint32(clusterConnections)
	switch b.Kind {
	case network.BackendVMs:
		device = o.Device
	case network.BackendExternal:
		connections = externalConnections
	}
	timeout, _ := dialing(b)
	out := &clusterv3.Cluster{
		Name:                          ClusterName(b),
		ClusterDiscoveryType:          &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:              &clusterv3.Cluster_EdsClusterConfig{EdsConfig: overADS(nil)},
		ConnectTimeout:                durationpb.New(timeout),
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
	out.UpstreamBindConfig = &corev3.BindConfig{
		SocketOptions: slices.Concat(boundTo(device), []*corev3.SocketOption{userTimeout()}, socketBuffers()),
	}
	return out
}
