// This file decides which cluster a connection goes to, by its TLS server name.
// It never looks at anything else of a connection.

package envoy

import (
	"cmp"
	"net"
	"slices"
	"strconv"
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
// whole listener. An exact name goes before a wildcard, by Envoy itself.
func serverNameChains(forwards []network.Forward, backends map[string]network.Backend) []*listenerv3.FilterChain {
	var out []*listenerv3.FilterChain
	taken := map[string]bool{}
	for _, f := range forwards {
		for _, name := range f.ServerNames {
			name = strings.ToLower(name)
			b := backends[f.Backend]
			if taken[name] || !opens(name, b) {
				continue
			}
			taken[name] = true
			c := newFilterChain(name, b)
			c.FilterChainMatch = &listenerv3.FilterChainMatch{ServerNames: []string{name}}
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *listenerv3.FilterChain) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// opens says whether connections with a server name may go to b. What is outside
// is opened by its own name only, whatever a plan says: never by another, by a
// wildcard, or without one.
func opens(serverName string, b network.Backend) bool {
	return b.Kind != network.BackendOutside || serverName != "" && serverName == strings.ToLower(b.Host)
}

// newFilterChain carries bytes to b as they are, by way of its HTTP proxy where it
// has one.
func newFilterChain(name string, b network.Backend) *listenerv3.FilterChain {
	p := &tcpproxyv3.TcpProxy{
		StatPrefix:         b.Name,
		ClusterSpecifier:   &tcpproxyv3.TcpProxy_Cluster{Cluster: clusterName(b)},
		IdleTimeout:        durationpb.New(idleTimeout),
		MaxConnectAttempts: wrapperspb.UInt32(connectAttempts),
	}
	if b.HTTPProxy != "" {
		// CONNECT (RFC 9110, section 9.3.6), in HTTP/1.1, as the cluster speaks by
		// itself.
		p.TunnelingConfig = &tcpproxyv3.TcpProxy_TunnelingConfig{Hostname: net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))}
	}
	return &listenerv3.FilterChain{
		Name: name,
		Filters: []*listenerv3.Filter{{
			Name:       "envoy.filters.network.tcp_proxy",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: packed(p)},
		}},
	}
}
