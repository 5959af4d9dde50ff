// This file decides whether a network's CIDR, or an address published on it, conflicts with a reserved destination.
// An edge sends packets for the CIDR to its interface on the network, and keeps packets for an address that it holds.
// So it cannot reach destinations in the pod network with the same addresses. Nodes use the pod and Service addresses
// of the hosted cluster inside that cluster only. No address is moved.

package served

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// special and ofHosted are the words before and after what messages name.
const special, ofHosted = "the special-purpose block ", " of the hosted cluster"

func cidrOverlaps(n network.Network, s network.NetworkRequest, other string) problem.Problem {
	return n.Problem(problem.CIDROverlapsOther, problem.Args{"cidr": {n.CIDR.String()}, "other": {other}, "where": {s.CIDRField}}, s.CIDRKeys...)
}

func publishedIn(address netip.Addr, other string) problem.Problem {
	return problem.New(problem.PublishedInOther, problem.Subject{}, problem.Args{"address": {address.String()}, "other": {other}}, network.KeyPublishing)
}

func heldFor(n network.Network, in Input) []netip.Addr {
	held := n.PublishedAddresses
	if n.Primary {
		held = slices.Concat(held, in.Announced)
		slices.SortFunc(held, netip.Addr.Compare)
		held = slices.Compact(held)
	}
	return held
}

// leaveTakenPlaces returns a copy of in without former places whose addresses conflict with others, and a problem for
// each. Former places never block a plan.
func leaveTakenPlaces(n network.Network, s network.NetworkRequest, in Input) (Input, problem.Problems) {
	former := func(e network.Endpoint) bool { return e.Former }
	if !n.Primary || !n.Runs(network.ServiceProxy) || !slices.ContainsFunc(in.Endpoints, former) {
		return in, nil
	}
	var ps problem.Problems
	present, given := len(conflicts(n, s, in, nil)), givenAddresses(in)
	taken := func(e network.Endpoint) bool {
		isGiven := func(a netip.Addr) bool { return slices.Contains(given, a) }
		return e.Former && (slices.ContainsFunc(e.Addresses, isGiven) || len(conflicts(n, s, in, e.Addresses)) > present)
	}
	out := in
	out.Endpoints = nil
	for _, e := range in.Endpoints {
		if taken(e) {
			ps = append(ps, formerPlaceTaken(e))
			continue
		}
		out.Endpoints = append(out.Endpoints, e)
	}
	return out, ps
}

// conflicts returns the problems of n's CIDR and of the addresses in held. These are or will be published on n.
func conflicts(n network.Network, s network.NetworkRequest, in Input, held []netip.Addr) problem.Problems {
	ps := checkPublished(n, held)
	ps = append(ps, checkReserved(n, s, held, in.Reserved)...)
	ps = append(ps, checkHosted(n, s, held, in.InHostedCluster)...)
	return append(ps, checkNodeAPI(n, s, held, in.NodeAPI)...)
}

// checkPublished returns a problem for each published address that no host can have. It also returns one for each that
// is in n's CIDR, because VMs would look for a host there.
func checkPublished(n network.Network, held []netip.Addr) problem.Problems {
	var ps problem.Problems
	for _, a := range held {
		if n.CIDR.Contains(a) {
			ps = append(ps, n.Problem(problem.PublishedInCIDR, problem.Args{"cidr": {n.CIDR.String()}, "address": {a.String()}}, network.KeyPublishing))
		}
		if block, bad := network.SpecialBlock(a); bad {
			ps = append(ps, publishedIn(a, special+block.String()))
		}
	}
	return ps
}

// checkReserved returns problems if n's CIDR or an address in held conflicts with the destinations that edges reach
// through the pod network. The address of a management node may be published (node port). The CIDR must not overlap
// special-purpose blocks: edges and nodes use some of their addresses, such as 127.0.0.1.
func checkReserved(n network.Network, s network.NetworkRequest, held []netip.Addr, reserved []network.ReservedDestination) problem.Problems {
	var ps problem.Problems
	blocks := network.NoDestinations()
	if i := slices.IndexFunc(blocks, n.CIDR.Overlaps); i >= 0 {
		ps = append(ps, cidrOverlaps(n, s, special+blocks[i].String()))
	}
	if what, bad := overlaps(n.CIDR, reserved); bad {
		ps = append(ps, cidrOverlaps(n, s, what))
	}
	for _, a := range held {
		for _, p := range reserved {
			if p.Node || !p.Required || !p.Prefix.Contains(a) {
				continue
			}
			ps = append(ps, publishedIn(a, destination(p)))
			break
		}
	}
	return ps
}

// checkHosted returns problems if n's CIDR or an address in held is inside the hosted cluster, and Warnings if it may be.
func checkHosted(n network.Network, s network.NetworkRequest, held []netip.Addr, hosted []network.ReservedDestination) problem.Problems {
	var ps problem.Problems
	check := func(at netip.Prefix, about func(what string) problem.Problem) {
		what, bad := overlaps(at, hosted)
		if !bad {
			return
		}
		p := about(what + ofHosted)
		if _, bad := overlaps(at, certain(hosted)); !bad {
			p.Severity = problem.SeverityWarning
		}
		ps = append(ps, p)
	}
	check(n.CIDR, func(what string) problem.Problem { return cidrOverlaps(n, s, what) })
	for _, a := range held {
		check(network.Host(a), func(what string) problem.Problem { return publishedIn(a, what) })
	}
	return ps
}

// certain returns those of all that the hosted cluster has, whatever its release is.
func certain(all []network.ReservedDestination) []network.ReservedDestination {
	return network.Without(all, func(r network.ReservedDestination) bool { return r.Possible })
}

// overlaps returns a text for the destinations in places that p overlaps, or false if there are none.
func overlaps(p netip.Prefix, places []network.ReservedDestination) (string, bool) {
	var met []network.ReservedDestination
	for _, x := range places {
		if x.Required && x.Prefix.Overlaps(p) {
			met = append(met, x)
		}
	}
	if len(met) == 0 {
		return "", false
	}
	what := destination(met[0])
	if len(met) > 1 {
		what += fmt.Sprintf(" and %d more", len(met)-1)
	}
	return what, true
}

// destination returns r as messages name it: "node worker-1 (192.0.2.11)".
func destination(r network.ReservedDestination) string {
	if r.Prefix.IsSingleIP() {
		return fmt.Sprintf("%s (%s)", r.What, r.Prefix.Addr())
	}
	return fmt.Sprintf("%s (%s)", r.What, r.Prefix)
}
