// This file decides whether a network, or an address published on it, lies where
// something else is: an edge sends to its own interface whatever lies in the
// network's CIDR, and to itself what it holds, and would be cut off from what it
// must reach by the pod network; and a machine looks for the hosted cluster's own
// addresses inside the cluster. It never moves an address.

package network

import (
	"fmt"
	"net/netip"
	"slices"
)

// keyPublishing is the field that says where HyperShift publishes.
const keyPublishing = "spec.services"

// published is a problem of an address of HyperShift's, which is other's.
func published(c Cause, address netip.Addr, other string) Problem {
	return NewProblem(c, Subject{}, Args{"address": address.String(), "other": other}, keyPublishing)
}

// conflicts are those of n, which is for s, with everything beyond its segment.
func conflicts(n Network, s NetworkRequest, in input) Problems {
	held := n.PublishedAddresses
	if n.Primary {
		held = slices.Concat(held, in.Announced)
		slices.SortFunc(held, netip.Addr.Compare)
		held = slices.Compact(held)
	}
	ps := checkPublished(n, held)
	ps = append(ps, checkElsewhere(n, s, held, in.Reserved)...)
	return append(ps, checkGuest(n, s, held, in.Guest)...)
}

// checkPublished refuses a published address that lies in the segment's own
// CIDR: machines would look for it beside themselves, and the edge could no
// longer tell the two apart.
func checkPublished(n Network, held []netip.Addr) Problems {
	var ps Problems
	for _, a := range held {
		if n.CIDR.Contains(a) {
			ps = append(ps, n.problem(PublishedInCIDR, Args{"cidr": n.CIDR.String(), "address": a.String()}, keyPublishing))
		}
	}
	return ps
}

// checkElsewhere holds n's CIDR, and the published addresses that its edges hold,
// against what they reach by the pod network. A management node's own address may
// be published (by node port).
func checkElsewhere(n Network, s NetworkRequest, held []netip.Addr, elsewhere []ReservedDestination) Problems {
	var ps Problems
	if what, bad := overlaps(n.CIDR, elsewhere); bad {
		ps = append(ps, n.problem(CIDROverlapsManagement, Args{"cidr": n.CIDR.String(), "other": what, "where": s.CIDRField}, s.CIDRKeys...))
	}
	for _, a := range held {
		for _, p := range elsewhere {
			if p.Node || !p.Prefix.Contains(a) {
				continue
			}
			ps = append(ps, published(PublishedInManagement, a, fmt.Sprintf("%s (%s)", p.What, place(p.Prefix))))
			break
		}
	}
	return ps
}

// checkGuest holds the same against what the hosted cluster has inside itself.
func checkGuest(n Network, s NetworkRequest, held []netip.Addr, guest []ReservedDestination) Problems {
	var ps Problems
	if what, bad := overlaps(n.CIDR, guest); bad {
		ps = append(ps, n.problem(CIDROverlapsGuest, Args{"cidr": n.CIDR.String(), "other": what, "where": s.CIDRField}, s.CIDRKeys...))
	}
	for _, a := range held {
		if what, bad := overlaps(host(a), guest); bad {
			ps = append(ps, published(PublishedInGuest, a, what))
		}
	}
	return ps
}

// overlaps says in words what of places p overlaps.
func overlaps(p netip.Prefix, places []ReservedDestination) (string, bool) {
	var met []ReservedDestination
	for _, x := range places {
		if x.Prefix.Overlaps(p) {
			met = append(met, x)
		}
	}
	if len(met) == 0 {
		return "", false
	}
	what := fmt.Sprintf("%s (%s)", met[0].What, place(met[0].Prefix))
	if len(met) > 1 {
		what += fmt.Sprintf(" and %d more", len(met)-1)
	}
	return what, true
}

// place is p as a reader knows it: one address without its length.
func place(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// keptFromOutside are the places that n's edges never dial for a host outside.
func keptFromOutside(n Network, elsewhere []ReservedDestination) (places, nodes []netip.Prefix) {
	if !slices.ContainsFunc(n.Backends, func(b Backend) bool { return b.Kind == BackendExternal }) {
		return nil, nil
	}
	for _, p := range elsewhere {
		if p.Node {
			nodes = append(nodes, p.Prefix)
		} else {
			places = append(places, p.Prefix)
		}
	}
	for _, all := range [][]netip.Prefix{places, nodes} {
		slices.SortFunc(all, netip.Prefix.Compare)
	}
	return slices.Compact(places), slices.Compact(nodes)
}

// NodesOwn says whether a node of the management cluster itself listens at port:
// etcd, the API server, machine configuration, and what OpenShift reserves for
// hosts (openshift/enhancements, dev-guide/host-port-registry.md), the kubelet and
// other components, and SSH. At a node's other ports there may be that cluster's
// ingress.
func NodesOwn(port uint16) bool {
	return port == 22 || port == 2379 || port == 2380 || port == 6080 || port == 6443 || port == 22623 || port == 22624 ||
		9000 <= port && port <= 9999 || 10010 <= port && port <= 10399 || 17697 == port
}
