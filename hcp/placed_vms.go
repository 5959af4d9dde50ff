// This file reads on which node each VM runs, and what happens to the VM if its pod is evicted. Only commands use this file.

package hcp

import (
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An Eviction says what happens to a VM if its pod is evicted.
type Eviction string

// HyperShift sets the strategy External since 0.1.73: Cluster API drains the node and deletes the VM, and KubeVirt creates
// it again.
// KubeVirt migrates a VM, refuses its eviction, or stops it (pod-eviction-admitter.go). Without a strategy in the VM,
// a setting of KubeVirt decides.
const (
	EvictionReplaces Eviction = "replaces"
	EvictionMigrates Eviction = "migrates"
	EvictionRefused  Eviction = "refused"
	EvictionStops    Eviction = "stops"
	EvictionUnset    Eviction = "unset"
)

// A PlacedVM is a VM that is assigned to a node.
type PlacedVM struct {
	// NodePool is empty if HyperShift did not create the VM.
	Name, NodePool, Node string
	Eviction             Eviction
}

// PlacedVMs returns a PlacedVM for each VirtualMachineInstance that is assigned to a node.
func PlacedVMs(all []unstructured.Unstructured) (out []PlacedVM) {
	for _, u := range all {
		node, _, _ := unstructured.NestedString(u.Object, "status", "nodeName")
		strategy, _, _ := unstructured.NestedString(u.Object, "spec", "evictionStrategy")
		if node != "" {
			out = append(out, PlacedVM{u.GetName(), u.GetLabels()[hyperv1.NodePoolNameLabel], node, evictionOf(strategy, migratable(u))})
		}
	}
	return out
}

func evictionOf(strategy string, migratable bool) Eviction {
	switch {
	case strategy == "External":
		return EvictionReplaces
	case (strategy == "LiveMigrate" || strategy == "LiveMigrateIfPossible") && migratable:
		return EvictionMigrates
	case strategy == "LiveMigrate":
		return EvictionRefused
	case strategy == "":
		return EvictionUnset
	}
	return EvictionStops
}

func migratable(u unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "LiveMigratable" {
			return c["status"] == "True"
		}
	}
	return false
}
