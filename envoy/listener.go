// This file decides the part of a listener that stays the same for as long as
// it is there: where it accepts connections, and by which device. Which backend
// a connection goes to is decided in filterchain.go.

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
	// bufferLimit in bytes, for each direction of a connection: what a slow reader
	// can make Envoy hold.
	bufferLimit = 64 << 10
	// helloTimeout is how long a machine may take to say its server name.
	helloTimeout = 5 * time.Second
)

// keepalive finds machines and backends that went without a word, and keeps
// connection tracking on the way from forgetting quiet tunnels.
const (
	keepaliveIdle     = 60 * time.Second
	keepaliveInterval = 15 * time.Second
	keepaliveProbes   = 4
)

// newListener accepts l's connections, for backends by their names, on device. It
// binds the address whether the device holds it already or not: it may be given
// to it later.
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
		// One socket that the workers share, so that whoever has the port already
		// is an error and does not silently get half of the connections; and each
		// worker gets as many, since a few connections last for days.
		EnableReusePort: wrapperspb.Bool(false),
		ConnectionBalanceConfig: &listenerv3.Listener_ConnectionBalanceConfig{
			BalanceType: &listenerv3.Listener_ConnectionBalanceConfig_ExactBalance_{ExactBalance: &listenerv3.Listener_ConnectionBalanceConfig_ExactBalance{}},
		},
		FilterChains: serverNameChains(l.Forwards, backends),
	}
	if b, ok := backends[l.Default]; ok && opens("", b) {
		out.DefaultFilterChain = newFilterChain("any", b)
	}
	if len(l.Forwards) > 0 {
		// Clients that wait for the server's first word would wait for the timeout.
		out.ListenerFilters = []*listenerv3.ListenerFilter{{
			Name:       "envoy.filters.listener.tls_inspector",
			ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: packed(&inspectorv3.TlsInspector{})},
		}}
		out.ListenerFiltersTimeout = durationpb.New(helloTimeout)
	}
	return out
}

// boundTo binds a socket to device before anything else, so that nothing by
// another device gets in or out. An empty device binds to none.
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

// keptAlive is keepalive for a listener's socket, from which accepted ones
// inherit it.
func keptAlive() []*corev3.SocketOption {
	option := func(level, name int64, value int64) *corev3.SocketOption {
		return &corev3.SocketOption{Level: level, Name: name, Value: &corev3.SocketOption_IntValue{IntValue: value}, State: corev3.SocketOption_STATE_PREBIND}
	}
	return []*corev3.SocketOption{
		option(unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1),
		option(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, int64(keepaliveIdle/time.Second)),
		option(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, int64(keepaliveInterval/time.Second)),
		option(unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepaliveProbes),
	}
}
