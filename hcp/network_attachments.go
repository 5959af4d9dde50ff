// This file decides whether edges can join the network that a NodePool names:
// its NetworkAttachmentDefinition exists, VMs may use it, and package nad can
// read it.

package hcp

import (
	"maps"
	"slices"
	"strings"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/network"
)

// attachment completes seg's attachment from its definition. A zero Attachment
// leaves the network out.
func attachment(o Objects, seg network.NetworkRequest) (network.Attachment, network.Problems) {
	a, pools := seg.Attachment, strings.Join(seg.NodePools, ", ")
	if part := nad.InvalidPart(a); part != "" {
		return network.Attachment{}, network.Problems{unserved(seg, network.NADNameInvalid, network.Args{"part": part,
			"nad": strings.TrimPrefix(a.String(), "/"), "nodePools": pools, "example": ControlPlaneNamespace(o.HostedCluster) + "/vlan100"})}
	}
	said, forbidden := isolated(o, seg)
	if forbidden {
		return network.Attachment{}, said
	}
	found, ok := definition(o, a)
	if !ok && o.Partial {
		return a, append(said, nad.Problem(network.NADNotGiven, a, nil))
	}
	if !ok {
		return network.Attachment{}, network.Problems{unserved(seg, network.NADNotFound, network.Args{"nodePools": pools, "types": nad.SupportedKinds})}
	}
	a, problem := nad.Attach(read(found), nodesForEdges(o))
	if problem != nil {
		return network.Attachment{}, network.Problems{leftOut(seg, *problem)}
	}
	return a, said
}

// unserved is a problem that keeps seg from being served.
func unserved(seg network.NetworkRequest, c network.Cause, args network.Args) network.Problem {
	return leftOut(seg, nad.Problem(c, seg.Attachment, args))
}

// leftOut is p, which blocks where VMs boot by seg; else only seg is left out.
func leftOut(seg network.NetworkRequest, p network.Problem) network.Problem {
	if !seg.Primary && p.Severity == network.SeverityError {
		p.Severity = network.SeverityWarning
	}
	return p
}

// read is what package nad needs of a NetworkAttachmentDefinition.
func read(n nadv1.NetworkAttachmentDefinition) nad.Object {
	d := nad.Object{Namespace: n.Namespace, Name: n.Name, ResourceName: n.Annotations[wire.AnnotationResourceName], Config: n.Spec.Config}
	for _, owner := range n.OwnerReferences {
		if owner.Kind == "ClusterUserDefinedNetwork" || owner.Kind == "UserDefinedNetwork" {
			d.UserDefined = nad.Owner{Kind: owner.Kind, Name: owner.Name}
		}
	}
	return d
}

// nodesForEdges is what edges find on the management cluster's nodes.
func nodesForEdges(o Objects) nad.Nodes {
	nodes := nad.Nodes{ForwardByDefault: forwardByDefault(o)}
	if o.Partial && len(o.Nodes) == 0 {
		return nodes
	}
	nodes.Resources = map[string]bool{}
	for _, n := range o.Nodes {
		for name, q := range n.Status.Allocatable {
			if !q.IsZero() {
				nodes.Resources[string(name)] = true
			}
		}
	}
	return nodes
}

// forwardByDefault says whether the container runtime of some Linux node may leave
// forwarding on in new pods: any runtime but CRI-O. A node that has not reported
// its runtime counts as CRI-O. An edge that would forward does not serve, so a
// wrong guess is seen and does no harm.
func forwardByDefault(o Objects) bool {
	for _, n := range o.Nodes {
		info := n.Status.NodeInfo
		if info.ContainerRuntimeVersion == "" {
			continue
		}
		if info.OperatingSystem != "windows" && !strings.HasPrefix(info.ContainerRuntimeVersion, "cri-o://") {
			return true
		}
	}
	return false
}

// isolated says that Multus keeps the VMs from a definition in another namespace:
// forbidden where Multus was seen to isolate, else a warning. A VM that runs on
// the network shows that Multus does not.
func isolated(o Objects, seg network.NetworkRequest) (ps network.Problems, forbidden bool) {
	a, own := seg.Attachment, ControlPlaneNamespace(o.HostedCluster)
	allowed := nad.AllowedNamespaces(own)
	if slices.Contains(allowed, a.Namespace) || runsOn(o.VMs, a) {
		return nil, false
	}
	args := network.Args{"namespace": own, "nodePools": strings.Join(seg.NodePools, ", ")}
	if !o.MultusIsolates {
		return network.Problems{unserved(seg, network.NADNamespaceDiffers, args)}, false
	}
	args["allowed"] = strings.Join(allowed, ", ")
	return network.Problems{unserved(seg, network.NADNamespaceIsolated, args)}, true
}

// runsOn says whether a VM was given an interface on a.
func runsOn(machines []kubevirtv1.VirtualMachineInstance, a network.Attachment) bool {
	return slices.ContainsFunc(machines, func(m kubevirtv1.VirtualMachineInstance) bool {
		return slices.ContainsFunc(m.Spec.Networks, func(n kubevirtv1.Network) bool {
			has := slices.ContainsFunc(m.Status.Interfaces, func(i kubevirtv1.VirtualMachineInstanceNetworkInterface) bool { return i.Name == n.Name })
			return has && n.Multus != nil && nad.ParseName(n.Multus.NetworkName, m.Namespace) == a
		})
	})
}

func definition(o Objects, a network.Attachment) (nadv1.NetworkAttachmentDefinition, bool) {
	for _, n := range o.NetworkAttachmentDefinitions {
		if n.Namespace == a.Namespace && n.Name == a.Name {
			return n, true
		}
	}
	return nadv1.NetworkAttachmentDefinition{}, false
}

// NamedNADs are the NetworkAttachmentDefinitions that o's NodePools name,
// sorted: what a caller must read for Translate.
func NamedNADs(o Objects) []network.Attachment {
	seen := map[network.Attachment]bool{}
	for _, np := range o.NodePools {
		for _, a := range attachments(o.HostedCluster, np) {
			seen[a] = true
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b network.Attachment) int { return strings.Compare(a.String(), b.String()) })
}
