// This file decides the fixed part of a listener: where it accepts connections, and
// on which device. The backend of a connection is decided in filterchain.go.

package envoy

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	inspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cldmnky/oooi/network"
)

const (
	// bufferLimit in bytes for each direction of a connection. It bounds the memory
	// that a slow reader can use.
	bufferLimit = 64 << 10
	// helloTimeout is how long a client may take to send its server name.
	helloTimeout = 5 * time.Second
)

// keepalive detects peers that are gone, and keeps idle tunnels alive in the
// connection tracking of routers.
const (
	keepaliveIdle     = 60 * time.Second
	keepaliveInterval = 15 * time.Second
	keepaliveProbes   = 4
	// unansweredLimit is how long a peer may leave data unacknowledged, or its window closed
	// (TCP_USER_TIMEOUT). The kernel's own limit is 15 minutes. It equals what keepalive grants an
	// idle peer, and a failover or a live migration takes less.
	unansweredLimit = keepaliveIdle + keepaliveProbes*keepaliveInterval
)

// newListener accepts the connections of l on device, for backends by name. It binds
// the address even if the device does not have it yet.
func newListener(l network.Listener, backends map[string]network.Backend, device string) *listenerv3.Listener {
	out := &listenerv3.Listener{
		Name: l.Name(),
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address:       l.Address.String(),
			PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(l.Port)},
		}}},
		Freebind:                      wrapperspb.Bool(true),
		SocketOptions:                 append(boundTo(device), keptAlive()...),
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(bufferLimit),
		// The workers share one socket. So a second process on the port is an error
		// and does not get half of the connections silently. Exact balance gives each
		// worker the same number, since some connections last for days.
		EnableReusePort:         wrapperspb.Bool(false),
		ConnectionBalanceConfig: exactBalance(),
		FilterChains:            serverNameChains(l.Forwards, backends),
	}
	if b, ok := backends[l.Default]; ok && opens("", b) {
		out.DefaultFilterChain = newFilterChain("any", b)
	}
	if len(l.Forwards) > 0 {
		// A client that waits for the server to speak first would wait for the timeout.
		out.ListenerFilters = []*listenerv3.ListenerFilter{{
			Name:       "envoy.filters.listener.tls_inspector",
			ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: packed(&inspectorv3.TlsInspector{})},
		}}
		out.ListenerFiltersTimeout = durationpb.New(helloTimeout)
	}
	return out
}

// exactBalance gives each new connection to the worker with the fewest.
func exactBalance() *listenerv3.Listener_ConnectionBalanceConfig {
	return &listenerv3.Listener_ConnectionBalanceConfig{
		BalanceType: &listenerv3.Listener_ConnectionBalanceConfig_ExactBalance_{ExactBalance: &listenerv3.Listener_ConnectionBalanceConfig_ExactBalance{}},
	}
}

// boundTo binds a socket to device, so that no packet uses another device. An empty
// device means no restriction.
func boundTo(device string) []*corev3.SocketOption {
	if device == "" {
		return nil
	}
	return []*corev3.SocketOption{{
		Level: unix.SOL_SOCKET,
		Name:  unix.SO_BINDTODEVICE,
		Value: &corev3.SocketOption_BufValue{BufValue: append([]byte(device), 0)},
		State: corev3.SocketOption_STATE_PREBIND,
	}}
}

// keptAlive is keepalive for a listener's socket. Accepted sockets inherit it.
func keptAlive() []*corev3.SocketOption {
	return []*corev3.SocketOption{
		socketOption(unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1),
		socketOption(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, int64(keepaliveIdle/time.Second)),
		socketOption(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, int64(keepaliveInterval/time.Second)),
		socketOption(unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepaliveProbes),
		userTimeout(),
	}
}

// userTimeout closes a connection whose peer does not take data for unansweredLimit.
func userTimeout() *corev3.SocketOption {
	return socketOption(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int64(unansweredLimit/time.Millisecond))
}

func socketOption(level, name, value int64) *corev3.SocketOption {
	return &corev3.SocketOption{Level: level, Name: name, Value: &corev3.SocketOption_IntValue{IntValue: value}, State: corev3.SocketOption_STATE_PREBIND}
}
