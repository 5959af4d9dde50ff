// This file has the conditions with which HyperShift reports that it creates no control plane, no nodes or no VMs.

package lenient

import (
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RefusesCluster reports whether HyperShift changes nothing of a hosted control plane while its HostedCluster has c.
// hostedcluster_controller.go and hostedcontrolplane_controller.go mark these conditions with "Block here". Other
// conditions that are False report what is not done yet, or what nodes do not need.
func RefusesCluster(c metav1.Condition) bool {
	return c.Status == metav1.ConditionFalse && slices.Contains([]hyperv1.ConditionType{hyperv1.ValidHostedClusterConfiguration,
		hyperv1.SupportedHostedCluster, hyperv1.ValidReleaseImage, hyperv1.ValidHostedControlPlaneConfiguration}, hyperv1.ConditionType(c.Type))
}

// RefusesNodePool reports whether HyperShift creates no new node of a NodePool with c: reconcile in
// nodepool_controller.go returns after each of these conditions. ValidGeneratedPayload needs the reason as well.
// Without it, the condition is about VMs that get no Ignition or that do not exist yet (tokensecret_controller.go).
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

// WithoutVMs returns the reasons in c for which Machines of a NodePool have no VirtualMachineInstance yet: KubeVirt refused
// the VM, or its disk is not ready (reconcileNormal and getDVNotProvisionedReason in cluster-api-provider-kubevirt).
// HyperShift joins the reasons of all Machines (aggregateMachineReasonsAndMessages in nodepool_controller.go).
func WithoutVMs(c hyperv1.NodePoolCondition) []string {
	if c.Type != hyperv1.NodePoolAllMachinesReadyConditionType || c.Status != corev1.ConditionFalse {
		return nil
	}
	return slices.DeleteFunc(strings.Split(c.Reason, ","), func(reason string) bool {
		return !slices.Contains([]string{"VMCreateFailed", "DVFailed", "DVImagePullFailed", "DVNotReady", "DVPending"}, reason)
	})
}

// maxRefusals is the maximum number of refusals that are kept for each object, and maxQuoted the maximum length of
// their texts in bytes. An API server limits neither.
const (
	maxRefusals = 16
	maxQuoted   = 256
)

// cut returns the first bytes of text, at most most. It shares no memory with text.
func cut(text string, most int) string { return strings.Clone(text[:min(len(text), most)]) }

// isNeeded reports whether element is a condition that is a refusal, that shows how far HyperShift's reconciliation
// came, or that a VM needs. It shortens the texts of such conditions.
func isNeeded(element any) bool {
	switch c := element.(type) {
	case *VMCondition:
		return c.isNeeded()
	case *metav1.Condition:
		switch of := hyperv1.ConditionType(c.Type); {
		case RefusesCluster(*c), c.Status == metav1.ConditionFalse && (of == hyperv1.ReconciliationActive || of == hyperv1.ReconciliationSucceeded):
			c.Reason, c.Message = cut(c.Reason, maxQuoted), cut(c.Message, maxQuoted)
			return true
		case of == hyperv1.ValidHostedClusterConfiguration:
			*c = metav1.Condition{Type: c.Type}
			return true
		}
	case *hyperv1.NodePoolCondition:
		if RefusesNodePool(*c) {
			c.Status, c.Reason, c.Message = corev1.ConditionFalse, cut(c.Reason, maxQuoted), cut(c.Message, maxQuoted)
			return true
		}
		if reasons := WithoutVMs(*c); len(reasons) > 0 { // The message changes again and again.
			c.Reason, c.Message = strings.Join(reasons, ","), ""
			return true
		}
	}
	return false
}
