// This file computes the largest number of VMs that a NodePool can have at once.

package networks

import (
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cldmnky/oooi/hcp/objects"
)

// NodePoolSizes returns the largest size of each NodePool by name, without VMs that a rolling update adds.
func NodePoolSizes(o objects.Objects) map[string]int {
	out := map[string]int{}
	for _, np := range o.NodePools {
		out[np.Name] = size(o.HostedCluster, np)
	}
	return out
}

// MaxNodes returns the largest number of nodes that all NodePools together can have at once. If
// spec.autoscaling.maxNodesTotal is above 0, the autoscaler stops there, but not below the sum of the NodePools' lower
// limits, each at least 1. The nodes that updates add are not limited.
func MaxNodes(o objects.Objects) int {
	least, most, added := 0, 0, 0
	for _, np := range o.NodePools {
		n := size(o.HostedCluster, np)
		most, added = most+n, added+maxVMs(o.HostedCluster, np)-n
		if a := np.Spec.AutoScaling; a != nil {
			n = max(int(a.Min), 1)
		}
		least += n
	}
	if total := o.HostedCluster.Spec.Autoscaling.MaxNodesTotal; total != nil && *total > 0 {
		most = max(min(most, int(*total)), least)
	}
	return most + added
}

// size returns the replicas of np, or the upper limit of its autoscaling. maxNodesTotal, if above 0, replaces a higher
// upper limit, but not below the lower limit.
func size(hc *hyperv1.HostedCluster, np hyperv1.NodePool) int {
	n := 0
	if np.Spec.Replicas != nil {
		n = int(*np.Spec.Replicas)
	}
	if a := np.Spec.AutoScaling; a != nil {
		most := a.Max
		if total := hc.Spec.Autoscaling.MaxNodesTotal; total != nil && *total > 0 {
			most = max(min(most, *total), a.Min)
		}
		n = max(n, int(most))
	}
	return max(n, 0)
}

// maxVMs returns the size of np and the VMs that a rolling update adds before it removes old ones (maxSurge of Cluster
// API, default 1).
func maxVMs(hc *hyperv1.HostedCluster, np hyperv1.NodePool) int {
	n := size(hc, np)
	if n == 0 {
		return 0
	}
	return n + surge(np.Spec.Management, n)
}

func surge(m hyperv1.NodePoolManagement, size int) int {
	if m.UpgradeType == hyperv1.UpgradeTypeInPlace || m.Replace != nil && m.Replace.Strategy == hyperv1.UpgradeStrategyOnDelete {
		return 0
	}
	if m.Replace == nil || m.Replace.RollingUpdate == nil || m.Replace.RollingUpdate.MaxSurge == nil {
		return 1
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(m.Replace.RollingUpdate.MaxSurge, size, true)
	if err != nil {
		return 1
	}
	return max(n, 0)
}
