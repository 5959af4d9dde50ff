// Package own decides which objects in control plane namespaces belong to oooi, and defines their names. Package wire
// defines the names that edges use as well.
package own

import (
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/settings"
)

const (
	// ConditionType is the type of oooi's condition in the HostedCluster's status.
	ConditionType = settings.Prefix + "NetworkReady"
	// ControlPlaneRole is the name of the ClusterRole with the operator's rights in a control plane namespace, and of its
	// RoleBinding there.
	ControlPlaneRole = "oooi-controlplane"

	// NameOperator is the value of wire.LabelName on objects of the operator itself.
	NameOperator = "oooi-operator"
)

// Labels returns the labels of every object of oooi, and of the leases that edges write.
func Labels() labels.Set { return wire.OwnedLabels() }

// ClusterName returns "namespace/name" of hc, as logs and metrics show it.
func ClusterName(hc *hyperv1.HostedCluster) string { return hc.Namespace + "/" + hc.Name }

// ConditionOf returns oooi's condition on hc, or nil.
func ConditionOf(hc *hyperv1.HostedCluster) *metav1.Condition {
	return meta.FindStatusCondition(hc.Status.Conditions, ConditionType)
}
