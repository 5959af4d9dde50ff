// This file decides what the operator's own objects are called. Names that an edge
// knows too stand in edge/wire. It never reads anything.

package controllers

import (
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
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

	// nameOperator is the value of wire.LabelName on objects of the operator itself.
	nameOperator = "oooi-operator"
)

// ownedLabels are on every object of ours, and on the leases that edges write.
func ownedLabels() labels.Set { return wire.OwnedLabels() }

// clusterName is "namespace/name", as logs and metrics show it.
func clusterName(hc *hyperv1.HostedCluster) string { return hc.Namespace + "/" + hc.Name }
