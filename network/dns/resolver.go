// This file decides the upstream servers, and which names are never sent to them: those
// of the management cluster. It parses resolv.conf but reads no file.

package dns

import (
	"bufio"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// A Resolver holds the content of a pod's /etc/resolv.conf.
type Resolver struct {
	// Servers in their order, port 53.
	Servers []netip.AddrPort
	// Search domains without trailing dot.
	Search []string
}

// ParseResolver parses resolv.conf(5). It ignores unknown lines, as resolvers do.
func ParseResolver(text string) Resolver {
	var r Resolver
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 2 {
			continue
		}
		switch words[0] {
		case "nameserver":
			if a, err := netip.ParseAddr(words[1]); err == nil {
				r.Servers = append(r.Servers, netip.AddrPortFrom(a, 53))
			}
		case "search", "domain":
			r.Search = nil
			for _, d := range words[1:] {
				r.Search = append(r.Search, strings.ToLower(strings.TrimSuffix(d, ".")))
			}
		}
	}
	return r
}

// Servers returns the upstream servers for n's clients; empty: none. It omits the
// addresses of n itself, which would be a loop, and those that edges must not dial.
func Servers(n network.Network, r Resolver) []netip.AddrPort {
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

// Internal returns the domains that are never forwarded: those of the management
// cluster, if its resolver is the upstream. Servers that the user named get all
// questions.
func Internal(n network.Network, r Resolver) []string {
	if n.DNS.Upstreams.Mode != network.UpstreamManagement {
		return nil
	}
	domains := []string{"cluster.local", "svc"}
	for _, d := range r.Search {
		if cluster, ok := strings.CutPrefix(d, "svc."); ok && cluster != "" {
			domains = append(domains, cluster)
		}
	}
	slices.Sort(domains)
	return append(slices.Compact(domains), privateReverse()...)
}

// privateReverse lists the reverse zones of private addresses (RFC 6303, sections 4.1,
// 4.2 and 4.4; RFC 7793; RFC 4193).
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
