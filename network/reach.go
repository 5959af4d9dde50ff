// This file decides which addresses VMs and edges of a network reach, and how. It knows
// addresses only: whether a host is there, and whether a server listens, is not known.

package network

import (
	"net/netip"
	"slices"
)

// A Way is how an address is reached. The zero value is Unreachable.
type Way string

// The ways to an address.
const (
	// Unreachable: no packet arrives there.
	Unreachable Way = ""
	// OnNetwork: a host of the network has it, or of another network of the same VMs.
	OnNetwork Way = "network"
	// AtEdges: the edges hold it. Only what they serve there answers.
	AtEdges Way = "edges"
	// ThroughGateway: the gateway that the user set forwards to it.
	ThroughGateway Way = "gateway"
	// InCluster: it is inside the hosted cluster, whose nodes route it.
	InCluster Way = "cluster"
	// Unknown: the VMs are also on networks whose addresses are unknown, and may reach it there.
	Unknown Way = "unknown"
	// ThroughPods: edges reach it through the pod network of the management cluster.
	ThroughPods Way = "pods"
)

// A Reach is what decides how VMs and edges of one network reach an address.
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
	// Unserved: all VMs are also on networks whose addresses are unknown.
	Unserved bool
	// InHostedCluster are the destinations inside the hosted cluster.
	InHostedCluster []netip.Prefix
	// NodeAPI is an address that each VM has itself. Zero: unknown.
	NodeAPI netip.Addr
}

// Reach returns what n's plan knows. It has no Links and no InHostedCluster.
func (n Network) Reach() Reach {
	r := Reach{CIDR: n.CIDR, Held: slices.Concat(n.heldAddresses(), n.PublishedAddresses), Clients: n.ClientNetworks}
	if n.Primary && n.DHCP.Router != n.NextHopVIP {
		r.Gateway = n.DHCP.Router
	}
	return r
}

// reach returns how VMs and edges of n, the network of s, reach addresses.
func (in input) reach(n Network, s NetworkRequest) Reach {
	r := n.Reach()
	r.Gateway = netip.Addr{}
	if s.Primary {
		r.Gateway = s.Gateway
	}
	for _, other := range in.Networks {
		if other.Attachment != s.Attachment && other.CIDR.IsValid() && containsAll(other.NodePools, s.NodePools) {
			r.Links = append(r.Links, other.CIDR.Masked())
		}
	}
	r.Unserved, r.NodeAPI = s.UnservedNetworks, in.NodeAPI
	for _, g := range in.InHostedCluster {
		r.InHostedCluster = append(r.InHostedCluster, g.Prefix)
	}
	return r
}

// FromVM returns how VMs reach a. An address that is on no network is reached through the
// gateway, if there is one. No host has the addresses of NoDestinations, except those of
// cloud providers.
func (r Reach) FromVM(a netip.Addr) Way {
	switch {
	case !a.Is4() || special(a) || a == r.NodeAPI:
		return Unreachable
	case slices.Contains(r.Held, a):
		return AtEdges
	case r.CIDR.Contains(a):
		return hostOn(r.CIDR, a)
	case anyContains(r.InHostedCluster, a):
		return InCluster
	case anyContains(r.Links, a):
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
	case anyContains(r.Clients, a):
		return ThroughGateway
	}
	return ThroughPods
}

// hostOn is OnNetwork if a is a host address of p. No host has the network address or the
// broadcast address.
func hostOn(p netip.Prefix, a netip.Addr) Way {
	if inside(p, a) {
		return OnNetwork
	}
	return Unreachable
}

// special reports whether a is in a block of NoDestinations in which no host of any network has
// an address. Blocks of one address are not: a cloud answers there.
func special(a netip.Addr) bool {
	block, ok := SpecialBlock(a)
	return ok && !block.IsSingleIP()
}

// containsAll reports whether all has every element of some.
func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(x string) bool { return !slices.Contains(all, x) })
}
