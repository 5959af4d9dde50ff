package worker

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestMissing: the object that does not exist yet is named, with what makes it and what the one before reports.
func TestMissing(t *testing.T) {
	pool := unstructured.Unstructured{Object: map[string]any{"kind": "NodePool", "metadata": map[string]any{"name": "blue"}, "status": map[string]any{"conditions": []any{
		map[string]any{"type": "UpdatingConfig", "status": "False", "message": "of no interest"},
		map[string]any{"type": "AllMachinesReady", "status": "False", "message": "No Machines are created"},
		map[string]any{"type": "ValidGeneratedPayload", "status": "False", "message": "no token Secret"},
	}}}}
	quiet := unstructured.Unstructured{Object: map[string]any{}}
	for name, c := range map[string]struct {
		found map[string]unstructured.Unstructured
		want  string
	}{
		"no NodePool":         {nil, "HyperShift's command line has not made a NodePool"},
		"no machines":         {map[string]unstructured.Unstructured{"NodePool": pool}, "HyperShift has not made a MachineDeployment; NodePool blue: ValidGeneratedPayload is False: no token Secret"},
		"no virtual machines": {map[string]unstructured.Unstructured{"NodePool": pool, "MachineDeployment": quiet, "Machine": quiet}, "Cluster API's provider for KubeVirt has not made a VirtualMachine"},
		"all": {map[string]unstructured.Unstructured{
			"NodePool": pool, "MachineDeployment": quiet, "Machine": quiet, "VirtualMachine": quiet, "VirtualMachineInstance": quiet,
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(missing(func(kind schema.GroupVersionKind) (all []unstructured.Unstructured, _ error) {
				if o, ok := c.found[kind.Kind]; ok {
					all = append(all, o)
				}
				return all, nil
			})).To(Equal(c.want))
		})
	}
	down := func(schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
		return nil, errors.New("connection refused")
	}
	NewWithT(t).Expect(missing(down)).To(Equal("connection refused"))
}
