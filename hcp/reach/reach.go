// Package reach decides which hosts nodes reach on networks without a gateway, in the same way for images, identity
// providers, imports and annotation allowed-hosts.
package reach

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/hcp/imageref"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
)

// A Set has the destinations that nodes reach. A destination is "host" or "host:port". If clients send it no TLS server
// name, it begins with imageref.PlainHTTP. The default port is 443, or 80 after imageref.PlainHTTP.
type Set struct {
	In network.Request
	// Records are the user's records. If the user set the address of the ingress, its names are records, too.
	Records   []network.Record
	Endpoints []network.Endpoint
	// Proxy returns the HTTP proxy that the hosted cluster uses for a URL, or nil.
	Proxy func(*url.URL) (*url.URL, error)
}

// With returns r with further endpoints.
func (r Set) With(endpoints []network.Endpoint) Set {
	r.Endpoints = slices.Concat(r.Endpoints, endpoints)
	return r
}

// WithoutIngress returns r without the endpoints of the ingress, and with records instead of the records of r.
func (r Set) WithoutIngress(records []network.Record) Set {
	r.Records, r.Endpoints = records, network.Without(r.Endpoints, func(e network.Endpoint) bool { return e.Origin == network.OriginApps })
	return r
}

// Reaches reports whether nodes can connect to destination at.
func (r Set) Reaches(at string) bool { return r.Directly(at) || r.Proxied(at) }

// Proxied reports whether nodes use the hosted cluster's HTTP proxy for destination at. It does not check that they reach the proxy.
func (r Set) Proxied(at string) bool { return r.ProxyFor(at) != nil }

// ProxyFor returns the HTTP proxy that nodes use for destination at, or nil.
func (r Set) ProxyFor(at string) *url.URL {
	host, port := HostPort(at)
	scheme := "https"
	if strings.HasPrefix(at, imageref.PlainHTTP) || port == network.PortHTTP {
		scheme = "http"
	}
	u, _ := r.Proxy(&url.URL{Scheme: scheme, Host: net.JoinHostPort(host, strconv.Itoa(int(port)))}) // On an error, u is nil.
	return u
}

// ProxiesOthers reports whether nodes use the HTTP proxy for images on hosts that no object names.
func (r Set) ProxiesOthers() bool { return r.Proxied("other.invalid") } // RFC 6761: no host has this name.

// Directly reports whether nodes can connect to destination at without an HTTP proxy.
func (r Set) Directly(at string) bool {
	return OnNetwork(r.In, at) || r.Published(at) || r.Recorded(at)
}

// Recorded reports whether a record has the host of destination at.
func (r Set) Recorded(at string) bool {
	host, _ := HostPort(at)
	return slices.ContainsFunc(r.Records, func(x network.Record) bool { return network.MatchesHost(strings.ToLower(x.Name), host) })
}

// Published reports whether edges forward connections for destination at to one of r's endpoints.
func (r Set) Published(at string) bool {
	host, port := HostPort(at)
	address := services.Address(host)
	return slices.ContainsFunc(r.Endpoints, func(e network.Endpoint) bool {
		named := e.Match == network.MatchAny || !strings.HasPrefix(at, imageref.PlainHTTP)
		return e.Port == port && (named && HasHost(e, host) || slices.Contains(e.Addresses, address))
	})
}

// AtEdges reports whether edges resolve the name in destination at to their own address, and forward no connections for at there.
func (r Set) AtEdges(at string) bool {
	host, _ := HostPort(at)
	return !r.Published(at) && slices.ContainsFunc(r.Endpoints, func(e network.Endpoint) bool {
		return !OnNetwork(r.In, e.LoadBalancer.String()) && slices.ContainsFunc(network.Lowered(e.Hosts), func(name string) bool {
			chosen := func(x network.Record) bool { // A record of the user has precedence.
				record := strings.ToLower(x.Name)
				return record == host || host != name && network.MatchesHost(record, host) && len(record) >= len(name)
			}
			return network.MatchesHost(name, host) && !slices.ContainsFunc(r.Records, chosen)
		})
	})
}

// Unresolved reports whether destination at has a name that edges do not know and for which they ask no other DNS server.
func (r Set) Unresolved(at string) bool {
	asked := slices.ContainsFunc(r.In.Networks, func(s network.NetworkRequest) bool { return IsIsolated(s) && !OwnNamesOnly(s) })
	return !asked && !r.Located(at)
}

// Located reports whether destination at is an address, or a name for which edges have one.
func (r Set) Located(at string) bool {
	host, _ := HostPort(at)
	published := slices.ContainsFunc(r.Endpoints, func(e network.Endpoint) bool { return HasHost(e, host) })
	return published || r.Recorded(at) || IsAddress(at)
}

// AddressesOf returns the destinations in all that are addresses, or names with records of the user, sorted.
func (r Set) AddressesOf(all []string) (out []netip.AddrPort) {
	for _, at := range all {
		host, port := HostPort(at)
		addresses := r.RecordOf(host).Addresses
		if a := services.Address(host); a.IsValid() {
			addresses = []netip.Addr{a}
		}
		for _, a := range addresses {
			out = append(out, netip.AddrPortFrom(a, port))
		}
	}
	slices.SortFunc(out, netip.AddrPort.Compare)
	return slices.Compact(out)
}

// RecordOf returns the closest name in the records for host, with all its addresses. It returns none if an endpoint has
// the name.
func (r Set) RecordOf(host string) (out network.Record) {
	if slices.ContainsFunc(r.Endpoints, func(e network.Endpoint) bool { return HasHost(e, host) }) {
		return out
	}
	for _, x := range r.Records {
		switch name := strings.ToLower(x.Name); {
		case strings.EqualFold(name, out.Name):
			out.Addresses = slices.Concat(out.Addresses, x.Addresses)
		case name == host, network.MatchesHost(name, host) && len(name) > len(out.Name) && !strings.EqualFold(out.Name, host):
			out = x
		}
	}
	return out
}

// Isolated reports whether VMs boot from a network without a gateway.
func (r Set) Isolated() bool { return slices.ContainsFunc(r.In.Networks, IsIsolated) }

// AsksNetwork reports whether VMs or edges ask a DNS server on a network without a gateway. It may know hosts there.
func (r Set) AsksNetwork() bool {
	return slices.ContainsFunc(r.In.Networks, func(s network.NetworkRequest) bool {
		up := s.Settings.Upstreams
		return IsIsolated(s) && up != nil && slices.ContainsFunc(up.Servers, func(at netip.AddrPort) bool { return network.Inside(s.CIDR, at.Addr()) })
	})
}

// OwnNamesOnly returns the networks with a gateway on which VMs resolve only names that edges know.
func (r Set) OwnNamesOnly() []network.NetworkRequest {
	return network.Without(r.In.Networks, func(s network.NetworkRequest) bool {
		return !s.Gateway.IsValid() || !OwnNamesOnly(s) || !s.Settings.Selects(network.ServiceDHCP) || s.UnservedNetworks
	})
}
