// This file reads what commands show about a hosted cluster. It decodes only metadata and conditions.

package hcp

import (
	"fmt"
	"time"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cldmnky/oooi/hcp/objects"
)

// A LiveCluster is the part of a HostedCluster in the API server that commands show.
type LiveCluster struct {
	Namespace, Name string
	// ControlPlane is the namespace of the hosted control plane.
	ControlPlane string
	// OptedIn is the result of the function OptedIn.
	OptedIn bool
	// Generation is metadata.generation.
	Generation int64
	// Restored is true from a restore from a backup until HyperShift has finished it (annotation restored-from-backup).
	Restored   bool
	Conditions []metav1.Condition
}

// Recovering returns the time at which HyperShift began to restore the cluster from a backup. It returns the zero time
// if no restore is in progress. Clusters that were never restored have the condition, too, with status Unknown.
func (c LiveCluster) Recovering() time.Time {
	r := meta.FindStatusCondition(c.Conditions, string(hyperv1.HostedClusterRestoredFromBackup))
	if !c.Restored || r == nil || r.Status == metav1.ConditionTrue {
		return time.Time{}
	}
	return r.LastTransitionTime.UTC()
}

// NewHostedCluster returns an empty HostedCluster to read into.
func NewHostedCluster() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(hyperv1.GroupVersion.WithKind("HostedCluster"))
	return u
}

// NewHostedClusters returns an empty list of HostedClusters to read into.
func NewHostedClusters() *unstructured.UnstructuredList {
	u := &unstructured.UnstructuredList{}
	u.SetGroupVersionKind(hyperv1.GroupVersion.WithKind("HostedClusterList"))
	return u
}

// UnreadLiveCluster returns the LiveCluster for a HostedCluster that has not been read. Only its names are set.
func UnreadLiveCluster(namespace, name string) LiveCluster {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	return LiveCluster{Namespace: namespace, Name: name, ControlPlane: objects.ControlPlaneNamespace(hc)}
}

// ReadLiveCluster reads a HostedCluster.
func ReadLiveCluster(u *unstructured.Unstructured) (LiveCluster, error) {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: u.GetNamespace(), Name: u.GetName(), Annotations: u.GetAnnotations()}}
	out := LiveCluster{Namespace: hc.Namespace, Name: hc.Name, ControlPlane: objects.ControlPlaneNamespace(hc), OptedIn: OptedIn(hc), Generation: u.GetGeneration()}
	_, out.Restored = hc.Annotations[hyperv1.HostedClusterRestoredFromBackupAnnotation]
	all, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	if err != nil {
		return out, fmt.Errorf("HostedCluster %s/%s: %w", hc.Namespace, hc.Name, err)
	}
	for _, x := range all {
		var c metav1.Condition
		fields, ok := x.(map[string]any)
		if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c) != nil {
			continue // another controller's condition, in another format
		}
		out.Conditions = append(out.Conditions, c)
	}
	return out, nil
}

// NodePoolKind returns the kind of a NodePool.
func NodePoolKind() schema.GroupVersionKind { return hyperv1.GroupVersion.WithKind("NodePool") }

// NADKind returns the kind of a NetworkAttachmentDefinition.
func NADKind() schema.GroupVersionKind {
	return nadv1.SchemeGroupVersion.WithKind("NetworkAttachmentDefinition")
}
