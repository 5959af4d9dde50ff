// This file decides how pods of the management cluster ask edges for names: a Service, the ports behind it, and which
// pods the NetworkPolicy allows. It is pure.

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

// PodService forwards to the edges of all networks. Its ports have the names of those in a pod, so edges without DNS, or of
// a release that does not answer pods, are not behind it. It is one object for as long as the annotation is set, so its
// ClusterIP stays.
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

// podDNSPorts are those of container dns on the cluster network. They are there whether edges answer pods or not, so that
// the annotation recreates no pod.
func podDNSPorts() []*corev1ac.ContainerPortApplyConfiguration {
	port := func(name string, protocol corev1.Protocol) *corev1ac.ContainerPortApplyConfiguration {
		return corev1ac.ContainerPort().WithName(name).WithContainerPort(wire.PodDNSPort).WithProtocol(protocol)
	}
	return []*corev1ac.ContainerPortApplyConfiguration{port(wire.PodDNSPortUDP, corev1.ProtocolUDP), port(wire.PodDNSPortTCP, corev1.ProtocolTCP)}
}

// fromResolvers lets the resolvers' pods ask.
func fromResolvers() *ingressRule {
	return networkingv1ac.NetworkPolicyIngressRule().WithFrom(resolverPods()).WithPorts(dns(wire.PodDNSPort)...)
}

// fromEdges lets heartbeats in. HyperShift's policies do so, too, where it has them. Without them, this policy would be
// the only one about ingress.
func fromEdges() *ingressRule {
	return networkingv1ac.NetworkPolicyIngressRule().WithFrom(edgePods()).WithPorts(heartbeats())
}

func edgePods() *policyPeer {
	return networkingv1ac.NetworkPolicyPeer().WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(wire.NamedLabels(wire.NameEdge)))
}

func heartbeats() *policyPort {
	return networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolUDP).WithPort(intstr.FromInt32(wire.HeartbeatPort))
}
