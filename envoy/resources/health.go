// This file decides how Envoy finds the endpoints that can be used, and what it dials if there are
// none.

package resources

import (
	"net/http"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cldmnky/oooi/network"
)

// Envoy checks VMs with a TCP connection, since not every VM runs the backend's server. Checks are
// rare: there may be hundreds of VMs, and a failed connection is retried at other endpoints
// (connectAttempts).
const (
	checkInterval = 10 * time.Second
	checkTimeout  = 2 * time.Second
	// checkAgain is the interval while the state of a VM is about to change.
	checkAgain      = 2 * time.Second
	checksToFail    = 2
	checksToSucceed = 1
)

// Envoy asks an API server for its readiness. An endpoint that stops answering is unhealthy within
// readyFails * (readyInterval + readyTimeout), 3 s.
const (
	readyInterval  = 750 * time.Millisecond
	readyTimeout   = 750 * time.Millisecond
	readyFails     = 2
	readySucceeds  = 2
	readyPath      = "/readyz"
	readyTransport = "check"
)

const (
	// avoids is how long an endpoint is avoided after a failed dial. It grows with each failure in a
	// row, up to avoidsAtMost. Then one connection tries the endpoint.
	avoids       = 10 * time.Second
	avoidsAtMost = 30 * time.Second
)

// dialHealthy makes c dial the endpoints that can be used.
//
//	backend               how an endpoint becomes unhealthy        if all are unhealthy
//	the API server        GET /readyz; a failed connection         all are dialed
//	pods, external hosts  a failed connection                      all are dialed
//	VMs                   a TCP check                              none is dialed
//
// Only the API server is asked. The other backends may speak any protocol, and most of them log a
// connection that ends before the TLS handshake. So VMs' own connections detect a failed endpoint,
// and none of them waits for long: see podConnectTimeout.
func dialHealthy(c *clusterv3.Cluster, b network.Backend) {
	// Envoy must not dial a removed address, even if it responds.
	c.IgnoreHealthOnHostRemoval = true
	if b.Kind == network.BackendVMs {
		checkVMs(c)
		return
	}
	c.CommonLbConfig = &clusterv3.Cluster_CommonLbConfig{
		// Envoy's default is to dial all endpoints if half of them are unhealthy.
		HealthyPanicThreshold: &typev3.Percent{Value: 1},
		// Workers learn a new state of an endpoint immediately. The default is up to a second later.
		UpdateMergeWindow: durationpb.New(0),
	}
	c.OutlierDetection = avoidUndialed(avoids, avoidsAtMost)
	if b.IsAPI() {
		askReadiness(c)
	}
}

// avoidUndialed makes Envoy avoid an endpoint after one failed connection: for the time first,
// and longer after each further failure, up to the time atMost. An answer is not a failure,
// since a proxy may refuse one host, or fail to reach it.
func avoidUndialed(first, atMost time.Duration) *clusterv3.OutlierDetection {
	never := wrapperspb.UInt32(0)
	return &clusterv3.OutlierDetection{
		SplitExternalLocalOriginErrors: true,
		ConsecutiveLocalOriginFailure:  wrapperspb.UInt32(1),
		Interval:                       durationpb.New(first / 2),
		BaseEjectionTime:               durationpb.New(first),
		MaxEjectionTime:                durationpb.New(atMost),
		MaxEjectionPercent:             wrapperspb.UInt32(100),

		EnforcingConsecutive_5Xx:           never,
		EnforcingSuccessRate:               never,
		EnforcingLocalOriginSuccessRate:    never,
		EnforcingConsecutiveGatewayFailure: never,
	}
}

// askReadiness makes Envoy send GET /readyz to each endpoint over TLS. Each check opens a new
// connection: an existing one could still work where a new one fails. Envoy does not verify the
// certificate: VMs do, and the answer only decides which endpoint Envoy prefers. An API server that
// refuses anonymous clients counts as healthy. One that is not ready answers with status 500.
func askReadiness(c *clusterv3.Cluster) {
	name := &structpb.Struct{Fields: map[string]*structpb.Value{readyTransport: structpb.NewBoolValue(true)}}
	// Connections of VMs do not match this entry, so Envoy adds no TLS to them.
	c.TransportSocketMatches = []*clusterv3.Cluster_TransportSocketMatch{{
		Name:  readyTransport,
		Match: name,
		TransportSocket: &corev3.TransportSocket{
			Name:       "envoy.transport_sockets.tls",
			ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: Packed(&tlsv3.UpstreamTlsContext{})},
		},
	}}
	c.HealthChecks = []*corev3.HealthCheck{{
		Timeout:            durationpb.New(readyTimeout),
		Interval:           durationpb.New(readyInterval),
		UnhealthyInterval:  durationpb.New(readyInterval),
		NoTrafficInterval:  durationpb.New(readyInterval),
		UnhealthyThreshold: wrapperspb.UInt32(readyFails),
		HealthyThreshold:   wrapperspb.UInt32(readySucceeds),
		ReuseConnection:    wrapperspb.Bool(false),

		TransportSocketMatchCriteria: name,
		HealthChecker: &corev3.HealthCheck_HttpHealthCheck_{HttpHealthCheck: &corev3.HealthCheck_HttpHealthCheck{
			Host: network.APIService,
			Path: readyPath,
			ExpectedStatuses: []*typev3.Int64Range{
				{Start: http.StatusOK, End: http.StatusMultipleChoices},
				{Start: http.StatusBadRequest, End: http.StatusInternalServerError},
			},
		}},
	}}
}

// checkVMs makes Envoy exclude VMs that do not accept connections.
func checkVMs(c *clusterv3.Cluster) {
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
	// By default Envoy dials all endpoints if many are unhealthy. Here many are unhealthy at all
	// times.
	c.CommonLbConfig = &clusterv3.Cluster_CommonLbConfig{HealthyPanicThreshold: &typev3.Percent{Value: 0}}
}
