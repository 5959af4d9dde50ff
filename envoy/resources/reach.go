// This file decides how an edge checks through Envoy that it reaches the hosted API server. The
// check uses a listener on a Unix socket, which VMs cannot use, and its cluster.

package resources

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	leastrequestv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cldmnky/oooi/network"
)

// reach names the listener and its cluster. It differs from the names of a plan's listeners and
// backends, which contain a colon.
const reach = "reach"

const (
	// reachConnectTimeout limits one attempt: an endpoint that does not answer must not delay a
	// check.
	reachConnectTimeout = 250 * time.Millisecond
	// reachAvoids is how long an endpoint is avoided after a failed dial, unless all are.
	reachAvoids = 5 * time.Second
	// reachIdleTimeout is how long a check's connection may be silent. Then its worker closes it,
	// unless the worker hangs.
	reachIdleTimeout = 2 * time.Second
)

// newReachListener returns a listener that accepts the checks. If as many connections as Workers
// are opened together, each worker gets one. VMs that use up the limits for their connections must
// not make the edge look broken, so this listener has no limit.
func newReachListener(socket string) *listenerv3.Listener {
	return &listenerv3.Listener{
		Name:                          reach,
		StatPrefix:                    reach,
		Address:                       pipe(socket, anyone),
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(bufferLimit),
		EnableReusePort:               wrapperspb.Bool(false),
		ConnectionBalanceConfig:       exactBalance(),
		IgnoreGlobalConnLimit:         true,
		BypassOverloadManager:         true,
		DefaultFilterChain: tcpChain(reach, &tcpproxyv3.TcpProxy{
			StatPrefix:         reach,
			ClusterSpecifier:   &tcpproxyv3.TcpProxy_Cluster{Cluster: reach},
			IdleTimeout:        durationpb.New(reachIdleTimeout),
			MaxConnectAttempts: wrapperspb.UInt32(connectAttempts),
		}),
	}
}

// newReachCluster returns a cluster that dials the endpoints of b as newDialing does. It has limits
// and state of its own, so VMs do not change the result of a check. One broken endpoint of several
// fails checks for a moment at most. If it does not accept connections, it is avoided. If it
// accepts and never answers, it has the most open checks, so the next check dials another.
func newReachCluster(b network.Backend, o Options) *clusterv3.Cluster {
	out := newDialing(b, o)
	out.Name, out.ConnectTimeout = reach, durationpb.New(reachConnectTimeout)
	out.LoadBalancingPolicy = &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{{
		TypedExtensionConfig: &corev3.TypedExtensionConfig{
			Name:        "envoy.load_balancing_policies.least_request",
			TypedConfig: Packed(&leastrequestv3.LeastRequest{SelectionMethod: leastrequestv3.LeastRequest_FULL_SCAN}),
		},
	}}}
	out.OutlierDetection = avoidUndialed(reachAvoids, reachAvoids)
	out.CommonLbConfig = &clusterv3.Cluster_CommonLbConfig{HealthyPanicThreshold: &typev3.Percent{Value: 1}}
	return out
}
