// This file lists the networks that a hosted cluster is on, whether or not oooi serves it. It also finds networks that
// VMs are on and whose addresses are unknown, such as a storage network with a DHCP server of its own. VMs may reach any
// address there.

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

// Attached returns the networks that o's NodePools name or its VMs are attached to, sorted, with the details of their
// NADs. The hosted cluster need not have opted in. At most objects.MaxNetworks networks of VMs are included.
func Attached(o objects.Objects) []network.Attachment { return attached(index(o)) }

func attached(o indexed) []network.Attachment {
	byName := func(a, b network.Attachment) int { return strings.Compare(a.String(), b.String()) }
	used := map[network.Attachment]bool{}
	for _, a := range vmAttachments(o.Objects) {
		used[a] = true
	}
	ofVMs := slices.SortedFunc(maps.Keys(used), byName)
	all := append(objects.NamedNADs(o.Objects), ofVMs[:min(len(ofVMs), objects.MaxNetworks)]...)
	slices.SortFunc(all, byName)
	all = slices.Compact(all)
	for i, a := range all {
		if known, _ := attachment(o, network.NetworkRequest{Attachment: a}); known.Name != "" {
			all[i] = known
		}
	}
	return all
}

// UsedNADs returns the NetworkAttachmentDefinitions that o's NodePools name or its VMs are attached to, with
// duplicates. They need not exist. UsedNADs reads o.HostedCluster only if o has NodePools.
func UsedNADs(o objects.Objects) []network.Attachment {
	return append(objects.NamedNADs(o), vmAttachments(o)...)
}

// Layer2 returns the value of network.Attachment.Layer2 for n, even if no node offers the device that n needs. It is
// empty if that value is unknown.
func Layer2(n nadv1.NetworkAttachmentDefinition) string {
	a, _ := nad.Attach(nadObject(n), nad.Nodes{})
	return a.Layer2
}

// All returns the networks of a hosted cluster's NodePools and VMs, and the networks in last, its plan in force. A
// network is listed twice if its NAD was edited and VMs pin the previous version. Networks whose NAD the VMs are not
// allowed to use are left out.
func All(of objects.Objects, last network.Plan) []network.Attachment {
	o := index(of)
	on := slices.DeleteFunc(attached(o), func(a network.Attachment) bool {
		found, _ := o.nad(a)
		_, forbidden := isolated(o, network.NetworkRequest{Attachment: named(a)}, found)
		return forbidden
	})
	return append(on, last.Attachments()...)
}

// withUnserved returns a copy of networks with UnservedNetworks set. It is true if each NodePool of the network also
// has another network that is not requested or has no CIDR.
func withUnserved(o indexed, networks []network.NetworkRequest) []network.NetworkRequest {
	known := map[string]bool{}
	for _, s := range networks {
		known[s.Attachment.NetworkName()] = s.CIDR.IsValid()
	}
	out := slices.Clone(networks)
	for i, s := range out {
		elsewhere := func(a network.Attachment) bool {
			return a.NetworkName() != s.Attachment.NetworkName() && !known[a.NetworkName()]
		}
		only := func(name string) bool {
			np := o.byName[name]
			return np == nil || !slices.ContainsFunc(objects.Attachments(o.HostedCluster, *np), elsewhere)
		}
		out[i].UnservedNetworks = len(s.NodePools) > 0 && !slices.ContainsFunc(s.NodePools, only)
	}
	return out
}
