// This file decides how pods of the management cluster reach what a plan opens. There is a container in each edge, and
// a Service for each network. A NetworkPolicy admits pods of the namespaces that the user names.

package desired

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// accessContainer returns the container of the access proxy. It has no probes, because its faults must neither recreate
// an edge nor take the edge from VMs. The proxy follows the plan, so a change of what is open does not recreate pods.
func accessContainer(n network.Network, e network.Edge, r Release) *corev1ac.ContainerApplyConfiguration {
	return unprobed(wire.Access, n, e.Number, r, "--management-interface", wire.ManagementDevice).
		WithPorts(corev1ac.ContainerPort().WithName(wire.AccessPortName).WithContainerPort(network.AccessPort).WithProtocol(corev1.ProtocolTCP))
}

// AccessService returns the Service that forwards to the edges of n. Its ports are the port of HTTP CONNECT, and those
// of entries with a port of their own.
func AccessService(name string, n network.Network, ns string) *corev1ac.ServiceApplyConfiguration {
	var ports []*corev1ac.ServicePortApplyConfiguration
	for _, port := range accessPorts(n) {
		portName := "tcp-" + strconv.Itoa(int(port))
		if port == n.Access.Port {
			portName = "connect"
		}
		ports = append(ports, corev1ac.ServicePort().WithName(portName).WithProtocol(corev1.ProtocolTCP).
			WithPort(int32(port)).WithTargetPort(intstr.FromInt32(int32(port))))
	}
	selector := wire.NetworkLabels(wire.NameEdge, n)
	return corev1ac.Service(name, ns).
		WithLabels(wire.NetworkLabels(wire.NameEdge, n)).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).
			WithIPFamilies(corev1.IPv4Protocol).
			WithSelector(selector).
			WithPorts(ports...))
}

// accessPorts returns the ports at which n admits callers, with the port of HTTP CONNECT first.
func accessPorts(n network.Network) []uint16 {
	return append([]uint16{n.Access.Port}, n.Access.PlainPorts()...)
}

// AccessPolicy returns the NetworkPolicy of edges for callers. It admits pods of the user's namespaces to the access
// ports, and the clients of load balancers to the load balancers' ports. It returns nil if plan needs no such rule.
// Then only HyperShift's own policies admit pods.
func AccessPolicy(plan network.Plan) *networkingv1ac.NetworkPolicyApplyConfiguration {
	var namespaces []string
	ports := map[uint16]bool{}
	for _, n := range plan.Networks {
		if n.Access.Opens() {
			namespaces = append(namespaces, n.Access.Namespaces...)
			for _, port := range accessPorts(n) {
				ports[port] = true
			}
		}
	}
	var rules []*networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration
	if slices.Sort(namespaces); len(namespaces) > 0 {
		rules = append(rules, ingressAt(ports).WithFrom(networkingv1ac.NetworkPolicyPeer().
			WithNamespaceSelector(metav1ac.LabelSelector().WithMatchExpressions(metav1ac.LabelSelectorRequirement().
				WithKey(corev1.LabelMetadataName).WithOperator(metav1.LabelSelectorOpIn).WithValues(slices.Compact(namespaces)...)))))
	}
	rules = append(rules, balancedRules(plan)...)
	if len(rules) == 0 {
		return nil
	}
	return networkingv1ac.NetworkPolicy(wire.AccessObject, plan.Cluster.ControlPlaneNamespace).
		WithLabels(wire.NamedLabels(wire.NameEdge)).
		WithSpec(networkingv1ac.NetworkPolicySpec().
			WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(wire.NamedLabels(wire.NameEdge))).
			WithPolicyTypes(networkingv1.PolicyTypeIngress).
			WithIngress(rules...))
}

// balancedRules returns a rule for each set of client ranges of load balancers. The rule for all clients is first.
func balancedRules(plan network.Plan) []*networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration {
	ports := map[string]map[uint16]bool{} // By the ranges of clients.
	for _, n := range plan.Networks {
		if n.Access.LoadBalancers == nil {
			continue
		}
		for _, s := range n.Access.LoadBalancers.Services {
			key := strings.Join(network.Texts(s.Sources), " ")
			for _, port := range s.Ports {
				if ports[key] == nil {
					ports[key] = map[uint16]bool{}
				}
				ports[key][port] = true
			}
		}
	}
	var rules []*networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration
	for _, key := range slices.Sorted(maps.Keys(ports)) {
		rule := ingressAt(ports[key])
		for _, cidr := range strings.Fields(key) {
			rule.WithFrom(networkingv1ac.NetworkPolicyPeer().WithIPBlock(networkingv1ac.IPBlock().WithCIDR(cidr)))
		}
		rules = append(rules, rule)
	}
	return rules
}

// ingressAt returns a rule for TCP ports. It admits all clients unless the caller adds peers.
func ingressAt(ports map[uint16]bool) *networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration {
	rule := networkingv1ac.NetworkPolicyIngressRule()
	for _, port := range slices.Sorted(maps.Keys(ports)) {
		rule.WithPorts(tcp(port))
	}
	return rule
}
