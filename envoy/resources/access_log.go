// This file decides which connections Envoy reports to oooi's socket (package accesslog), when they end or begin.
// The level is a runtime value and not part of a listener, so changing it resets no connection.

package resources

import (
	"time"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	dataaccesslogv3 "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	grpcv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/grpc/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	runtimev3 "github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	tracingv3 "github.com/envoyproxy/go-control-plane/envoy/type/tracing/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cldmnky/oooi/network"
)

const (
	// levels names the runtime layer and the resource with its values.
	levels = "levels"
	// levelAll and levelFailures are the keys of percentages of connections: 0 or 100.
	levelAll      = "access_log.all"
	levelFailures = "access_log.failures"

	accessLogCluster = "access-log"
	// reportInterval is how long a worker collects reports, unless they fill ReportBuffer first.
	reportInterval = time.Second
	// ReportBuffer is how many bytes of reports a worker sends at once, unless one report is longer.
	ReportBuffer = 16 << 10
)

// The custom tags of a report: the server name, and Envoy's response flags.
const (
	TagServerName = "server-name"
	TagFlags      = "flags"
)

// newRuntimes returns the runtime values for level.
func newRuntimes(level network.AccessLog) map[string]*runtimev3.Runtime {
	percent := func(on bool) *structpb.Value {
		if on {
			return structpb.NewNumberValue(100)
		}
		return structpb.NewNumberValue(0)
	}
	return map[string]*runtimev3.Runtime{levels: {Name: levels, Layer: &structpb.Struct{Fields: map[string]*structpb.Value{
		levelAll:      percent(level.Level() == network.AccessLogAll),
		levelFailures: percent(level.Level() == network.AccessLogFailures),
	}}}}
}

// newLayeredRuntime makes Envoy request the values of newRuntimes over ADS.
func newLayeredRuntime() *bootstrapv3.LayeredRuntime {
	return &bootstrapv3.LayeredRuntime{Layers: []*bootstrapv3.RuntimeLayer{{
		Name: levels,
		LayerSpecifier: &bootstrapv3.RuntimeLayer_RtdsLayer_{RtdsLayer: &bootstrapv3.RuntimeLayer_RtdsLayer{
			Name: levels, RtdsConfig: overADS(durationpb.New(0)),
		}},
	}}}
}

// newAccessLog returns an access log that reports each connection that ends, if the level includes it. It includes
// connections that match no filter chain. A report that oooi's socket does not accept in time is lost.
func newAccessLog() []*accesslogv3.AccessLog {
	return reporting(&accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_OrFilter{OrFilter: &accesslogv3.OrFilter{
		Filters: []*accesslogv3.AccessLogFilter{atLevel(levelAll), bothOf(atLevel(levelFailures), withFlags())},
	}}})
}

// reportBegin makes p report each connection when it has reached its backend, whatever the level is.
func reportBegin(p *tcpproxyv3.TcpProxy) {
	p.AccessLogOptions = &tcpproxyv3.TcpProxy_TcpAccessLogOptions{FlushAccessLogOnConnected: true}
	p.AccessLog = reporting(&accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_LogTypeFilter{LogTypeFilter: &accesslogv3.LogTypeFilter{
		Types: []dataaccesslogv3.AccessLogType{dataaccesslogv3.AccessLogType_TcpUpstreamConnected},
	}}})
}

// reporting returns an access log that reports the connections that pass filter.
func reporting(filter *accesslogv3.AccessLogFilter) []*accesslogv3.AccessLog {
	return []*accesslogv3.AccessLog{{
		Name:   "envoy.access_loggers.tcp_grpc",
		Filter: filter,
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: Packed(&grpcv3.TcpGrpcAccessLogConfig{
			CommonConfig: &grpcv3.CommonGrpcAccessLogConfig{
				LogName:             accessLogCluster,
				TransportApiVersion: corev3.ApiVersion_V3,
				GrpcService: &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
					EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: accessLogCluster},
				}},
				BufferFlushInterval: durationpb.New(reportInterval),
				BufferSizeBytes:     wrapperspb.UInt32(ReportBuffer),
				CustomTags:          []*tracingv3.CustomTag{valueTag(TagServerName, "%REQUESTED_SERVER_NAME%"), valueTag(TagFlags, "%RESPONSE_FLAGS%")},
			},
		})},
	}}
}

func atLevel(key string) *accesslogv3.AccessLogFilter {
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_RuntimeFilter{
		RuntimeFilter: &accesslogv3.RuntimeFilter{RuntimeKey: key, UseIndependentRandomness: true},
	}}
}

// withFlags returns a filter for connections with any of Envoy's response flags. These did not end normally.
func withFlags() *accesslogv3.AccessLogFilter {
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_ResponseFlagFilter{
		ResponseFlagFilter: &accesslogv3.ResponseFlagFilter{},
	}}
}

func bothOf(filters ...*accesslogv3.AccessLogFilter) *accesslogv3.AccessLogFilter {
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_AndFilter{
		AndFilter: &accesslogv3.AndFilter{Filters: filters},
	}}
}

func valueTag(name, format string) *tracingv3.CustomTag {
	return &tracingv3.CustomTag{Tag: name, Type: &tracingv3.CustomTag_Value{Value: format}}
}
