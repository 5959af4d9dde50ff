// This file lists the networks that a hosted cluster is on, whether or not oooi serves it.

package networks

import (
	"maps"
	"slices"
	"strings"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"

	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
)

// Attached returns the networks that o's NodePools name or its VMs are attached
// to, sorted, with the details of their NetworkAttachmentDefinitions. o does not need
// to have opted in.
func Attached(o objects.Objects) []network.Attachment {
	seen := map[string]network.Attachment{}
	for _, a := range UsedNADs(o) {
		if _, again := seen[a.String()]; again {
			continue // Each VM uses one.
		}
		if known, _ := attachment(o, network.NetworkRequest{Attachment: a}); known.Name != "" {
			a = known
		}
		seen[a.String()] = a
	}
	return slices.SortedFunc(maps.Values(seen), func(a, b network.Attachment) int { return strings.Compare(a.String(), b.String()) })
}

// UsedNADs returns the NetworkAttachmentDefinitions that o's NodePools name or its VMs are attached
// to, with duplicates. They need not exist. o needs its HostedCluster only if it has NodePools.
func UsedNADs(o objects.Objects) []network.Attachment {
	return append(objects.NamedNADs(o), vmAttachments(o)...)
}

// Layer2 returns network.Attachment.Layer2 of n, whether or not nodes offer its devices. Empty:
// unknown.
func Layer2(n nadv1.NetworkAttachmentDefinition) string {
	a, _ := nad.Attach(nadObject(n), nad.Nodes{})
	return a.Layer2
}

// All returns the networks of o's NodePools and VMs, and those that its edges are on by last,
// its plan in force. One network is listed twice if its NAD was edited and VMs pin the previous one.
func All(o objects.Objects, last network.Plan) []network.Attachment {
	return append(Attached(o), last.Attachments()...)
}
