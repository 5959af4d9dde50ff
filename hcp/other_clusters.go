// This file describes the other hosted clusters on the same layer-2 networks. Package
// network resolves the conflicts.

package hcp

import (
	"maps"
	"slices"
	"strings"
	"sync"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/network"
)

// AttachedNetworks returns the networks that o's NodePools name or its VMs are attached
// to, sorted, with the details of their NetworkAttachmentDefinitions. o does not need
// to have opted in.
func AttachedNetworks(o Objects) []network.Attachment {
	seen := map[string]network.Attachment{}
	for _, a := range UsedNADs(o) {
		if known, _ := attachment(o, network.NetworkRequest{Attachment: a}); known.Name != "" {
			a = known
		}
		seen[a.String()] = a
	}
	return slices.SortedFunc(maps.Values(seen), func(a, b network.Attachment) int { return strings.Compare(a.String(), b.String()) })
}

// UsedNADs returns the NetworkAttachmentDefinitions that o's NodePools name or its VMs are attached
// to, with duplicates. They need not exist. o needs its HostedCluster only if it has NodePools.
func UsedNADs(o Objects) []network.Attachment { return append(NamedNADs(o), vmAttachments(o)...) }

// Layer2 returns network.Attachment.Layer2 of n, whether or not nodes offer its devices. Empty:
// unknown.
func Layer2(n nadv1.NetworkAttachmentDefinition) string {
	a, _ := nad.Attach(nadObject(n), nad.Nodes{})
	return a.Layer2
}

// NetworksOf returns the networks of o's NodePools and VMs, and those that its edges are on by last,
// its plan in force. One network is listed twice if its NAD was edited and VMs pin the former one.
func NetworksOf(o Objects, last network.Plan) []network.Attachment {
	return append(AttachedNetworks(o), last.Attachments()...)
}

// A Neighbor is a hosted cluster as the others on its networks see it. What it wants is derived at
// most once, however many others there are.
type Neighbor struct {
	hostedCluster *hyperv1.HostedCluster
	on            []network.Attachment
	wants         func() network.Plan
	serves        network.Plan
}

// NewNeighbor returns the hosted cluster of o as others see it. serves is its plan in force.
func NewNeighbor(o Objects, serves network.Plan) Neighbor {
	return Neighbor{hostedCluster: o.HostedCluster, on: NetworksOf(o, serves), serves: serves, wants: sync.OnceValue(func() network.Plan {
		if !OptedIn(o.HostedCluster) || !o.HostedCluster.DeletionTimestamp.IsZero() {
			return network.Plan{}
		}
		request, facts := Translate(o, serves)
		wants, _ := network.Derive(request, facts, serves, nil).Plan()
		return wants
	})}
}

// For describes n for hc, another hosted cluster that is on the networks ours. ok is false if n is on
// none of them.
func (n Neighbor) For(hc *hyperv1.HostedCluster, ours []network.Attachment) (described network.OtherCluster, ok bool) {
	its := n.hostedCluster
	described = network.OtherCluster{Name: its.Namespace + "/" + its.Name, Older: Older(its, hc), SameAge: SameAge(its, hc), On: n.on, Serves: n.serves}
	if !slices.ContainsFunc(n.on, func(a network.Attachment) bool { return slices.ContainsFunc(ours, a.SameNetwork) }) {
		return described, false
	}
	described.Wants = n.wants()
	return described, true
}
