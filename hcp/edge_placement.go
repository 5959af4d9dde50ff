// This file reads how many edges a hosted cluster's networks get, and on which
// nodes its objects want them. Where edges run in the end is not decided here.

package hcp

import (
	"maps"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// edgeCount is what the user said, else as many as HyperShift means for what must
// outlive a node. An empty policy is HighlyAvailable: the API's own default.
func edgeCount(hc *hyperv1.HostedCluster, s settings.Values) int {
	switch {
	case s.Edges != 0:
		return s.Edges
	case hc.Spec.ControllerAvailabilityPolicy == hyperv1.SingleReplica:
		return 1
	}
	return 2
}

// EdgeNodeSelector is the labels of the nodes that edges run on, false where
// nobody said: then it is what the NodePools select. What can't be read is said
// by Translate, and counts for nothing here.
func EdgeNodeSelector(o Objects) (map[string]string, bool) {
	s, _ := clusterSettings(o.HostedCluster)
	return maps.Clone(s.EdgeNodes), s.EdgeNodes != nil
}

// placement is what o's objects say about nodes.
func placement(o Objects, s settings.Values) network.PlacementRequest {
	out := network.PlacementRequest{NodeSelector: maps.Clone(s.EdgeNodes), NodePools: map[string]map[string]string{}, PriorityClass: o.Management.PriorityClass}
	for _, np := range o.NodePools {
		if k := np.Spec.Platform.Kubevirt; k != nil {
			labels := map[string]string{}
			maps.Copy(labels, k.NodeSelector)
			out.NodePools[np.Name] = labels
		}
	}
	// HyperShift's own control plane pods have these two.
	for _, t := range [][2]string{{"control-plane", "true"}, {"cluster", ControlPlaneNamespace(o.HostedCluster)}} {
		out.Tolerations = append(out.Tolerations, network.Toleration{
			Key: "hypershift.openshift.io/" + t[0], Operator: string(corev1.TolerationOpEqual), Value: t[1], Effect: string(corev1.TaintEffectNoSchedule)})
	}
	for _, t := range o.HostedCluster.Spec.Tolerations {
		out.Tolerations = append(out.Tolerations, network.Toleration{
			Key: t.Key, Operator: string(t.Operator), Value: t.Value, Effect: string(t.Effect), Seconds: t.TolerationSeconds})
	}
	return out
}
