// This file describes the other hosted clusters on the same layer-2 networks. Package
// network resolves the conflicts.

package hcp

import (
	"maps"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/network"
)

// AttachedNetworks returns the networks that o's NodePools name or its VMs are attached
// to, sorted, with the details of their NetworkAttachmentDefinitions. o does not need
// to have opted in.
func AttachedNetworks(o Objects) []network.Attachment {
	seen := map[string]network.Attachment{}
	for _, a := range append(NamedNADs(o), vmAttachments(o)...) {
		if known, _ := attachment(o, network.NetworkRequest{Attachment: a}); known.Name != "" {
			a = known
		}
		seen[a.String()] = a
	}
	return slices.SortedFunc(maps.Values(seen), func(a, b network.Attachment) int { return strings.Compare(a.String(), b.String()) })
}

// OtherCluster describes other, a hosted cluster on the same networks as o. serves is
// the plan in force for other. ok is false if they have no network in common.
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

// older reports whether a was created before b. Namespace and name decide between
// clusters with the same timestamp.
func older(a, b *hyperv1.HostedCluster) bool {
	if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
		return c < 0
	}
	return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) < 0
}
