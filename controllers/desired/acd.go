// This file decides the Deployment of the address conflict detection (ACD), whose pod is the first on a network.
// Package rollout decides when it runs.

package desired

import (
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/cldmnky/oooi/controllers/attachments"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// ACDDeployment returns the Deployment of a pod with one address, which probes for the others. The probed addresses are
// in an annotation. So a change of them recreates the pod, and its report is always about the present addresses.
func ACDDeployment(n network.Network, r Release, ns string, away Away) *appsv1ac.DeploymentApplyConfiguration {
	annotations := podAnnotations(n, attachments.OfACD(n, ns), wire.ACD)
	annotations[wire.AnnotationACDAddresses] = network.InOrder(reported.ProbedAddresses(n))
	name, labels := wire.ACDDeploymentName(n), wire.NetworkLabels(wire.NameACD, n)
	return deploymentOf(name, ns, labels, away, func(away []string) *corev1ac.PodTemplateSpecApplyConfiguration {
		return corev1ac.PodTemplateSpec().
			WithLabels(wire.Written(labels)).
			WithAnnotations(annotations).
			WithSpec(pod(n, away, server(wire.ACD, n, 0, r)).WithTerminationGracePeriodSeconds(acdGraceSeconds))
	})
}
