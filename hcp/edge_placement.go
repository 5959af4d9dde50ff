// This file translates the number of edges, and the node selectors, tolerations and priority class for them. Package
// derive decides where edges run.

package hcp

import (
	"maps"
	"slices"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// edgeCount returns 1 or 2. The annotation edges overrides spec.controllerAvailabilityPolicy, whose default in
// HyperShift's API is HighlyAvailable.
func edgeCount(hc *hyperv1.HostedCluster, s settings.Values) int {
	switch {
	case s.Edges != 0:
		return s.Edges
	case hc.Spec.ControllerAvailabilityPolicy == hyperv1.SingleReplica:
		return 1
	}
	return 2
}

// EdgeNodeSelector returns the value of the annotation edge-node-selector. ok is
// false if the annotation is missing or invalid; Translate reports invalid values.
func EdgeNodeSelector(o objects.Objects) (labels map[string]string, ok bool) {
	s, _ := clusterSettings(o.HostedCluster)
	return maps.Clone(s.EdgeNodes), s.EdgeNodes != nil
}

// placement returns the node selectors, tolerations and priority class for edges.
func placement(o objects.Objects, s settings.Values) network.PlacementRequest {
	out := network.PlacementRequest{NodeSelector: maps.Clone(s.EdgeNodes), NodePools: networks.NodeSelectors(o), PriorityClass: o.Management.PriorityClass}
	for _, t := range networks.ControlPlaneTolerations(o.HostedCluster) {
		out.Tolerations = append(out.Tolerations, network.Toleration{Key: t.Key, Operator: string(t.Operator), Value: t.Value, Effect: string(t.Effect)})
	}
	for _, t := range o.HostedCluster.Spec.Tolerations {
		out.Tolerations = append(out.Tolerations, network.Toleration{
			Key: t.Key, Operator: string(t.Operator), Value: t.Value, Effect: string(t.Effect), Seconds: t.TolerationSeconds})
	}
	return out
}

// edgeNodesNotPermitted returns a problem if annotation edge-node-selector has labels that the administrator does not
// permit. The problem is an Error, since edges on other nodes may be unable to reach the network. Selectors of
// NodePools are not checked: HyperShift permits them for VMs.
func edgeNodesNotPermitted(o objects.Objects, s settings.Values) problem.Problems {
	labels := slices.DeleteFunc(slices.Sorted(maps.Keys(s.EdgeNodes)), o.Permissions.NodeLabel)
	if len(labels) == 0 {
		return nil
	}
	on := problem.Subject{Kind: "HostedCluster", Name: o.HostedCluster.Name}
	return problem.Problems{problem.New(problem.EdgeNodesNotPermitted, on,
		problem.Args{"labels": labels}, network.KeyEdgeNodeSelector)}
}
