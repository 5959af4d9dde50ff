// This file decides whom to ask and what never to ask them: what the pod's
// resolv.conf says, and which names belong to the management cluster itself. It
// reads no file.

package dns

import (
	"bufio"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// A Resolver is what a pod's /etc/resolv.conf says.
type Resolver struct {
	// Servers in their order, port 53.
	Servers []netip.AddrPort
	// Search domains without trailing dot.
	Search []string
}

// ParseResolver reads resolv.conf(5). What it does not know it leaves out, as
// resolvers do.
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

// Servers are whom n's clients may have asked, empty for nobody. Addresses of n
// itself are left out: who asks those asks us again.
func Servers(n network.Network, r Resolver) []netip.AddrPort {
	var servers []netip.AddrPort
	switch n.DNS.Upstreams.Mode {
	case network.UpstreamManagement:
		servers = r.Servers
	case network.UpstreamServers:
		servers = n.DNS.Upstreams.Servers
	}
	return slices.DeleteFunc(slices.Clone(servers), func(s netip.AddrPort) bool {
		return s.Addr() == n.ServiceAddress || s.Addr() == n.NextHop
	})
}

// Elsewhere are the domains that n's clients may not have asked: those inside
// the management cluster, where its resolver is asked. Servers that the user
// named are asked everything.
func Elsewhere(n network.Network, r Resolver) []string {
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

// privateReverse are the reverse zones of addresses that mean something else in
// every network (RFC 6303, sections 4.1, 4.2 and 4.4; RFC 7793; RFC 4193).
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
