// This file decides how VMs and edges of a network reach an address. It does not know whether a host has the address,
// or whether a server listens there.

package network

import (
	"net/netip"
	"slices"
)

// A Way is how an address is reached. The zero value is Unreachable.
type Way string

const (
	// Unreachable: no packet arrives there.
	Unreachable Way = ""
	// OnNetwork: the address belongs to a host on the network, or on another network of the same VMs.
	OnNetwork Way = "network"
	// AtEdges: the edges hold the address. Only their own servers answer there.
	AtEdges Way = "edges"
	// ThroughGateway: the gateway that the user set forwards to the address.
	ThroughGateway Way = "gateway"
	// InCluster: the address is inside the hosted cluster, and its nodes route to it, or have it themselves.
	InCluster Way = "cluster"
	// Unknown: the VMs are also on networks whose addresses are unknown, and may reach the address there.
	Unknown Way = "unknown"
	// ThroughPods: edges reach the address through the pod network of the management cluster.
	ThroughPods Way = "pods"
)

// A Reach has the facts that decide how VMs and edges of one network reach an address.
type Reach struct {
	// CIDR of the network. Zero: unknown, so nothing is on the network.
	CIDR netip.Prefix
	// Held are the addresses that edges hold, in the CIDR or published.
	Held []netip.Addr
	// Gateway is the router that the user set. Zero: none.
	Gateway netip.Addr
	// Clients are behind the gateway, and edges have routes to them through it.
	Clients []netip.Prefix
	// Links are the CIDRs of other networks that all VMs of this one are on.
	Links []netip.Prefix
	// Unserved is true if all VMs are also on networks whose addresses are unknown.
	Unserved        bool
	InHostedCluster []netip.Prefix
	// NodeAPI is an address that each VM has itself. Zero: unknown.
	NodeAPI netip.Addr
}

// Reach returns the Reach of n. Links, Unserved, InHostedCluster and NodeAPI are not set, because the plan does not have them.
func (n Network) Reach() Reach {
	r := Reach{CIDR: n.CIDR, Held: slices.Concat(n.HeldAddresses(), n.PublishedAddresses), Clients: n.ClientNetworks}
	if n.Primary && n.DHCP.Router != n.NextHopVIP {
		r.Gateway = n.DHCP.Router
	}
	return r
}

// FromVM returns how VMs reach a. An address outside all networks is reached through the gateway, if there is one.
// Blocks of NoDestinations are unreachable, except the single addresses at which a cloud answers.
func (r Reach) FromVM(a netip.Addr) Way {
	switch {
	case !a.Is4() || special(a):
		return Unreachable
	case a == r.NodeAPI:
		return InCluster
	case slices.Contains(r.Held, a):
		return AtEdges
	case r.CIDR.Contains(a):
		return hostOn(r.CIDR, a)
	case AnyContains(r.InHostedCluster, a):
		return InCluster
	case AnyContains(r.Links, a):
		return hostOn(r.Links[slices.IndexFunc(r.Links, func(p netip.Prefix) bool { return p.Contains(a) })], a)
	case r.Gateway.IsValid():
		return ThroughGateway
	case r.Unserved:
		return Unknown
	}
	return Unreachable
}

// FromEdge returns how edges reach a: on the network if it is in the CIDR, through the gateway if it
// is in a client network, else through the pod network. Edges have no interface on other networks.
func (r Reach) FromEdge(a netip.Addr) Way {
	switch {
	case !a.Is4() || special(a) || slices.Contains(r.Held, a):
		return Unreachable
	case r.CIDR.Contains(a):
		return hostOn(r.CIDR, a)
	case AnyContains(r.Clients, a):
		return ThroughGateway
	}
	return ThroughPods
}

// hostOn returns OnNetwork if a is a host address of p, and not its network or broadcast address.
func hostOn(p netip.Prefix, a netip.Addr) Way {
	if Inside(p, a) {
		return OnNetwork
	}
	return Unreachable
}

