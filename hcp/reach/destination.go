// This file reads destinations, and says how networks and endpoints relate to them.

package reach

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/hcp/imageref"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
)

// HasPrimary reports whether VMs boot from a requested network.
func HasPrimary(in network.Request) bool {
	return slices.ContainsFunc(in.Networks, func(s network.NetworkRequest) bool { return s.Primary })
}

// isIsolated reports whether VMs boot from the network of s, which has no gateway.
func IsIsolated(s network.NetworkRequest) bool { return s.Primary && !s.Gateway.IsValid() }

// OwnNamesOnly reports whether VMs that boot from s use only its edges as DNS servers, and these edges ask no other DNS
// server. Then nothing else can resolve *.apps.
func OwnNamesOnly(s network.NetworkRequest) bool {
	if !s.Primary || s.Settings.Services != nil && !slices.Contains(s.Settings.Services, network.ServiceDNS) {
		return false
	}
	if up := s.Settings.Upstreams; up != nil {
		return up.Mode == network.UpstreamNone
	}
	return !s.Gateway.IsValid()
}

// OnNetwork reports whether destination at is an address of a requested network. If VMs boot from networks without a
// gateway, all these VMs must be on a network with that address.
func OnNetwork(in network.Request, at string) bool {
	host, _ := HostPort(at)
	pools := nodePoolsAt(in, services.Address(host))
	return len(pools) > 0 && !slices.ContainsFunc(in.Networks, func(s network.NetworkRequest) bool { return IsIsolated(s) && !hasAll(pools, s) })
}

// OnOneNetwork reports whether destination at is an address of a requested network. Other VMs may not be on it.
func OnOneNetwork(in network.Request, at string) bool {
	host, _ := HostPort(at)
	return len(nodePoolsAt(in, services.Address(host))) > 0
}

// OnNetworkOf reports whether all VMs on s are on a requested network with address a.
func OnNetworkOf(in network.Request, s network.NetworkRequest, a netip.Addr) bool {
	return hasAll(nodePoolsAt(in, a), s)
}

// nodePoolsAt returns the NodePools whose VMs are on a requested network with address a.
func nodePoolsAt(in network.Request, a netip.Addr) map[string]bool {
	pools := map[string]bool{}
	for _, s := range in.Networks {
		if network.Inside(s.CIDR, a) {
			for _, name := range s.NodePools {
				pools[name] = true
			}
		}
	}
	return pools
}

func hasAll(pools map[string]bool, s network.NetworkRequest) bool {
	return !slices.ContainsFunc(s.NodePools, func(name string) bool { return !pools[name] })
}

// AnsweredByUser reports whether annotation dns-records has a record for host, such as for a mirror on the network.
func AnsweredByUser(s network.Settings, host string) bool {
	return slices.ContainsFunc(s.Records, func(r network.Record) bool { return network.MatchesHost(r.Name, host) })
}

// HasHost reports whether host, in lower case, is a host of e, or below a wildcard of e.
func HasHost(e network.Endpoint, host string) bool {
	return slices.ContainsFunc(e.Hosts, func(x string) bool { return network.MatchesHost(strings.ToLower(x), host) })
}

// HostPort returns the host and port of destination at (see Set). port is 0 if it is invalid.
func HostPort(at string) (host string, port uint16) {
	rest, plain := strings.CutPrefix(at, imageref.PlainHTTP)
	if host, number, err := net.SplitHostPort(rest); err == nil {
		return host, PortNumber(number)
	}
	if plain {
		return strings.Trim(rest, "[]"), network.PortHTTP
	}
	return strings.Trim(rest, "[]"), network.PortHTTPS
}

// PortNumber parses a port number. It returns 0 for invalid text.
func PortNumber(text string) uint16 {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}

// IsAddress reports whether the host of destination at is an IP address.
func IsAddress(at string) bool { host, _ := HostPort(at); return services.Address(host).IsValid() }

// WithoutScheme returns destinations as users write them.
func WithoutScheme(hosts []string) []string {
	var out []string
	for _, h := range hosts {
		out = append(out, strings.TrimPrefix(h, imageref.PlainHTTP))
	}
	return out
}

// Place returns what nodes dial: the address or the first host of e, with the port. Other hosts are for users.
func Place(e network.Endpoint) string {
	at := ""
	switch {
	case len(e.Addresses) > 0:
		at = e.Addresses[0].String()
	case len(e.Hosts) > 0:
		at = e.Hosts[0]
	}
	return net.JoinHostPort(at, strconv.Itoa(int(e.Port)))
}
