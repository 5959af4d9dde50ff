// This file decides the Deployment whose pod is the first on a network: it asks
// whether anybody has the addresses that the edges are to hold. It is pure. When
// it is made, and when it goes, is decided in hostedcluster_ask.go.

package controllers

import (
	"net/netip"
	"strings"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// acdDeployment holds one address only, by which it asks for the others. They stand
// in an annotation, so that other addresses are another pod's, and an answer is never
// taken for another question's.
func acdDeployment(w world, n network.Network, o Options, ns string) *appsv1ac.DeploymentApplyConfiguration {
	annotations := podAnnotations(podNetworks(n, []netip.Prefix{netip.PrefixFrom(n.Asker(), n.CIDR.Bits())}, ns), wire.ACD)
	var asked []string
	for _, a := range n.Asked() {
		asked = append(asked, a.String())
	}
	annotations[wire.AnnotationACDAddresses] = strings.Join(asked, ",")
	return deploymentOf(w, n, wire.ACDDeploymentName(n), ns, wire.NetworkLabels(wire.NameACD, n), func(away []string) *corev1ac.PodTemplateSpecApplyConfiguration {
		return corev1ac.PodTemplateSpec().
			WithLabels(wire.NetworkLabels(wire.NameACD, n)).
			WithAnnotations(annotations).
			WithSpec(pod(w, n, away, server(wire.ACD, n, 0, o)).WithTerminationGracePeriodSeconds(askGraceSeconds))
	})
}
