package hcp_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/hcp"
)

// TestPlacedVMs: the effect of an eviction on a VM depends on its strategy, and on whether KubeVirt can migrate the VM.
func TestPlacedVMs(t *testing.T) {
	for name, c := range map[string]struct {
		strategy, migratable string
		want                 hcp.Eviction
	}{
		"HyperShift's VMs":           {"External", "True", hcp.EvictionReplaces},
		"migrates":                   {"LiveMigrate", "True", hcp.EvictionMigrates},
		"cannot migrate":             {"LiveMigrate", "False", hcp.EvictionRefused},
		"migrates if possible":       {"LiveMigrateIfPossible", "True", hcp.EvictionMigrates},
		"not possible":               {"LiveMigrateIfPossible", "False", hcp.EvictionStops},
		"no strategy":                {"", "True", hcp.EvictionUnset},
		"stops":                      {"None", "True", hcp.EvictionStops},
		"a strategy of a newer kind": {"Teleport", "True", hcp.EvictionStops},
	} {
		t.Run(name, func(t *testing.T) {
			vm := unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"name": "vm-1", "labels": map[string]any{"hypershift.openshift.io/nodepool-name": "blue"}},
				"spec":     map[string]any{"evictionStrategy": c.strategy},
				"status":   map[string]any{"nodeName": "a", "conditions": []any{map[string]any{"type": "LiveMigratable", "status": c.migratable}}},
			}}
			all := hcp.PlacedVMs([]unstructured.Unstructured{vm, {Object: map[string]any{"metadata": map[string]any{"name": "pending"}}}})
			NewWithT(t).Expect(all).To(Equal([]hcp.PlacedVM{{Name: "vm-1", NodePool: "blue", Node: "a", Eviction: c.want}}))
		})
	}
}
