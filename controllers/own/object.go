// This file makes objects of oooi from apply configurations.

package own

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/edge/wire"
)

// Object returns a typed apply configuration as unstructured, owned by its HostedControlPlane.
func Object(controlPlane *metav1.PartialObjectMetadata, typed any) *unstructured.Unstructured {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		panic(fmt.Sprintf("controllers: what we build can always be converted: %v", err))
	}
	return Owned(controlPlane, &unstructured.Unstructured{Object: m})
}

// Owned sets the HostedControlPlane as owner of u, so that u is deleted with it, and excludes u from backups. It sets
// neither controller nor blockOwnerDeletion: for either of them, OpenShift requires rights on the owner's finalizers.
func Owned(controlPlane *metav1.PartialObjectMetadata, u *unstructured.Unstructured) *unstructured.Unstructured {
	version, kind := HostedControlPlaneKind.ToAPIVersionAndKind()
	u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: controlPlane.Name, UID: controlPlane.UID}})
	u.SetLabels(wire.Written(u.GetLabels()))
	return u
}

// Binding returns the RoleBinding that gives the operator ControlPlaneRole in the namespace of a control plane.
func Binding(controlPlane *metav1.PartialObjectMetadata, account types.NamespacedName) *unstructured.Unstructured {
	return Object(controlPlane, desired.RoleBinding(ClusterRoleKind.Kind, ControlPlaneRole, controlPlane.Namespace, account.Name, account.Namespace).
		WithLabels(wire.NamedLabels(NameOperator)))
}
