// This file says what a worker waits for, from the state of objects. It does not wait.

package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/test/testbed/hypershift"
)

// lineage are the kinds from a HostedCluster to a VM, in the order in which they are created from each other. maker is the component
// that creates objects of the kind.
var lineage = []struct {
	schema.GroupVersionKind
	maker string
}{
	{schema.GroupVersionKind{Group: "hypershift.openshift.io", Version: "v1beta1", Kind: "NodePool"}, "HyperShift's command line"},
	{schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta1", Kind: "MachineDeployment"}, "HyperShift"},
	{schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta1", Kind: "Machine"}, "Cluster API"},
	{schema.GroupVersionKind{Group: "kubevirt.io", Version: "v1", Kind: "VirtualMachine"}, "Cluster API's provider for KubeVirt"},
	{schema.GroupVersionKind{Group: "kubevirt.io", Version: "v1", Kind: "VirtualMachineInstance"}, "KubeVirt"},
}

// A lister returns the objects of a kind that belong to one hosted cluster.
type lister func(schema.GroupVersionKind) ([]unstructured.Unstructured, error)

// listerFor returns a lister for the hosted cluster with this control plane namespace.
func listerFor(ctx context.Context, c client.Client, namespace string) lister {
	return func(kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if kind.Kind != "NodePool" {
			err := c.List(ctx, list, client.InNamespace(namespace))
			return list.Items, err
		}
		err := c.List(ctx, list, client.InNamespace(hypershift.Namespace))
		return slices.DeleteFunc(list.Items, func(o unstructured.Unstructured) bool {
			cluster, _, _ := unstructured.NestedString(o.Object, "spec", "clusterName")
			return hypershift.ControlPlaneNamespace(cluster) != namespace
		}), err
	}
}

// missing says which is the first kind in lineage without an object, and what the object of the kind before it reports. Empty: all
// exist.
func missing(list lister) string {
	var before []unstructured.Unstructured
	for _, kind := range lineage {
		found, err := list(kind.GroupVersionKind)
		switch {
		case err != nil:
			return err.Error()
		case len(found) == 0:
			return fmt.Sprintf("%s has not made a %s%s", kind.maker, kind.Kind, complaint(before))
		}
		before = found
	}
	return ""
}

// reasons are the types of conditions that say why nothing was created from an object yet. The most specific ones come first.
var reasons = []string{"ValidReleaseImage", "ValidPlatformConfig", "ValidGeneratedPayload", "BootstrapReady", "InfrastructureReady", "Available", "AllMachinesReady", "Ready"}

// complaint returns the first of reasons that the first object has as a condition, in words. Empty: it has none.
func complaint(objects []unstructured.Unstructured) string {
	if len(objects) == 0 {
		return ""
	}
	conditions, _, _ := unstructured.NestedSlice(objects[0].Object, "status", "conditions")
	for _, kind := range reasons {
		for _, c := range conditions {
			if c, _ := c.(map[string]any); c["type"] == kind && c["status"] == string(core.ConditionFalse) {
				return fmt.Sprintf("; %s %s: %s is False: %v", objects[0].GetKind(), objects[0].GetName(), kind, c["message"])
			}
		}
	}
	return ""
}

// awaitedVM says what the VMs of a control plane namespace wait for.
func awaitedVM(ctx context.Context, c client.Client, namespace string) string {
	if what := missing(listerFor(ctx, c, namespace)); what != "" {
		return what
	}
	_, waiting, err := VMs(ctx, c, namespace)
	if err != nil {
		return err.Error()
	}
	return "VirtualMachineInstances that are not complete: " + strings.Join(waiting, ", ")
}

// awaitedNode says what the node of b waits for.
func (b *boot) awaitedNode(ctx context.Context) string {
	node, err := b.guest.CoreV1().Nodes().Get(ctx, b.VM.Name, meta.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "the node to register: " + requested(ctx, b.guest)
	}
	if err != nil {
		return "the API server of the hosted cluster: " + err.Error()
	}
	for _, c := range node.Status.Conditions {
		if c.Type == core.NodeReady {
			return "the node to be Ready: " + c.Message
		}
	}
	return "the node to be Ready"
}

// telling calls report each second with the result of text, until stop is called. If report is nil, it does nothing.
func telling(report func(string), text func() string) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for report != nil {
			select {
			case <-end:
				return
			case <-tick.C:
				report(text())
			}
		}
	}()
	return func() { close(end); <-ended }
}
