// This file decides which cluster a connection goes to, by its TLS server name.
// It never looks at anything else of a connection.

package envoy

import (
	"cmp"
	"slices"
	"strings"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cldmnky/oooi/network"
)

const (
	// idleTimeout is how long a connection may be without a byte: quiet watches and
	// tunnels last, and keepalive finds those that are dead.
	idleTimeout = 24 * time.Hour
	// connectAttempts to different endpoints before a connection is given up.
	connectAttempts = 3
)

// serverNameChains is one chain for each server name, in the names' order, and
// not one for each forward: Envoy drains the connections of a chain that
// changes, so a new name of a backend must not touch the chains of its others.
// Where a name is there twice, the first forward has it; Envoy would refuse the
// whole listener.
func serverNameChains(forwards []network.Forward) []*listenerv3.FilterChain {
	var out []*listenerv3.FilterChain
	taken := map[string]bool{}
	for _, f := range forwards {
		for _, name := range f.ServerNames {
			name = strings.ToLower(name)
			if taken[name] {
				continue
			}
			taken[name] = true
			c := newFilterChain(name, f.Backend)
			c.FilterChainMatch = &listenerv3.FilterChainMatch{ServerNames: []string{name}}
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *listenerv3.FilterChain) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// newFilterChain carries bytes to backend as they are.
func newFilterChain(name, backend string) *listenerv3.FilterChain {
	return &listenerv3.FilterChain{
		Name: name,
		Filters: []*listenerv3.Filter{{
			Name: "envoy.filters.network.tcp_proxy",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: packed(&tcpproxyv3.TcpProxy{
				StatPrefix:         backend,
				ClusterSpecifier:   &tcpproxyv3.TcpProxy_Cluster{Cluster: backend},
				IdleTimeout:        durationpb.New(idleTimeout),
				MaxConnectAttempts: wrapperspb.UInt32(connectAttempts),
			})},
		}},
	}
}
