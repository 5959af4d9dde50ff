// This file decides how Prometheus reaches the metrics of edges: a port, and the namespaces that the NetworkPolicy
// allows.

package desired

import (
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// metricsPort returns the container port of metrics. PodMonitors select it by name.
func metricsPort() *corev1ac.ContainerPortApplyConfiguration {
	return corev1ac.ContainerPort().WithName(wire.MetricsPortName).WithContainerPort(network.MetricsPort).WithProtocol(corev1.ProtocolTCP)
}

// fromMonitoring returns a rule that allows namespaces that monitor the cluster. OpenShift sets the label, and
// HyperShift's policies use it, too.
func fromMonitoring() *ingressRule {
	return networkingv1ac.NetworkPolicyIngressRule().
		WithFrom(networkingv1ac.NetworkPolicyPeer().WithNamespaceSelector(
			metav1ac.LabelSelector().WithMatchLabels(map[string]string{"network.openshift.io/policy-group": "monitoring"}))).
		WithPorts(tcp(network.MetricsPort))
}
