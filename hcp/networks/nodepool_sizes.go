// This file computes the largest number of VMs that a NodePool can have at once, and what each of them needs.

package networks

import (
	"cmp"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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

// VMRequests returns what each VM of a NodePool requests of its node at least, by the NodePool's name. It leaves out memory
// that a patch may change.
func VMRequests(o objects.Objects) map[string]corev1.ResourceList {
	all, ofAll := map[string]corev1.ResourceList{}, patchOf(o.HostedCluster.Annotations)
	for _, np := range o.NodePools {
		kv, out := np.Spec.Platform.Kubevirt, corev1.ResourceList{}
		if all[np.Name] = out; kv == nil {
			continue
		}
		for _, device := range kv.KubevirtHostDevices {
			q := out[corev1.ResourceName(device.DeviceName)]
			q.Add(*resource.NewQuantity(int64(cmp.Or(device.Count, 1)), resource.DecimalSI))
			out[corev1.ResourceName(device.DeviceName)] = q
		}
		if c := kv.Compute; c != nil && c.Memory != nil && !ofAll.touches(patchedDomain) && !patchOf(np.Annotations).touches(patchedDomain) {
			out[corev1.ResourceMemory] = *c.Memory
		}
	}
	return all
}

// Architectures returns the architecture of the image that VMs of each NodePool boot, by its name, or "" if the user chose
// the image. HyperShift has images of two architectures (defaultImage in nodepool/kubevirt/kubevirt.go). A VM has the
// architecture of its node.
func Architectures(o objects.Objects) map[string]string {
	out := map[string]string{}
	for _, np := range o.NodePools {
		switch kv := np.Spec.Platform.Kubevirt; {
		case kv != nil && kv.RootVolume != nil && kv.RootVolume.Image != nil:
		case np.Spec.Arch == hyperv1.ArchitectureS390X:
			out[np.Name] = np.Spec.Arch
		default:
			out[np.Name] = hyperv1.ArchitectureAMD64
		}
	}
	return out
}
