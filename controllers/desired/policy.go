// This file decides the NetworkPolicy of the edges of one hosted cluster: which destinations they dial through the pod
// network, and which pods dial them there. HyperShift's own policies also restrict ingress. No NetworkPolicy applies to
// the isolated networks. A NetworkPolicy has no host names: Envoy's listeners restrict the external hosts.

package desired

import (
	"maps"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

const EdgePolicy = wire.NameEdge

// dnsNamespaces are the namespaces of a management cluster's resolvers. dnsPorts are ports of pods, because a policy
// does not see the Service: OpenShift's pods listen on 5353.
var (
	dnsNamespaces = []string{"kube-system", "openshift-dns"}
	dnsPorts      = []uint16{53, 5353}
)

type (
	egressRule = networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration
	policyPort = networkingv1ac.NetworkPolicyPortApplyConfiguration
	policyPeer = networkingv1ac.NetworkPolicyPeerApplyConfiguration
)

// A Reach has what the policy depends on besides the plan.
type Reach struct {
	// APIServers are the addresses of the management cluster's API server. Empty: unknown.
	APIServers []netip.AddrPort
	// Resolvers are the resolver addresses of pods that do not belong to a Service.
	Resolvers []netip.Addr
	// Services are those of the control plane namespace.
	Services []corev1.Service
	// ByHand are the endpoints of Services that do not select pods.
	ByHand map[ServicePort][]netip.AddrPort
}

// A ServicePort names one port of a Service.
type ServicePort struct{ Service, Port string }

// NetworkPolicy returns the policy for every edge of plan and for the address conflict detection. While the API
// server's addresses are unknown, it returns nil. An edge that cannot reach the API server assigns no leases and does
// not follow backends. That is worse than an edge without restrictions.
func NetworkPolicy(r Reach, plan network.Plan) *networkingv1ac.NetworkPolicyApplyConfiguration {
	if len(r.APIServers) == 0 {
		return nil
	}
	rules := slices.Concat(toResolvers(r), to(r.APIServers))
	add := func(more ...*egressRule) {
		for _, rule := range more {
			if !slices.ContainsFunc(rules, func(x *egressRule) bool { return reflect.DeepEqual(x, rule) }) {
				rules = append(rules, rule)
			}
		}
	}
	for _, n := range plan.Networks {
		for _, at := range n.UpstreamServers() {
			if n.Reach().FromEdge(at.Addr()) == network.ThroughPods {
				add(toUpstream(at))
			}
		}
		for _, b := range n.Backends {
			if b.Kind == network.BackendPods {
				add(toPods(r, b)...)
			}
		}
	}
	add(toExternal(plan)...)
	add(toPeers(plan)...)
	spec := networkingv1ac.NetworkPolicySpec().
		WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(wire.OwnedLabels()).WithMatchExpressions(
			metav1ac.LabelSelectorRequirement().WithKey(wire.LabelName).
				WithOperator(metav1.LabelSelectorOpIn).WithValues(wire.NameACD, wire.NameEdge))).
		WithPolicyTypes(networkingv1.PolicyTypeEgress, networkingv1.PolicyTypeIngress).
		WithEgress(rules...)
	if plan.AnswersPods() {
		spec.WithIngress(fromResolvers())
	}
	spec.WithIngress(fromMonitoring(), fromEdges())
	return networkingv1ac.NetworkPolicy(EdgePolicy, plan.Cluster.ControlPlaneNamespace).
		WithLabels(wire.NamedLabels(wire.NameEdge)).
		WithSpec(spec)
}

// toResolvers returns rules that allow the DNS servers of pods, which are selected by pod or by address.
func toResolvers(r Reach) []*egressRule {
	rules := []*egressRule{networkingv1ac.NetworkPolicyEgressRule().WithTo(resolverPods()).WithPorts(dns(dnsPorts...)...)}
	if len(r.Resolvers) > 0 {
		rules = append(rules, networkingv1ac.NetworkPolicyEgressRule().WithTo(hosts(r.Resolvers)...).WithPorts(dns(53)...))
	}
	return rules
}

