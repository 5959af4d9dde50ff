// This file decides which upstream servers are asked, and which names are not sent to them: those of
// the management cluster.

package answers

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/resolvconf"
)

// Servers returns the upstream servers for n's clients. It omits the VIPs of n, since forwarding to
// them would be a loop. Empty: none.
func Servers(n network.Network, r resolvconf.File) []netip.AddrPort {
	var servers []netip.AddrPort
	switch n.DNS.Upstreams.Mode {
	case network.UpstreamManagement:
		servers = r.Servers
	case network.UpstreamServers:
		servers = n.UpstreamServers()
	}
	return slices.DeleteFunc(slices.Clone(servers), func(s netip.AddrPort) bool {
		return s.Addr() == n.ServiceVIP || s.Addr() == n.NextHopVIP
	})
}

// OnNetwork reports whether edges reach an upstream server that the user named on the network of n, or
// through its gateway.
func OnNetwork(n network.Network, server netip.AddrPort) bool {
	way := n.Reach().FromEdge(server.Addr())
	return n.DNS.Upstreams.Mode == network.UpstreamServers && (way == network.OnNetwork || way == network.ThroughGateway)
}

// Internal returns the domains that are never forwarded to any server: those of the management cluster.
// The resolver of the management cluster is also not asked for reverse names of private addresses.
// Other servers are asked for these, except for addresses of the management cluster.
func Internal(n network.Network, r resolvconf.File) []string {
	domains := []string{"cluster.local", "svc"}
	for _, d := range r.Search {
		if cluster, ok := strings.CutPrefix(d, "svc."); ok && cluster != "" {
			domains = append(domains, cluster)
		}
	}
	switch n.DNS.Upstreams.Mode {
	case network.UpstreamManagement:
		domains = append(domains, privateReverse()...)
	case network.UpstreamServers:
		for _, p := range n.ReservedDestinations {
			domains = append(domains, reverseZones(p)...)
		}
	default:
		return nil
	}
	slices.Sort(domains)
	return slices.Compact(domains)
}

// privateReverse lists the reverse zones of private addresses (RFC 6303, sections 4.1, 4.2 and 4.4; RFC
// 7793; RFC 4193).
func privateReverse() []string {
	zones := []string{"10.in-addr.arpa", "168.192.in-addr.arpa", "127.in-addr.arpa", "254.169.in-addr.arpa", "d.f.ip6.arpa", "c.f.ip6.arpa"}
	for o := 16; o < 32; o++ {
		zones = append(zones, fmt.Sprintf("%d.172.in-addr.arpa", o))
	}
	for o := 64; o < 128; o++ {
		zones = append(zones, fmt.Sprintf("%d.100.in-addr.arpa", o))
	}
	for _, n := range []string{"8", "9", "a", "b"} {
		zones = append(zones, n+".e.f.ip6.arpa")
	}
	return zones
}
