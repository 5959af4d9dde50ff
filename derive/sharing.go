// This file decides how two hosted clusters share one network. The two clusters must not use the same address. A
// cluster that is served keeps its addresses, else the older one has precedence. No address is moved: the other cluster
// gets a problem that names the keys to set, and answers only its own VMs. It also waits until annotation
// unknown-clients limits the first cluster to its own VMs, so that neither takes clients from the other.

package derive

import (
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// An OtherCluster is another hosted cluster on a network of this one.
type OtherCluster struct {
	// Name is "namespace/name".
	Name string `json:"name"`
	// Older is true if the cluster is older than this one. If SameAge is true, both clusters were created at the same
	// time, and the order of their names decided.
	Older   bool `json:"older"`
	SameAge bool `json:"sameAge,omitempty"`
	// On are the networks of its NodePools.
	On []network.Attachment `json:"on"`
	// Wants is the plan for its request. Empty: the request is refused, or the cluster opted out.
	Wants network.Plan `json:"wants"`
	// Serves is its plan in force. Empty: no edges run.
	Serves network.Plan `json:"serves"`
	// Unserved is true if oooi does not serve the cluster: it did not opt in, and no edges of it run.
	Unserved bool `json:"unserved,omitempty"`
}

// yieldTo returns a copy of o. If another cluster has precedence on a network, a secondary network is left out, and a
// primary one is refused. Parameter last is this cluster's plan in force.
func (o outcome) yieldTo(others []OtherCluster, last network.Plan) outcome {
	return o.checked(func(n network.Network) problem.Problems {
		var ps problem.Problems
		for _, u := range others {
			if theirs, cause := yieldsTo(n, u, last); cause != "" {
				keys, ranges := conflict(n, theirs)
				ps = append(ps, n.Problem(cause, problem.Args{"hostedCluster": {u.Name}, "addresses": ranges}, keys...))
			} else if !has(last, n) && getsOffersFrom(n, u) {
				ps = append(ps, n.Problem(problem.SharedNetworkPending, problem.Args{"hostedCluster": {u.Name}}))
			}
		}
		return ps
	})
}

// answerOwnVMs makes edges ignore unknown clients on each network that another cluster used first. Parameter last is
// this cluster's plan in force.
func answerOwnVMs(p network.Plan, others []OtherCluster, last network.Plan) network.Plan {
	return p.WithEach(func(n *network.Network) {
		if slices.ContainsFunc(others, func(u OtherCluster) bool { return joins(*n, u, last) }) {
			n.DHCP.IgnoreUnknownClients = true
		}
	})
}

// joins reports whether u used the network of n first, so that edges of n answer only VMs of their own cluster. A
// cluster that is served on n and answers all clients continues to do so. If two do, the older one continues.
func joins(n network.Network, u OtherCluster, last network.Plan) bool {
	if !slices.ContainsFunc(u.On, n.Attachment.SameNetwork) {
		return false
	}
	i := slices.IndexFunc(last.Networks, func(x network.Network) bool { return x.Name == n.Name })
	return i < 0 || last.Networks[i].DHCP.IgnoreUnknownClients || u.Older && getsOffersFrom(n, u)
}

// sharing returns a problem for each network of p that other hosted clusters use, too. It is a Warning if another
// cluster answers VMs of this one. It is also a Warning if VMs boot from the network, and oooi does not serve the other
// cluster, unless requested says that edges answer only VMs of this one.
func sharing(p network.Plan, requested []network.NetworkRequest, others []OtherCluster) problem.Problems {
	var ps problem.Problems
	for _, n := range p.Networks {
		on := func(u OtherCluster) bool { return slices.ContainsFunc(u.On, n.Attachment.SameNetwork) }
		by := namesOf(others, func(u OtherCluster) bool { return getsOffersFrom(n, u) })
		with := namesOf(others, func(u OtherCluster) bool { return on(u) && !u.Unserved })
		about := func(c problem.Cause, clusters []string) {
			ps = append(ps, n.Problem(c, problem.Args{"hostedClusters": clusters}, network.KeyUnknownClients))
		}
		ownOnly := slices.ContainsFunc(requested, func(s network.NetworkRequest) bool {
			return s.Attachment.NetworkName() == n.Name && s.Settings.IgnoreUnknownClients
		})
		if unserved := namesOf(others, func(u OtherCluster) bool { return on(u) && u.Unserved }); len(unserved) > 0 && n.Primary && n.Runs(network.ServiceDHCP) && !ownOnly {
			if n.DHCP.IgnoreUnknownClients {
				about(problem.SharedNetworkUnserved, unserved)
			} else {
				about(problem.SharedNetworkTakesVMs, unserved)
			}
		}
		switch {
		case len(by) > 0:
			about(problem.SharedNetworkOffered, by)
		case len(with) > 0 && n.DHCP.IgnoreUnknownClients:
			about(problem.SharedNetworkDivided, with)
		case len(with) > 0:
			about(problem.SharedNetworkKeepsOther, with)
		}
	}
	return ps
}

func namesOf(others []OtherCluster, so func(OtherCluster) bool) (names []string) {
	for _, u := range others {
		if so(u) {
			names = append(names, u.Name)
		}
	}
	return names
}

// yieldsTo returns the network of u that has precedence over n and conflicts with it, and why. The cause is empty if
// there is none.
func yieldsTo(n network.Network, u OtherCluster, last network.Plan) (other network.Network, why problem.Cause) {
	byAge := problem.SharedAddresses
	if u.SameAge {
		byAge = problem.SharedAddressesByName
	}
	weServe := func(theirs network.Network) bool {
		return slices.ContainsFunc(last.Networks, func(x network.Network) bool { return x.Name == n.Name && conflictsWith(x, theirs) })
	}
	for _, theirs := range u.Serves.Networks {
		switch serve := weServe(theirs); {
		case !conflictsWith(n, theirs) || serve && !u.Older:
		case serve:
			return theirs, byAge
		default:
			return theirs, problem.SharedAddresses
		}
	}
	for _, theirs := range u.Wants.Networks {
		if u.Older && conflictsWith(n, theirs) && !weServe(theirs) {
			return theirs, byAge
		}
	}
	return network.Network{}, ""
}

func has(p network.Plan, n network.Network) bool {
	return slices.ContainsFunc(p.Networks, func(x network.Network) bool { return x.Name == n.Name })
}

// getsOffersFrom reports whether u, by its plan in force, offers addresses to n's VMs. Without a plan in force, it
// offers none, so two clusters never wait for each other.
func getsOffersFrom(n network.Network, u OtherCluster) bool {
	return slices.ContainsFunc(u.Serves.Networks, func(x network.Network) bool {
		return x.Attachment.SameNetwork(n.Attachment) && x.Runs(network.ServiceDHCP) && !x.DHCP.IgnoreUnknownClients
	})
}

func conflictsWith(n network.Network, other network.Network) bool {
	keys, _ := conflict(n, other)
	return len(keys) > 0
}

// A usedRange is a range of addresses on a network, and the key that sets it.
type usedRange struct {
	network.Range
	key string
}

// assigned returns the addresses of n's edges, and those that n's DHCP servers assign.
func assigned(n network.Network) []usedRange {
	var out []usedRange
	for _, a := range n.HeldAddresses() {
		out = append(out, usedRange{network.Range{First: a, Last: a}, network.KeyEdgeAddresses})
	}
	if !slices.Contains(n.Services, network.ServiceDHCP) {
		return out
	}
	for _, r := range n.DHCP.Range.Without(n.DHCP.Exclude) {
		out = append(out, usedRange{r, network.KeyDHCPRange})
	}
	for _, r := range n.DHCP.Reservations {
		out = append(out, usedRange{network.Range{First: r.Address, Last: r.Address}, network.KeyReservations})
	}
	return out
}

// published returns the published addresses of n. Two clusters may publish the same address.
func published(n network.Network) []usedRange {
	var out []usedRange
	for _, a := range n.PublishedAddresses {
		out = append(out, usedRange{network.Range{First: a, Last: a}, network.KeyPublishing})
	}
	return out
}

// router returns the gateway that the user set for n, or nil if the user set none. Two clusters may have the same
// gateway, and neither may assign its address.
func router(n network.Network) []usedRange {
	if r := n.DHCP.Router; r.IsValid() && r != n.NextHopVIP {
		return []usedRange{{network.Range{First: r, Last: r}, network.KeyGateway}}
	}
	return nil
}

// hosts returns all addresses of n's CIDR. If another cluster publishes one of them, its edges would answer in place of
// the host.
func hosts(n network.Network) []usedRange {
	return []usedRange{{network.Range{First: n.CIDR.Addr(), Last: network.HostAddress(n.CIDR, -1).Next()}, network.KeyCIDR}}
}

// conflict returns the addresses that n and other cannot both use, and the keys that set them on n. Either both
// networks assign the address, or one assigns it and it is the other's gateway, or one publishes it in the other's
// CIDR. Without a conflict, or on different layer-2 networks, keys and ranges are empty.
func conflict(n network.Network, other network.Network) (keys, ranges []string) {
	if !n.Attachment.SameNetwork(other.Attachment) {
		return nil, nil
	}
	var met []network.Range
	compare := func(ours, theirs []usedRange) {
		var all []network.Range
		for _, y := range theirs {
			all = append(all, y.Range)
		}
		all = network.Merged(all)
		for _, x := range ours {
			from, _ := slices.BinarySearchFunc(all, x.First, func(y network.Range, a netip.Addr) int { return y.Last.Compare(a) })
			for _, y := range all[from:] {
				if x.Last.Less(y.First) {
					break
				}
				met = append(met, network.Range{First: network.Later(x.First, y.First), Last: network.Earlier(x.Last, y.Last)})
				keys = append(keys, x.key)
			}
		}
	}
	compare(assigned(n), assigned(other))
	compare(assigned(n), router(other))
	compare(router(n), assigned(other))
	compare(hosts(n), published(other))
	compare(published(n), hosts(other))
	slices.Sort(keys)
	for _, r := range network.Merged(met) {
		ranges = append(ranges, r.Short())
	}
	return slices.Compact(keys), ranges
}
