// This file indexes the objects of one hosted cluster once, so that the cost of each network does not depend on the
// number of networks.

package networks

import (
	"sync"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
)

// An indexed holds the objects of one hosted cluster, with indexes by network and by NodePool.
type indexed struct {
	objects.Objects
	nads map[network.Attachment]nadv1.NetworkAttachmentDefinition
	// byName has the NodePools by name. They are shared and must not be changed.
	byName map[string]*hyperv1.NodePool
	// first has, for each network, the NodePools that list it first, in the order of the objects.
	first map[network.Attachment][]*hyperv1.NodePool
	// attached are the networks on which some VM certainly has an interface.
	attached map[network.Attachment]bool
	// firstOfOVN returns the oldest NAD of each network of OVN-Kubernetes, by the network's name.
	firstOfOVN func() map[string]nadv1.NetworkAttachmentDefinition
	// ofCluster returns the patch of the HostedCluster, which applies to the VMs of all NodePools.
	ofCluster func() patch
	nodes     nad.Nodes
	// mappedOn are the physical networks of OVN-Kubernetes that a node maps to bridges, by the name of the node.
	mappedOn        map[string]map[string]bool
	isolates, shown bool
}

func index(o objects.Objects) indexed {
	mapped, mappedOn := o.Devices.Mapped()
	x := indexed{Objects: o, nads: map[network.Attachment]nadv1.NetworkAttachmentDefinition{}, byName: map[string]*hyperv1.NodePool{},
		first: map[network.Attachment][]*hyperv1.NodePool{}, attached: map[network.Attachment]bool{}, nodes: nodesForEdges(o, mapped), mappedOn: mappedOn}
	x.firstOfOVN = sync.OnceValue(func() map[string]nadv1.NetworkAttachmentDefinition {
		out := map[string]nadv1.NetworkAttachmentDefinition{}
		for _, n := range o.NetworkAttachmentDefinitions {
			of, isOVN := nad.OVNNetworkOf(nadObject(n))
			if first, known := out[of.Name]; isOVN && (!known || objects.Older(&n, &first)) {
				out[of.Name] = n
			}
		}
		return out
	})
	x.ofCluster = sync.OnceValue(func() patch { return patchOf(o.HostedCluster.Annotations) })
	x.isolates, x.shown = o.Management.Isolates(o.Nodes)
	for _, n := range o.NetworkAttachmentDefinitions {
		if a := (network.Attachment{Namespace: n.Namespace, Name: n.Name}); x.nads[a].Name == "" {
			x.nads[a] = n
		}
	}
	for i := range o.NodePools {
		np := &o.NodePools[i]
		if x.byName[np.Name] == nil {
			x.byName[np.Name] = np
		}
		if all := objects.Attachments(o.HostedCluster, *np); len(all) > 0 {
			x.first[all[0]] = append(x.first[all[0]], np)
		}
	}
	for _, vm := range o.VMs {
		for _, a := range AttachedTo(vm) {
			x.attached[a] = true
		}
	}
	return x
}

func (x indexed) nad(a network.Attachment) (found nadv1.NetworkAttachmentDefinition, ok bool) {
	found, ok = x.nads[named(a)]
	return found, ok
}

// named returns only the namespace and the name of a, as NodePools name it.
func named(a network.Attachment) network.Attachment {
	return network.Attachment{Namespace: a.Namespace, Name: a.Name}
}
