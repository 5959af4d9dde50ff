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
	// VMAddresses are the addresses of its VMs. Their networks are named as in On.
	VMAddresses []network.VMAddress `json:"vmAddresses,omitempty"`
}

// has reports whether its plan, wanted or in force, has a network on the layer-2 network of a for which is returns true.
func (u OtherCluster) has(a network.Attachment, is func(network.Network) bool) bool {
	return slices.ContainsFunc(slices.Concat(u.Serves.Networks, u.Wants.Networks), func(n network.Network) bool { return n.Attachment.SameNetwork(a) && is(n) })
}

// namesOf returns the Names of its networks on the layer-2 network of a.
func (u OtherCluster) namesOf(a network.Attachment) []string {
	var out []string
	for _, x := range u.On {
		if x.SameNetwork(a) {
			out = append(out, x.NetworkName())
		}
	}
	return out
}

// ahead returns the networks that have precedence over new networks of this cluster on the layer-2 network of a.
func (u OtherCluster) ahead(a network.Attachment) []network.Network {
	all := slices.Clone(u.Serves.Networks)
	if u.Older {
		all = append(all, u.Wants.Networks...)
	}
	return slices.DeleteFunc(all, func(n network.Network) bool { return !n.Attachment.SameNetwork(a) })
}

// yieldTo returns a copy of o. If another cluster has precedence on a network, a secondary network is left out, and a
// primary one is refused. Parameter last is this cluster's plan in force.
func (o outcome) yieldTo(others []OtherCluster, last network.Plan) outcome {
	return o.checked(func(n network.Network) problem.Problems {
		var ps problem.Problems
		for _, u := range others {
			if theirs, cause := yieldsTo(n, u, last); cause != "" {
				if cause == problem.SharedAddresses && !n.Primary {
					cause = problem.SharedAdditionalAddresses
				}
				keys, ranges := conflict(n, theirs)
				ps = append(ps, n.Problem(cause, problem.Args{"hostedCluster": {u.Name}, "addresses": ranges}, keys...))
			} else if taken := takenByHosts(n, u, last); len(taken) > 0 {
				ps = append(ps, n.Problem(problem.SharedAddresses, problem.Args{"hostedCluster": {u.Name}, "addresses": {network.List(taken)}}, network.KeyEdgeAddresses))
			} else if !has(last, n) && getsOffersFrom(n.Attachment, u) {
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
// cluster that is served on n and answers all clients continues to do so. If two do, the older one continues. A cluster
// that oooi does not serve changes nothing: any user can name a network.
func joins(n network.Network, u OtherCluster, last network.Plan) bool {
	if u.Unserved || !slices.ContainsFunc(u.On, n.Attachment.SameNetwork) {
		return false
	}
	i := slices.IndexFunc(last.Networks, func(x network.Network) bool { return x.Name == n.Name })
	return i < 0 || last.Networks[i].DHCP.IgnoreUnknownClients || u.Older && getsOffersFrom(n.Attachment, u)
}

// sharing returns a problem for each network of p that other hosted clusters use, too. It is a Warning if another server
// answers VMs of this cluster. Networks of r that p does not have get only these Warnings, unless one of reported
// already says that the network is shared. It is also a Warning if VMs boot from the network, and oooi does not serve the
// other cluster, unless edges answer only VMs of this one.
func sharing(p network.Plan, r network.Request, others []OtherCluster, reported problem.Problems) problem.Problems {
	var ps problem.Problems
	add := func(a network.Attachment, c problem.Cause, clusters []string, key string) {
		ps = append(ps, a.Problem(c, problem.Args{"hostedClusters": clusters}, key))
	}
	offered := func(a network.Attachment, noDHCP bool) bool {
		by := namesOf(others, func(u OtherCluster) bool { return getsOffersFrom(a, u) })
		foreign := namesOf(others, func(u OtherCluster) bool {
			return u.has(a, func(n network.Network) bool { return noDHCP || !n.Runs(network.ServiceDHCP) })
		})
		switch {
		case len(by) > 0:
			add(a, problem.SharedNetworkOffered, by, network.KeyUnknownClients)
		case len(foreign) > 0:
			add(a, problem.SharedNetworkByOtherDHCP, foreign, network.KeyServices)
		}
		return len(by)+len(foreign) > 0
	}
	for _, n := range p.Networks {
		on := func(u OtherCluster) bool { return slices.ContainsFunc(u.On, n.Attachment.SameNetwork) }
		with := namesOf(others, func(u OtherCluster) bool { return on(u) && !u.Unserved })
		unserved := namesOf(others, func(u OtherCluster) bool { return on(u) && u.Unserved })
		if len(unserved) > 0 && n.Primary && n.Runs(network.ServiceDHCP) && !n.DHCP.IgnoreUnknownClients {
			add(n.Attachment, problem.SharedNetworkTakesVMs, unserved, network.KeyUnknownClients)
		}
		switch {
		case offered(n.Attachment, !n.Runs(network.ServiceDHCP)) || len(with) == 0:
		case n.DHCP.IgnoreUnknownClients:
			add(n.Attachment, problem.SharedNetworkDivided, with, network.KeyUnknownClients)
		default:
			add(n.Attachment, problem.SharedNetworkKeepsOther, with, network.KeyUnknownClients)
		}
		ps = append(ps, sharedHosts(n, r, others)...)
	}
	for _, s := range sortedRequests(r.Networks) {
		served := slices.ContainsFunc(p.Attachments(), s.Attachment.SameNetwork)
		known := slices.ContainsFunc(reported, func(x problem.Problem) bool {
			return x.Reason == problem.NetworkShared && x.Subject.Namespace == s.Attachment.Namespace && x.Subject.Name == s.Attachment.Name
		})
		if !served && !known {
			offered(s.Attachment, false)
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

// getsOffersFrom reports whether u, by its plan in force, offers addresses to VMs on a. Without a plan in force, it
// offers none, so two clusters never wait for each other.
func getsOffersFrom(a network.Attachment, u OtherCluster) bool {
	return slices.ContainsFunc(u.Serves.Networks, func(x network.Network) bool {
		return x.Attachment.SameNetwork(a) && x.Runs(network.ServiceDHCP) && !x.DHCP.IgnoreUnknownClients
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
