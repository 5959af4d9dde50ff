// This file decides the cluster of a connection, only from its TLS server name.

package resources

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

// idleTimeout is how long a connection may be silent. Quiet watches survive; keepalive
// detects dead peers.
const idleTimeout = 24 * time.Hour

// serverNameChains makes one chain for each server name, sorted by name. With one chain for each
// forward, a new name of a backend would drain the connections to its other names. Of forwards with
// the same name, the first one is used: Envoy would reject a listener with both. Envoy prefers an
// exact name to a wildcard.
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
			// Some clients send a name with its final dot, although RFC 6066 (section 3) excludes this.
			c.FilterChainMatch = &listenerv3.FilterChainMatch{ServerNames: []string{name, name + "."}}
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *listenerv3.FilterChain) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// opens reports whether connections with a server name may go to b. An external host is
// reachable only by its own name, whatever the plan says: not by another name, a wildcard,
// or without a name.
func opens(serverName string, b network.Backend) bool {
	return b.Kind != network.BackendExternal || serverName != "" && serverName == strings.ToLower(b.Host)
}

// newFilterChain returns a chain that forwards bytes unchanged to b, through b's HTTP proxy if it has
// one.
func newFilterChain(name string, b network.Backend) *listenerv3.FilterChain {
	_, attempts := dialing(b)
	p := &tcpproxyv3.TcpProxy{
		StatPrefix:         b.Name,
		ClusterSpecifier:   &tcpproxyv3.TcpProxy_Cluster{Cluster: ClusterName(b)},
		IdleTimeout:        durationpb.New(idleTimeout),
		MaxConnectAttempts: wrapperspb.UInt32(attempts),
	}
	if b.BootStep() != "" {
		reportBegin(p)
	}
	if b.HTTPProxy != "" {
		// CONNECT (RFC 9110, section 9.3.6) with HTTP/1.1, the cluster's default.
		p.TunnelingConfig = &tcpproxyv3.TcpProxy_TunnelingConfig{Hostname: net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))}
	}
	return tcpChain(name, p)
}

func tcpChain(name string, p *tcpproxyv3.TcpProxy) *listenerv3.FilterChain {
	return &listenerv3.FilterChain{
		Name: name,
		Filters: []*listenerv3.Filter{{
			Name:       "envoy.filters.network.tcp_proxy",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: Packed(p)},
		}},
	}
}

// ChainsOf returns the filter chains of l, with its default chain.
func ChainsOf(l *listenerv3.Listener) []*listenerv3.FilterChain {
	out := slices.Clone(l.GetFilterChains())
	if c := l.GetDefaultFilterChain(); c != nil {
		out = append(out, c)
	}
	return out
}

// ClustersOf returns the names of the clusters that l refers to, sorted and without duplicates.
func ClustersOf(l *listenerv3.Listener) []string {
	var out []string
	for _, c := range ChainsOf(l) {
		out = append(out, ClusterOf(c))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ClusterOf returns the name of the cluster of a chain that tcpChain made.
func ClusterOf(c *listenerv3.FilterChain) string {
	p, all := &tcpproxyv3.TcpProxy{}, c.GetFilters()
	if err := all[len(all)-1].GetTypedConfig().UnmarshalTo(p); err != nil {
		panic("resources: a chain always ends with a TCP proxy: " + err.Error())
	}
	return p.GetCluster()
}