// resolverPods returns a peer that selects all pods in the resolvers' namespaces, because labels of the pods differ
// between distributions.
func resolverPods() *policyPeer {
	return networkingv1ac.NetworkPolicyPeer().
		WithNamespaceSelector(metav1ac.LabelSelector().WithMatchExpressions(metav1ac.LabelSelectorRequirement().
			WithKey(corev1.LabelMetadataName).WithOperator(metav1.LabelSelectorOpIn).WithValues(dnsNamespaces...))).
		// An explicit pod selector also selects pods on the host network.
		WithPodSelector(metav1ac.LabelSelector())
}

// toUpstream returns a rule that allows an upstream DNS server that the user set.
func toUpstream(at netip.AddrPort) *egressRule {
	return networkingv1ac.NetworkPolicyEgressRule().WithTo(hosts([]netip.Addr{at.Addr()})...).WithPorts(dns(at.Port())...)
}

func to(all []netip.AddrPort) []*egressRule {
	byPort := map[uint16][]netip.Addr{}
	for _, at := range all {
		byPort[at.Port()] = append(byPort[at.Port()], at.Addr())
	}
	var rules []*egressRule
	for _, port := range slices.Sorted(maps.Keys(byPort)) {
		rules = append(rules, networkingv1ac.NetworkPolicyEgressRule().WithTo(hosts(byPort[port])...).WithPorts(tcp(port)))
	}
	return rules
}

// toPods returns rules that allow the pods that b's Service selects, at their target port, or the endpoints that a user
// wrote. A named port stays a name, because each pod may have another number for it. (OVN-Kubernetes then allows every
// port of the pods.)
//
// Edges still serve a Service or a port that is missing for a moment. Without the port, the port of the plan is used, and
// without the Service, all pods of the namespace are allowed.
func toPods(r Reach, b network.Backend) []*egressRule {
	at, pods := intstr.FromInt32(int32(b.Port)), metav1ac.LabelSelector()
	if i := slices.IndexFunc(r.Services, func(s corev1.Service) bool { return s.Name == b.Service }); i >= 0 {
		svc := r.Services[i]
		if len(svc.Spec.Selector) == 0 {
			return to(r.ByHand[ServicePort{svc.Name, b.PortName}])
		}
		pods.WithMatchLabels(svc.Spec.Selector)
		if p, there := portOf(svc, b); there {
			at = p.TargetPort
			if at == (intstr.IntOrString{}) {
				at = intstr.FromInt32(p.Port)
			}
		}
	}
	return []*egressRule{networkingv1ac.NetworkPolicyEgressRule().
		WithTo(networkingv1ac.NetworkPolicyPeer().WithPodSelector(pods)).
		WithPorts(networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(at))}
}

// portOf returns the port of svc that b uses, by its name as in EndpointSlices.
func portOf(svc corev1.Service, b network.Backend) (corev1.ServicePort, bool) {
	for _, p := range svc.Spec.Ports {
		if p.Name == b.PortName {
			return p, true
		}
	}
	return corev1.ServicePort{}, false
}

// toPeers returns rules that allow heartbeats to every edge in the namespace, or nil if no edge has a peer. An edge
// accepts heartbeats only from its peer.
func toPeers(plan network.Plan) []*egressRule {
	if !slices.ContainsFunc(plan.Networks, func(n network.Network) bool { return len(n.Edges) > 1 }) {
		return nil
	}
	return []*egressRule{networkingv1ac.NetworkPolicyEgressRule().WithTo(edgePods()).WithPorts(heartbeats())}
}

