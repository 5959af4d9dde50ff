// This file decides the fixed part of a listener. File filterchain.go decides the backend of a connection.

package resources

import (
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	inspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	limitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/connection_limit/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cldmnky/oooi/network"
)

const (
	// bufferLimit is the buffer in bytes for each direction of a connection. It bounds the memory that a slow reader can
	// use.
	bufferLimit = 64 << 10
	// usualHello in bytes is enough for most ClientHellos. Envoy doubles the buffer for a larger one, up to 16 KiB, which
	// is the default for each connection.
	usualHello = 2 << 10
	// helloTimeout is how long a client may take to send its server name.
	helloTimeout = 5 * time.Second
	// sendBufferSize and receiveBufferSize in bytes are the buffers of a socket. The default of net.core.rmem_max, 208
	// KiB, permits both.
	sendBufferSize, receiveBufferSize = 128 << 10, 208 << 10
)

// keepalive detects peers that are gone, and keeps idle tunnels in the connection tracking of routers.
const (
	keepaliveIdle     = 60 * time.Second
	keepaliveInterval = 15 * time.Second
	keepaliveProbes   = 4
	// unansweredLimit is how long a peer may leave data unacknowledged, or its window closed (TCP_USER_TIMEOUT). The
	// kernel's default is 15 minutes. unansweredLimit equals the time that keepalive grants an idle peer. A failover
	// or a live migration takes less.
	unansweredLimit = keepaliveIdle + keepaliveProbes*keepaliveInterval
)

// newListener returns a listener that accepts the connections of l on o.Device. backends has the backends by name. The
// listener binds the address even before the device has it. Parameter reserved is the number of connections that only
// this listener may use. Zero: it shares the limit of all others.
func newListener(l network.Listener, backends map[string]network.Backend, o Options, reserved uint32) *listenerv3.Listener {
	out := &listenerv3.Listener{
		Name: l.Name(),
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address:       l.Address.String(),
			PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(l.Port)},
		}}},
		Freebind:                      wrapperspb.Bool(true),
		SocketOptions:                 slices.Concat(boundTo(o.Device), keptAlive(), socketBuffers()),
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(bufferLimit),
		// The workers share one socket. Exact balance gives each worker the same number, since some connections last for
		// days.
		EnableReusePort:         wrapperspb.Bool(false),
		ConnectionBalanceConfig: exactBalance(),
		FilterChains:            serverNameChains(l.Forwards, backends),
		AccessLog:               newAccessLog(),
		// A worker handles the gate's answers between two connections. By default it first accepts all waiting ones: a whole
		// burst before the gate's first answer.
		MaxConnectionsToAcceptPerSocketEvent: wrapperspb.UInt32(1),
	}
	if b, ok := backends[l.Default]; ok && opens("", b) {
		out.DefaultFilterChain = newFilterChain("any", b)
		if reserved > 0 {
			reserve(out, reserved)
		}
	}
	if o.Limits.PerSource > 0 {
		askGate(out)
		// A process of the same user may listen, too, and gets the connections that the kernel resets. See Gate.Reset.
		out.SocketOptions = append(out.SocketOptions, socketOption(levelSocket, reusePort, 1))
	}
	if len(l.Forwards) > 0 {
		// A client that waits for the server to speak first is cut off at the timeout.
		out.ListenerFilters = []*listenerv3.ListenerFilter{{
			Name: "envoy.filters.listener.tls_inspector",
			ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: Packed(&inspectorv3.TlsInspector{
				InitialReadBufferSize: wrapperspb.UInt32(usualHello),
			})},
		}}
		out.ListenerFiltersTimeout = durationpb.New(helloTimeout)
	}
	return out
}

// reserve gives l connections of its own, which other listeners cannot use up, and limits l to that number.
func reserve(l *listenerv3.Listener, connections uint32) {
	l.IgnoreGlobalConnLimit, l.BypassOverloadManager = true, true
	limit := &listenerv3.Filter{
		Name: "envoy.filters.network.connection_limit",
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: Packed(&limitv3.ConnectionLimit{
			StatPrefix: l.Name, MaxConnections: wrapperspb.UInt64(uint64(connections)),
		})},
	}
	l.DefaultFilterChain.Filters = append([]*listenerv3.Filter{limit}, l.DefaultFilterChain.Filters...)
}

// exactBalance makes Envoy give each new connection to the worker with the fewest connections.
func exactBalance() *listenerv3.Listener_ConnectionBalanceConfig {
	return &listenerv3.Listener_ConnectionBalanceConfig{
		BalanceType: &listenerv3.Listener_ConnectionBalanceConfig_ExactBalance_{ExactBalance: &listenerv3.Listener_ConnectionBalanceConfig_ExactBalance{}},
	}
}

// boundTo returns the option that binds a socket to device. If device is empty, there is no restriction.
func boundTo(device string) []*corev3.SocketOption {
	if device == "" {
		return nil
	}
	return []*corev3.SocketOption{{
		Level: levelSocket,
		Name:  bindToDevice,
		Value: &corev3.SocketOption_BufValue{BufValue: append([]byte(device), 0)},
		State: corev3.SocketOption_STATE_PREBIND,
	}}
}

// keptAlive returns the keepalive options for a listener's socket. Accepted sockets inherit it.
func keptAlive() []*corev3.SocketOption {
	return []*corev3.SocketOption{
		socketOption(levelSocket, keepAlive, 1),
		socketOption(levelTCP, tcpKeepIdle, int64(keepaliveIdle/time.Second)),
		socketOption(levelTCP, tcpKeepEach, int64(keepaliveInterval/time.Second)),
		socketOption(levelTCP, tcpKeepCount, keepaliveProbes),
		userTimeout(),
	}
}

// socketBuffers returns options that bound the memory of one socket in the kernel. The defaults allow megabytes.
// The kernel doubles both values, for its own overhead.
func socketBuffers() []*corev3.SocketOption {
	return []*corev3.SocketOption{
		socketOption(levelSocket, sendBuffer, sendBufferSize),
		socketOption(levelSocket, receiveBuffer, receiveBufferSize),
	}
}

// userTimeout returns the option that closes a connection whose peer does not accept data for unansweredLimit.
func userTimeout() *corev3.SocketOption {
	return socketOption(levelTCP, tcpUserTimeout, int64(unansweredLimit/time.Millisecond))
}

func socketOption(level, name, value int64) *corev3.SocketOption {
	return &corev3.SocketOption{Level: level, Name: name, Value: &corev3.SocketOption_IntValue{IntValue: value}, State: corev3.SocketOption_STATE_PREBIND}
}
