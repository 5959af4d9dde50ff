// This file decides how Envoy starts: its control plane, its limits and its counters. It depends on no
// plan.

package resources

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/config/metrics/v3"
	overloadv3 "github.com/envoyproxy/go-control-plane/envoy/config/overload/v3"
	connectionsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/downstream_connections/v3"
	heapv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/fixed_heap/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	// drainTime is how many seconds a connection survives the removal of its listener or
	// filter chain. Envoy keeps both for that time, even without connections.
	drainTime = "600"
	// anyone is the mode of Envoy's sockets: containers may run as different users. The directory keeps
	// others out.
	anyone = 0o666

	// Both are fractions of the heap's limit. Above shrinkAbove, Envoy returns memory to the kernel. Above
	// stopAbove, it accepts no connection.
	shrinkAbove, stopAbove = 0.85, 0.95

	xdsCluster = "xds"
)

// Workers is how many worker threads an Envoy has. The connections are spread over them.
const Workers = 2

// Arguments returns the command line of an Envoy named node that gets its resources from the server in
// dirs and observes limits. Equal inputs give equal arguments. Every process that can enter dirs can
// use the sockets in them.
func Arguments(dirs Dirs, node string, limits Limits) []string {
	return []string{
		"--config-yaml", string(Bootstrap(dirs, node, limits)),
		"--disable-hot-restart",
		"--concurrency", strconv.Itoa(Workers),
		"--drain-time-s", drainTime,
		"--log-level", "warning",
	}
}

// Bootstrap returns Envoy's initial configuration, as JSON for --config-yaml.
func Bootstrap(dirs Dirs, node string, limits Limits) []byte {
	b, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(newBootstrap(dirs, node, limits))
	if err != nil {
		panic("resources: a bootstrap is always JSON: " + err.Error())
	}
	// protojson varies its white space between builds on purpose.
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		panic("resources: " + err.Error())
	}
	return out.Bytes()
}

func newBootstrap(dirs Dirs, node string, limits Limits) *bootstrapv3.Bootstrap {
	return &bootstrapv3.Bootstrap{
		Node:  &corev3.Node{Id: node, Cluster: "oooi"},
		Admin: &bootstrapv3.Admin{Address: pipe(dirs.Admin(), anyone), IgnoreGlobalConnLimit: true},
		DynamicResources: &bootstrapv3.Bootstrap_DynamicResources{
			AdsConfig: &corev3.ApiConfigSource{
				ApiType:                   corev3.ApiConfigSource_DELTA_GRPC,
				TransportApiVersion:       corev3.ApiVersion_V3,
				SetNodeOnFirstMessageOnly: true,
				GrpcServices: []*corev3.GrpcService{{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
					EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: xdsCluster, RetryPolicy: reconnecting()},
				}}},
			},
			// Zero: wait for the first response without a limit. After a timeout Envoy would report that it is
			// ready, without a listener.
			CdsConfig: overADS(durationpb.New(0)),
			LdsConfig: overADS(durationpb.New(0)),
		},
		StaticResources: &bootstrapv3.Bootstrap_StaticResources{Clusters: []*clusterv3.Cluster{
			newServerCluster(xdsCluster, dirs.XDS()), newServerCluster(accessLogCluster, dirs.AccessLog()),
			newServerCluster(gateCluster, dirs.Gate()),
		}},
		LayeredRuntime: newLayeredRuntime(),
		StatsConfig:    newStatsConfig(),
		// Counters are read only through the admin interface.
		StatsFlush:      &bootstrapv3.Bootstrap_StatsFlushOnAdmin{StatsFlushOnAdmin: true},
		Watchdogs:       newWatchdogs(),
		OverloadManager: newOverloadManager(limits),
	}
}

// newOverloadManager returns limits for the connections to all ports except those of the API server,
// which have their own limit (see newListener). Near the limit of memory, the limited ports accept no
// connection.
func newOverloadManager(limits Limits) *overloadv3.OverloadManager {
	out := &overloadv3.OverloadManager{ResourceMonitors: []*overloadv3.ResourceMonitor{{
		Name: "envoy.resource_monitors.global_downstream_max_connections",
		ConfigType: &overloadv3.ResourceMonitor_TypedConfig{TypedConfig: Packed(
			&connectionsv3.DownstreamConnectionsConfig{MaxActiveDownstreamConnections: int64(limits.Others())})},
	}}}
	if limits.Heap == 0 {
		return out
	}
	const heap = "envoy.resource_monitors.fixed_heap"
	out.ResourceMonitors = append(out.ResourceMonitors, &overloadv3.ResourceMonitor{
		Name:       heap,
		ConfigType: &overloadv3.ResourceMonitor_TypedConfig{TypedConfig: Packed(&heapv3.FixedHeapConfig{MaxHeapSizeBytes: limits.Heap})},
	})
	for _, a := range []struct {
		action string
		above  float64
	}{{"shrink_heap", shrinkAbove}, {"stop_accepting_connections", stopAbove}} {
		out.Actions = append(out.Actions, &overloadv3.OverloadAction{
			Name: "envoy.overload_actions." + a.action,
			Triggers: []*overloadv3.Trigger{{Name: heap, TriggerOneof: &overloadv3.Trigger_Threshold{
				Threshold: &overloadv3.ThresholdTrigger{Value: a.above}}}},
		})
	}
	return out
}

