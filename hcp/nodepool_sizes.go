// This file decides how many machines a NodePool may ever have at once. It says
// nothing of how many it has.

package hcp

import (
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// NodePoolSizes are the largest sizes of o's NodePools by name, without what an update
// adds for a while.
func NodePoolSizes(o Objects) map[string]int {
	out := map[string]int{}
	for _, np := range o.NodePools {
		out[np.Name] = size(np)
	}
	return out
}

// size of np, or the upper limit of its autoscaling.
func size(np hyperv1.NodePool) int {
	n := 0
	if np.Spec.Replicas != nil {
		n = int(*np.Spec.Replicas)
	}
	if a := np.Spec.AutoScaling; a != nil {
		n = max(n, int(a.Max))
	}
	return max(n, 0)
}

// machines is the largest number of machines of np: its size, and those that a
// rolling update makes before it removes old ones (Cluster API's maxSurge, by
// default 1).
func machines(np hyperv1.NodePool) int {
	n := size(np)
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
