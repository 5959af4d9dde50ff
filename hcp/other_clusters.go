// This file describes the other hosted clusters on the same layer-2 networks. Package derive resolves the conflicts.

package hcp

import (
	"slices"
	"sync"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
)

// A Neighbor is a hosted cluster that may share networks with other hosted clusters. The plan that it wants is derived
// at most once, when For first needs it.
type Neighbor struct {
	hostedCluster *hyperv1.HostedCluster
	on            []network.Attachment
	wants         func() network.Plan
	serves        network.Plan
	vms           func() []network.VMAddress
}

// NewNeighbor returns the Neighbor for the hosted cluster of o, whose plan in force is serves.
func NewNeighbor(o objects.Objects, serves network.Plan) Neighbor {
	return Neighbor{hostedCluster: o.HostedCluster, on: networks.All(o, serves), serves: serves, vms: func() []network.VMAddress { return networks.VMAddresses(o) }, wants: sync.OnceValue(func() network.Plan {
		if !OptedIn(o.HostedCluster) || !o.HostedCluster.DeletionTimestamp.IsZero() {
			return network.Plan{}
		}
		request, facts := Translate(o, serves)
		wants, _ := derive.Derive(request, facts, serves, nil).Plan()
		return wants
	})}
}

// For describes n to another hosted cluster hc, which is on the networks ours. ok is false if n is on none of these networks.
func (n Neighbor) For(hc *hyperv1.HostedCluster, ours []network.Attachment) (described derive.OtherCluster, ok bool) {
	described = other(n.hostedCluster, hc, n.on)
	described.Serves, described.Unserved = n.serves, !OptedIn(n.hostedCluster) && len(n.serves.Networks) == 0
	if !slices.ContainsFunc(n.on, func(a network.Attachment) bool { return slices.ContainsFunc(ours, a.SameNetwork) }) {
		return described, false
	}
	described.Wants, described.VMAddresses = n.wants(), n.vms()
	return described, true
}

// Unserved describes its, a hosted cluster that did not opt in, to another one, hc. on are networks of its NodePools.
func Unserved(its, hc *hyperv1.HostedCluster, on []network.Attachment) derive.OtherCluster {
	described := other(its, hc, on)
	described.Unserved = true
	return described
}

// MayUseNetworks reports whether VMs of hc, which did not opt in, may use networks of this management cluster. Credentials
// may place its VMs on another cluster. vmsHere reports whether VMs of hc are on this one.
func MayUseNetworks(hc *hyperv1.HostedCluster, vmsHere bool) bool {
	kv := hc.Spec.Platform.Kubevirt
	return hc.DeletionTimestamp.IsZero() && (vmsHere || kv == nil || kv.Credentials == nil)
}

func other(its, hc *hyperv1.HostedCluster, on []network.Attachment) derive.OtherCluster {
	return derive.OtherCluster{Name: its.Namespace + "/" + its.Name, Older: objects.Older(its, hc), SameAge: objects.SameAge(its, hc), On: on}
}
