// This file says who is on a segment already: other hosted clusters, and what
// they want there, and machines with their addresses. What follows from that is
// decided in network.

package hcp

import (
	"maps"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/network"
)

// AttachedNetworks are the segments that o's NodePools name or its machines are on, with
// what is known of their definitions, sorted. It does not matter whether o opted
// in.
func AttachedNetworks(o Objects) []network.Attachment {
	seen := map[string]network.Attachment{}
	for _, a := range append(NamedNADs(o), ofMachines(o)...) {
		if known, _ := attachment(o, network.NetworkRequest{Attachment: a}); known.Name != "" {
			a = known
		}
		seen[a.String()] = a
	}
	return slices.SortedFunc(maps.Values(seen), func(a, b network.Attachment) int { return strings.Compare(a.String(), b.String()) })
}

// OtherCluster is what other is to o; ok is false where they have no segment in
// common. serves is the plan in force for other.
func OtherCluster(o, other Objects, serves network.Plan) (n network.OtherCluster, ok bool) {
	hc := other.HostedCluster
	n = network.OtherCluster{Name: hc.Namespace + "/" + hc.Name, Older: older(hc, o.HostedCluster), On: AttachedNetworks(other), Serves: serves}
	for _, s := range serves.Networks {
		n.On = append(n.On, s.Attachment)
	}
	ours := AttachedNetworks(o)
	if !slices.ContainsFunc(n.On, func(a network.Attachment) bool { return slices.ContainsFunc(ours, a.SameNetwork) }) {
		return n, false
	}
	if OptedIn(hc) && hc.DeletionTimestamp.IsZero() {
		request, facts := Translate(other)
		n.Wants, _ = network.Derive(request, facts, serves, nil).Plan()
	}
	return n, true
}

// older says whether a was created before b; of two of one second, the first by
// namespace and name.
func older(a, b *hyperv1.HostedCluster) bool {
	if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
		return c < 0
	}
	return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) < 0
}