// newWatchdogs makes each thread report every few seconds that it is not stuck. A watchdog only counts.
// With the default, ten times a second, an idle Envoy uses 1.9 ms of CPU time a second, with this
// setting 0.1 ms.
func newWatchdogs() *bootstrapv3.Watchdogs {
	w := &bootstrapv3.Watchdog{MissTimeout: durationpb.New(20 * time.Second), MegamissTimeout: durationpb.New(time.Minute)}
	return &bootstrapv3.Watchdogs{MainThreadWatchdog: w, WorkerWatchdog: w}
}

// reconnecting returns a limit for how long Envoy waits before it connects to a server again. By
// default it waits up to 30 s, and would miss new endpoints meanwhile.
func reconnecting() *corev3.RetryPolicy {
	return &corev3.RetryPolicy{RetryBackOff: &corev3.BackoffStrategy{
		BaseInterval: durationpb.New(100 * time.Millisecond),
		MaxInterval:  durationpb.New(time.Second),
	}}
}

// newServerCluster returns a static cluster with a server of oooi on a Unix socket.
func newServerCluster(name, socket string) *clusterv3.Cluster {
	http2 := &httpv3.HttpProtocolOptions{UpstreamProtocolOptions: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_{
		ExplicitHttpConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig{
			ProtocolConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
				Http2ProtocolOptions: &corev3.Http2ProtocolOptions{}}},
	}}
	return &clusterv3.Cluster{
		Name:                          name,
		ClusterDiscoveryType:          &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		ConnectTimeout:                durationpb.New(connectTimeout),
		TypedExtensionProtocolOptions: map[string]*anypb.Any{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": Packed(http2)},
		// All connections of an Envoy may ask the gate at the same time.
		CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
			MaxRequests: wrapperspb.UInt32(MaxConnections), MaxPendingRequests: wrapperspb.UInt32(MaxConnections),
		}}},
		LoadAssignment: &endpointv3.ClusterLoadAssignment{
			ClusterName: name,
			Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: pipe(socket, 0)}},
			}}}},
		},
	}
}

// StatsOfBackend returns the counters of one cluster that Envoy keeps.
func StatsOfBackend() []string {
	return []string{
		"upstream_cx_total", "upstream_cx_active", "upstream_cx_overflow", "upstream_cx_connect_fail", "upstream_cx_connect_timeout",
		"upstream_cx_none_healthy", "membership_total", "membership_healthy",
	}
}

// StatsOfListener returns the counters of one listener that Envoy keeps.
func StatsOfListener() []string {
	return []string{
		"downstream_cx_total", "downstream_cx_active", "downstream_cx_overflow", "downstream_global_cx_overflow",
		"downstream_pre_cx_timeout", "no_filter_chain_match",
	}
}

// newStatsConfig selects the counters that show whether and why connections fail. Envoy has some
// hundreds of other counters for each cluster and listener.
func newStatsConfig() *metricsv3.StatsConfig {
	var kept []*matcherv3.StringMatcher
	for _, prefix := range []string{"server.", "listener_manager.", "cluster_manager.", "control_plane.", "overload.", "ratelimit."} {
		kept = append(kept, &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: prefix}})
	}
	for _, suffix := range slices.Concat(StatsOfListener(), StatsOfBackend(), []string{"limited_connections", "downstream_cx_no_route"}) {
		kept = append(kept, &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Suffix{Suffix: "." + suffix}})
	}
	return &metricsv3.StatsConfig{
		UseAllDefaultTags: wrapperspb.Bool(false),
		StatsMatcher: &metricsv3.StatsMatcher{StatsMatcher: &metricsv3.StatsMatcher_InclusionList{
			InclusionList: &matcherv3.ListStringMatcher{Patterns: kept},
		}},
	}
}

// overADS returns a source of resources over the stream that all types share. If timeout is nil, it is Envoy's
// default.
func overADS(timeout *durationpb.Duration) *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
		InitialFetchTimeout:   timeout,
	}
}

// pipe returns the address of a Unix socket. Mode 0 is the default of the process.
func pipe(path string, mode uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: path, Mode: mode}}}
}

// Packed returns m, marshaled deterministically, so that versions hashed from it are stable.
func Packed(m proto.Message) *anypb.Any {
	a := &anypb.Any{}
	if err := anypb.MarshalFrom(a, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		panic("resources: a message always packs: " + err.Error())
	}
	return a
}