// toExternal returns rules that allow the ports of external hosts, except at destinations that edges never dial, and
// the HTTP proxies in use.
func toExternal(plan network.Plan) []*egressRule {
	var rules []*egressRule
	var reserved, permitted []netip.Prefix
	direct, proxies := map[uint16]bool{}, map[string]bool{}
	for _, n := range plan.Networks {
		reserved, permitted = append(reserved, n.ReservedDestinations...), append(permitted, n.PermittedDestinations...)
		for _, b := range n.Backends {
			switch {
			case b.Kind != network.BackendExternal:
			case b.HTTPProxy != "":
				proxies[b.HTTPProxy] = true
			default:
				direct[b.Port] = true
			}
		}
	}
	for _, p := range slices.Sorted(maps.Keys(proxies)) {
		rules = append(rules, toProxy(p)...)
	}
	if len(direct) == 0 {
		return rules
	}
	ports := slices.Sorted(maps.Keys(direct))
	rules = append(rules, anywhereBut(reserved, ports...))
	if len(permitted) > 0 {
		rules = append(rules, toPermitted(permitted, ports...))
	}
	return rules
}

// toPermitted returns a rule that allows destinations in the management cluster that its administrator permits. It also
// allows the pods of its ingress: a policy sees these pods in place of a load balancer's address.
func toPermitted(permitted []netip.Prefix, ports ...uint16) *egressRule {
	rule := networkingv1ac.NetworkPolicyEgressRule().WithTo(ownIngress())
	for _, p := range network.MergedPrefixes(permitted) {
		rule.WithTo(networkingv1ac.NetworkPolicyPeer().WithIPBlock(networkingv1ac.IPBlock().WithCIDR(p.String())))
	}
	for _, port := range ports {
		rule.WithPorts(tcp(port))
	}
	return rule
}

// ownIngress returns a peer that selects the management cluster's ingress, which may publish a mirror. OpenShift sets the label.
func ownIngress() *policyPeer {
	return networkingv1ac.NetworkPolicyPeer().
		WithNamespaceSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{"network.openshift.io/policy-group": "ingress"})).
		WithPodSelector(metav1ac.LabelSelector())
}

// toProxy returns rules that allow the port of the HTTP proxy "host:port" at any address. For a Service of the
// management cluster, they allow all ports of all pods in the namespace.
func toProxy(at string) []*egressRule {
	host, text, err := net.SplitHostPort(at)
	if err != nil {
		return nil
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil
	}
	port := uint16(number)
	if a, err := netip.ParseAddr(host); err == nil {
		return to([]netip.AddrPort{netip.AddrPortFrom(a.Unmap(), port)})
	}
	rules := []*egressRule{anywhereBut(nil, port)}
	if labels := strings.Split(host, "."); len(labels) > 2 && labels[2] == "svc" {
		rules = append(rules, networkingv1ac.NetworkPolicyEgressRule().
			WithTo(networkingv1ac.NetworkPolicyPeer().WithNamespaceSelector(
				metav1ac.LabelSelector().WithMatchLabels(map[string]string{corev1.LabelMetadataName: labels[1]}))).
			WithPorts(networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP)))
	}
	return rules
}

// anywhereBut returns a rule for the given ports. It allows all addresses except those in parameter there and in
// network.NoDestinations.
func anywhereBut(there []netip.Prefix, ports ...uint16) *egressRule {
	all := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	block := networkingv1ac.IPBlock().WithCIDR(all.String())
	for _, p := range network.MergedPrefixes(slices.Concat(there, network.NoDestinations())) {
		if p.Addr().Is4() {
			block.WithExcept(p.String())
		}
	}
	rule := networkingv1ac.NetworkPolicyEgressRule().WithTo(networkingv1ac.NetworkPolicyPeer().WithIPBlock(block))
	for _, port := range ports {
		rule.WithPorts(tcp(port))
	}
	return rule
}

func hosts(all []netip.Addr) []*policyPeer {
	var out []*policyPeer
	for _, a := range all {
		out = append(out, networkingv1ac.NetworkPolicyPeer().
			WithIPBlock(networkingv1ac.IPBlock().WithCIDR(network.Host(a).String())))
	}
	return out
}

func tcp(port uint16) *policyPort {
	return networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(int32(port)))
}

// dns returns ports for UDP and TCP.
func dns(ports ...uint16) []*policyPort {
	var out []*policyPort
	for _, port := range ports {
		udp := networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolUDP).WithPort(intstr.FromInt32(int32(port)))
		out = append(out, udp, tcp(port))
	}
	return out
}