// special reports whether a is in a block of NoDestinations without hosts. A block of a single address has a host: the
// metadata service of a cloud.
func special(a netip.Addr) bool {
	block, ok := SpecialBlock(a)
	return ok && !block.IsSingleIP()
}

// MinClientBits is the shortest prefix of a client network, in bits. A default route would cut edges off from the pod
// network.
const MinClientBits = 8

// ClientRoutes returns the routes that edges of n have to client networks.
func (n Network) ClientRoutes() []Route {
	var out []Route
	for _, p := range n.ClientNetworks {
		out = append(out, Route{Destination: p, Via: n.DHCP.Router})
	}
	return out
}

// BehindGateway reports whether a is in a client network of n.
func (n Network) BehindGateway(a netip.Addr) bool { return AnyContains(n.ClientNetworks, a) }

// HasLoadBalancer reports whether a load balancer on the network answers for e: its address is a host address of the
// CIDR, and no edge holds it.
func (n Network) HasLoadBalancer(e Endpoint) bool {
	return n.Primary && n.Reach().FromVM(e.LoadBalancer) == OnNetwork
}

// WithoutLoadBalancer returns those endpoints for which only edges of n answer.
func (n Network) WithoutLoadBalancer(endpoints []Endpoint) []Endpoint {
	return slices.DeleteFunc(slices.Clone(endpoints), n.HasLoadBalancer)
}

// Resolved returns the address to which the hosts of e resolve on n.
func (n Network) Resolved(e Endpoint) netip.Addr {
	if n.HasLoadBalancer(e) {
		return e.LoadBalancer
	}
	return n.ServiceVIP
}

// portDNSOverTLS is the port of DNS servers over TLS (RFC 7858).
const portDNSOverTLS = 853

// NoDestinations returns the IPv4 prefixes that edges never dial for VMs on any cluster: addresses without hosts,
// addresses of the edge's own pod or node, and addresses of the cloud. 100.100.100.200 and 168.63.129.16 are the
// metadata services of Alibaba Cloud and Azure, as 169.254.169.254 is on other clouds.
func NoDestinations() []netip.Prefix {
	all := [...]string{"0.0.0.0/8", "100.100.100.200/32", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "224.0.0.0/3"}
	out := make([]netip.Prefix, 0, len(all))
	for _, p := range all {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// SpecialBlock returns the block of NoDestinations that contains a. ok is false if there is none.
func SpecialBlock(a netip.Addr) (block netip.Prefix, ok bool) {
	all := NoDestinations()
	i := slices.IndexFunc(all, func(p netip.Prefix) bool { return p.Contains(a) })
	if i < 0 {
		return netip.Prefix{}, false
	}
	return all[i], true
}

// MayDial reports whether edges of n may dial a for VMs: IPv4, outside NoDestinations, and outside the management
// cluster unless its administrator permits it.
func (n Network) MayDial(a netip.Addr) bool {
	_, special := SpecialBlock(a)
	return a.Is4() && !special && (!AnyContains(n.ReservedDestinations, a) || AnyContains(n.PermittedDestinations, a))
}

// UpstreamServers returns the upstream DNS servers of n that edges may dial. The plan may be older than the permissions.
// Reach.FromEdge says on which network edges dial them.
func (n Network) UpstreamServers() []netip.AddrPort {
	reach := n.Reach()
	return slices.DeleteFunc(slices.Clone(n.DNS.Upstreams.Servers), func(s netip.AddrPort) bool {
		way := reach.FromEdge(s.Addr())
		return !IsDNSPort(s.Port()) || way == Unreachable || way == ThroughPods && !n.MayDial(s.Addr())
	})
}

// IsDNSPort reports whether DNS servers have this port: 53, or 853 over TLS.
func IsDNSPort(port uint16) bool { return port == PortDNS || port == portDNSOverTLS }
