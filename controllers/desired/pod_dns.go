// This file decides how pods of the management cluster ask edges for names: a Service, its ports, and the pods that the
// NetworkPolicy allows.

package desired

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/cldmnky/oooi/edge/wire"
)

type ingressRule = networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration

// PodService returns the Service that forwards DNS queries to the edges of all networks. Its target ports are names,
// which edges without DNS or of an older release do not have. It exists as long as the annotation is set, so that its
// ClusterIP does not change.
func PodService(ns string) *corev1ac.ServiceApplyConfiguration {
	port := func(name string, protocol corev1.Protocol, target string) *corev1ac.ServicePortApplyConfiguration {
		return corev1ac.ServicePort().WithName(name).WithProtocol(protocol).WithPort(53).WithTargetPort(intstr.FromString(target))
	}
	return corev1ac.Service(wire.PodDNSService, ns).
		WithLabels(wire.NamedLabels(wire.NameEdge)).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).
			WithIPFamilies(corev1.IPv4Protocol).
			WithSelector(wire.NamedLabels(wire.NameEdge)).
			WithPorts(port("dns", corev1.ProtocolUDP, wire.PodDNSPortUDP), port("dns-tcp", corev1.ProtocolTCP, wire.PodDNSPortTCP)))
}

// podDNSPorts returns the ports of container dns on the cluster network. They do not depend on the annotation: setting
// it must not recreate pods.
func podDNSPorts() []*corev1ac.ContainerPortApplyConfiguration {
	port := func(name string, protocol corev1.Protocol) *corev1ac.ContainerPortApplyConfiguration {
		return corev1ac.ContainerPort().WithName(name).WithContainerPort(wire.PodDNSPort).WithProtocol(protocol)
	}
	return []*corev1ac.ContainerPortApplyConfiguration{port(wire.PodDNSPortUDP, corev1.ProtocolUDP), port(wire.PodDNSPortTCP, corev1.ProtocolTCP)}
}

func fromResolvers() *ingressRule {
	return networkingv1ac.NetworkPolicyIngressRule().WithFrom(resolverPods()).WithPorts(dns(wire.PodDNSPort)...)
}

// fromEdges returns a rule that allows heartbeats. HyperShift's own policies also allow them, but a cluster may lack
// these policies.
func fromEdges() *ingressRule {
	return networkingv1ac.NetworkPolicyIngressRule().WithFrom(edgePods()).WithPorts(heartbeats())
}

func edgePods() *policyPeer {
	return networkingv1ac.NetworkPolicyPeer().WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(wire.NamedLabels(wire.NameEdge)))
}

func heartbeats() *policyPort {
	return networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolUDP).WithPort(intstr.FromInt32(wire.HeartbeatPort))
}
