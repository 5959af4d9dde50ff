// This file reads what the management cluster's nodes offer to VMs and edges.

package networks

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

func nodesForEdges(o objects.Objects) nad.Nodes {
	nodes := nad.Nodes{ForwardByDefault: forwardByDefault(o), OVN: o.Management.RunsOVN(o.Nodes)}
	reported := o.ReportedNodes()
	if o.Partial && len(reported) == 0 {
		return nodes
	}
	nodes.Resources = map[string]bool{}
	for _, n := range reported {
		for name, q := range n.Status.Allocatable {
			if !q.IsZero() {
				nodes.Resources[string(name)] = true
			}
		}
	}
	return nodes
}

// forwardByDefault reports whether some Linux node has a container runtime other than CRI-O, which might leave IPv4
// forwarding enabled in new pods. A node that has not reported its runtime counts as CRI-O. That is safe: an edge with
// forwarding enabled does not become ready.
func forwardByDefault(o objects.Objects) bool {
	return slices.ContainsFunc(o.Nodes, func(n corev1.Node) bool {
		info := n.Status.NodeInfo
		return info.ContainerRuntimeVersion != "" && info.OperatingSystem != "windows" && !strings.HasPrefix(info.ContainerRuntimeVersion, "cri-o://")
	})
}

// withoutResource returns Warnings if all nodes that a node selector allows lack a resource that other nodes offer: nodes
// for VMs of one NodePool and a NAD that it names, or nodes for edges and one of requested. A selector that matches no
// node is not the topic. The operator does not cache the labels of nodes, so only files show them.
func withoutResource(o indexed, edges map[string]string, requested []network.NetworkRequest) (ps problem.Problems) {
	nodes := o.ReportedNodes()
	lacks := func(selector map[string]string, resource string) bool {
		if !o.nodes.Resources[resource] {
			return false // Another problem says that no node offers it.
		}
		matches, offers := false, false
		for _, n := range nodes {
			if q := n.Status.Allocatable[corev1.ResourceName(resource)]; selected(n, selector) {
				matches, offers = true, offers || !q.IsZero()
			}
		}
		return matches && !offers
	}
	for _, np := range oldestFirst(o.NodePools) {
		k := np.Spec.Platform.Kubevirt
		if k == nil || len(k.NodeSelector) == 0 || size(o.HostedCluster, np) == 0 {
			continue
		}
		for _, a := range objects.Attachments(o.HostedCluster, np) {
			found, _ := o.nad(a)
			resource := found.Annotations[wire.AnnotationResourceName]
			if lacks(k.NodeSelector, resource) {
				ps = append(ps, problem.New(problem.VMsWithoutResource, problem.Subject{Kind: string(settings.OnNodePool), Name: np.Name},
					problem.Args{"nodePools": {np.Name}, "resource": {resource}, "nad": {a.String()}}, "spec.platform.kubevirt.nodeSelector"))
			}
		}
	}
	for _, s := range requested {
		if a := s.Attachment; len(edges) > 0 && lacks(edges, a.ResourceName) {
			ps = append(ps, a.Problem(problem.EdgesWithoutResource, problem.Args{"key": {network.KeyEdgeNodeSelector}, "resource": {a.ResourceName}}, network.KeyEdgeNodeSelector))
		}
	}
	return ps
}

// selected reports whether n has each label of selector.
func selected(n corev1.Node, selector map[string]string) bool {
	for key, value := range selector {
		if v, ok := n.Labels[key]; !ok || v != value {
			return false
		}
	}
	return true
}
