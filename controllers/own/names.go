// Package own decides which objects in control plane namespaces are those of oooi, and what they are called. Names that an
// edge knows, too, are in edge/wire.
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
	// ConditionType is our condition in the HostedCluster's status.
	ConditionType = settings.Prefix + "NetworkReady"
	// ControlPlaneRole is the shipped ClusterRole that holds what the operator
	// writes in a control plane namespace; the RoleBinding has its name too.
	ControlPlaneRole = "oooi-controlplane"

	// NameOperator is the value of wire.LabelName on objects of the operator itself.
	NameOperator = "oooi-operator"
)

// Labels are on every object of oooi, and on the leases that edges write.
func Labels() labels.Set { return wire.OwnedLabels() }

// ClusterName is "namespace/name", as logs and metrics show it.
func ClusterName(hc *hyperv1.HostedCluster) string { return hc.Namespace + "/" + hc.Name }

// ConditionOf is our condition on hc, nil where it has none.
func ConditionOf(hc *hyperv1.HostedCluster) *metav1.Condition {
	return meta.FindStatusCondition(hc.Status.Conditions, ConditionType)
}
