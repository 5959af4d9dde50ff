// This file has the conditions in which HyperShift reports that it creates no control plane or no nodes.

package lenient

import (
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RefusesCluster reports whether HyperShift creates and changes nothing of a hosted control plane while its HostedCluster has c. Its
// hostedcluster_controller.go and hostedcontrolplane_controller.go name these conditions where they block ("Block here"). Others that
// are False report what is not done yet, or what nodes do not need.
func RefusesCluster(c metav1.Condition) bool {
	return c.Status == metav1.ConditionFalse && slices.Contains([]hyperv1.ConditionType{hyperv1.ValidHostedClusterConfiguration,
		hyperv1.SupportedHostedCluster, hyperv1.ValidReleaseImage, hyperv1.ValidHostedControlPlaneConfiguration}, hyperv1.ConditionType(c.Type))
}

// RefusesNodePool reports whether HyperShift creates no new node of a NodePool that has c. After each of these conditions, reconcile in its
// nodepool_controller.go returns before it creates a VM. ValidGeneratedPayload is not True for VMs that get no Ignition (tokensecret_controller.go),
// and without that reason for those that are not there yet.
func RefusesNodePool(c hyperv1.NodePoolCondition) bool {
	switch c.Type {
	case hyperv1.NodePoolValidGeneratedPayloadConditionType:
		return c.Status != corev1.ConditionTrue && c.Reason == "InvalidConfig"
	case hyperv1.NodePoolUpdateManagementEnabledConditionType, hyperv1.NodePoolValidReleaseImageConditionType, hyperv1.NodePoolValidArchPlatform,
		hyperv1.NodePoolReconciliationActiveConditionType, hyperv1.NodePoolValidMachineConfigConditionType, hyperv1.NodePoolValidPlatformImageType,
		hyperv1.NodePoolValidMachineTemplateConditionType, hyperv1.NodePoolValidTuningConfigConditionType:
		return c.Status == corev1.ConditionFalse
	}
	return false
}

// maxRefusals limits the refusals that are kept of an object, and maxQuoted each of their texts in bytes. An API server takes any number of any size.
const (
	maxRefusals = 16
	maxQuoted   = 256
)

// isRefusal reports whether an element of a list is a refusal, and cuts its texts.
func isRefusal(element any) bool {
	cut := func(text string) string { return strings.Clone(text[:min(len(text), maxQuoted)]) }
	switch c := element.(type) {
	case *metav1.Condition:
		if RefusesCluster(*c) {
			c.Reason, c.Message = cut(c.Reason), cut(c.Message)
			return true
		}
	case *hyperv1.NodePoolCondition:
		if RefusesNodePool(*c) {
			c.Status, c.Reason, c.Message = corev1.ConditionFalse, cut(c.Reason), cut(c.Message)
			return true
		}
	}
	return false
}
