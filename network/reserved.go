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

// conflicts are those of n, which is for s, with everything beyond its segment.
func conflicts(n Network, s NetworkRequest, in input) Problems {
	held := n.PublishedAddresses
	if n.Primary {
		held = slices.Concat(held, in.Announced)
		slices.SortFunc(held, netip.Addr.Compare)
		held = slices.Compact(held)
	}
	ps := checkPublished(n, held)
	ps = append(ps, checkElsewhere(n, held, s.CIDRField, in.Reserved)...)
	return append(ps, checkGuest(n, held, s.CIDRField, in.Guest)...)
}

// checkPublished refuses a published address that lies in the segment's own
// CIDR: machines would look for it beside themselves, and the edge could no
// longer tell the two apart.
func checkPublished(n Network, held []netip.Addr) Problems {
	var ps Problems
	for _, a := range held {
		if n.CIDR.Contains(a) {
			ps = append(ps, Problem{Reason: AddressConflict, Field: "spec.services", Blocking: true, Detail: fmt.Sprintf(
				"HyperShift publishes at %s, which lies in the CIDR %s of network %s. Choose another CIDR for the network, or create the cluster with a host name there.",
				a, n.CIDR, n.Attachment)})
		}
	}
	return ps
}

// checkElsewhere holds n's CIDR, and the published addresses that its edges hold,
// against what they reach by the pod network. A management node's own address may
// be published (by node port).
func checkElsewhere(n Network, held []netip.Addr, cidrField string, elsewhere []ReservedDestination) Problems {
	var ps Problems
	if what, bad := overlaps(n.CIDR, elsewhere); bad {
		ps = append(ps, Problem{Reason: AddressConflict, Field: cidrField, Blocking: true, Detail: fmt.Sprintf(
			"CIDR %s of network %s overlaps %s, which edges must reach by the pod network and no longer could. Choose another CIDR for the network.",
			n.CIDR, n.Attachment, what)})
	}
	for _, a := range held {
		for _, p := range elsewhere {
			if p.Node || !p.Prefix.Contains(a) {
				continue
			}
			ps = append(ps, Problem{Reason: AddressConflict, Field: "spec.services", Blocking: true, Detail: fmt.Sprintf(
				"HyperShift publishes at %s, which meets %s (%s): every edge would hold the address, and no longer reach what is there. Publish at another address, or by a host name.",
				a, p.What, place(p.Prefix))})
			break
		}
	}
	return ps
}

// checkGuest holds the same against what the hosted cluster has inside itself.
func checkGuest(n Network, held []netip.Addr, cidrField string, guest []ReservedDestination) Problems {
	var ps Problems
	if what, bad := overlaps(n.CIDR, guest); bad {
		ps = append(ps, Problem{Reason: AddressConflict, Field: cidrField, Blocking: true, Detail: fmt.Sprintf(
			"CIDR %s of network %s overlaps what the hosted cluster has inside itself, %s: its nodes would not find each other there. Choose another CIDR for the network; the cluster's own can't be changed later.",
			n.CIDR, n.Attachment, what)})
	}
	for _, a := range held {
		if what, bad := overlaps(host(a), guest); bad {
			ps = append(ps, Problem{Reason: AddressConflict, Field: "spec.services", Blocking: true, Detail: fmt.Sprintf(
				"HyperShift publishes at %s, which lies in what the hosted cluster has inside itself, %s: its nodes would look for it there. Create the cluster with another address, or a host name.", a, what)})
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
	if !slices.ContainsFunc(n.Backends, func(b Backend) bool { return b.Kind == BackendOutside }) {
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
