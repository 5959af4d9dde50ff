package controllers

import (
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// A party is one end of a connection: a pod, or, without a namespace, another host.
type party struct {
	namespace string
	labels    map[string]string
	address   netip.Addr
	// ports that the pod has names for.
	ports map[string]int32
}

// An evaluator decides what NetworkPolicies allow, as the API documents it
// (k8s.io/api/networking/v1). Where that leaves the choice to the implementation, it is made
// here.
type evaluator struct {
	policies   []networkingv1.NetworkPolicy
	namespaces map[string]map[string]string
	// blocksHoldPods: an ipBlock is also the pods in it.
	blocksHoldPods bool
	// namesAreAny: a port's name is every port of the protocol, as OVN-Kubernetes
	// has it.
	namesAreAny bool
}

// allows reports whether from reaches to at a port: it may send, and to may receive.
func (e evaluator) allows(from, to party, protocol corev1.Protocol, port int32) bool {
	return e.side(networkingv1.PolicyTypeEgress, from, to, to, protocol, port) &&
		e.side(networkingv1.PolicyTypeIngress, to, from, to, protocol, port)
}

// side is what the policies over one end say about the other. Ports are the
// listener's.
func (e evaluator) side(way networkingv1.PolicyType, subject, other, listener party, protocol corev1.Protocol, port int32) bool {
	free := true
	for _, p := range e.policies {
		if subject.namespace == "" || p.Namespace != subject.namespace || !matches(&p.Spec.PodSelector, subject.labels) || !slices.Contains(typesOf(p), way) {
			continue
		}
		free = false
		allow := func(peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) bool {
			return e.peered(p.Namespace, peers, other) && e.ported(ports, listener, protocol, port)
		}
		for _, r := range p.Spec.Egress {
			if way == networkingv1.PolicyTypeEgress && allow(r.To, r.Ports) {
				return true
			}
		}
		for _, r := range p.Spec.Ingress {
			if way == networkingv1.PolicyTypeIngress && allow(r.From, r.Ports) {
				return true
			}
		}
	}
	return free
}

// typesOf are p's, or what the API server takes them to be.
func typesOf(p networkingv1.NetworkPolicy) []networkingv1.PolicyType {
	switch {
	case len(p.Spec.PolicyTypes) > 0:
		return p.Spec.PolicyTypes
	case len(p.Spec.Egress) > 0:
		return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	}
	return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
}

func (e evaluator) peered(ns string, peers []networkingv1.NetworkPolicyPeer, other party) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		if p.IPBlock != nil {
			in := func(cidr string) bool { return netip.MustParsePrefix(cidr).Contains(other.address) }
			return (other.namespace == "" || e.blocksHoldPods) && in(p.IPBlock.CIDR) && !slices.ContainsFunc(p.IPBlock.Except, in)
		}
		if other.namespace == "" {
			return false
		}
		if p.NamespaceSelector == nil {
			return other.namespace == ns && matches(p.PodSelector, other.labels)
		}
		return matches(p.NamespaceSelector, e.namespaces[other.namespace]) && (p.PodSelector == nil || matches(p.PodSelector, other.labels))
	})
}

func (e evaluator) ported(ports []networkingv1.NetworkPolicyPort, listener party, protocol corev1.Protocol, port int32) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		if wanted := p.Protocol; wanted == nil && protocol != corev1.ProtocolTCP || wanted != nil && *wanted != protocol {
			return false
		}
		switch {
		case p.Port == nil:
			return true
		case p.Port.Type == intstr.String:
			number, named := listener.ports[p.Port.StrVal]
			return e.namesAreAny || named && number == port
		case p.EndPort != nil:
			return p.Port.IntVal <= port && port <= *p.EndPort
		}
		return p.Port.IntVal == port
	})
}

func matches(s *metav1.LabelSelector, have map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(have))
}

// TestEvaluator holds the evaluator to what the API documents about policies, because
// other tests rely on it.
func TestEvaluator(t *testing.T) {
	pod := func(ns, name, address string) party {
		return party{namespace: ns, labels: map[string]string{"app": name}, address: netip.MustParseAddr(address), ports: map[string]int32{"http": 8080}}
	}
	a, b, far := pod("one", "a", "10.0.0.1"), pod("one", "b", "10.0.0.2"), pod("two", "b", "10.0.1.2")
	outside := party{address: netip.MustParseAddr("192.0.2.7")}
	spec := func(text string) networkingv1.NetworkPolicy {
		p := networkingv1.NetworkPolicy{}
		if err := yaml.UnmarshalStrict([]byte(text), &p.Spec); err != nil {
			t.Fatal(err)
		}
		p.Namespace = "one"
		return p
	}
	toB := "{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{to: [{podSelector: {matchLabels: {app: b}}}]}]}"
	const udp, tcp = corev1.ProtocolUDP, corev1.ProtocolTCP
	for _, c := range []struct {
		name     string
		policies []string
		from, to party
		protocol corev1.Protocol
		port     int32
		want     bool
	}{
		{"nothing said", nil, a, far, tcp, 1, true},
		{"another pod's policy", []string{"{podSelector: {matchLabels: {app: c}}, policyTypes: [Ingress, Egress]}"}, a, b, tcp, 1, true},
		{"nothing may leave", []string{"{podSelector: {}, policyTypes: [Egress]}"}, a, far, tcp, 1, false},
		{"nothing may enter, from elsewhere", []string{"{podSelector: {}, policyTypes: [Ingress]}"}, far, a, tcp, 1, false},
		{"nothing may enter, the other way", []string{"{podSelector: {}, policyTypes: [Ingress]}"}, a, far, tcp, 1, true},
		{"types by default", []string{"{podSelector: {}}"}, far, a, tcp, 1, false},
		{"types by default leave egress", []string{"{podSelector: {}}"}, a, far, tcp, 1, true},
		{"one rule", []string{toB}, a, b, tcp, 1, true},
		{"a selector of pods is of the same namespace", []string{toB}, a, far, tcp, 1, false},
		{"and of pods", []string{toB}, a, outside, tcp, 1, false},
		{"one more policy only adds", []string{"{podSelector: {}, policyTypes: [Egress]}", toB}, a, b, tcp, 1, true},
		{"both ends must agree", []string{toB, "{podSelector: {matchLabels: {app: b}}, policyTypes: [Ingress]}"}, a, b, tcp, 1, false},
		{"a namespace and its pods", []string{"{podSelector: {}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {matchLabels: {team: two}}, podSelector: {matchLabels: {app: a}}}]}]}"}, a, far, tcp, 1, false},
		{"a namespace", []string{"{podSelector: {}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {matchLabels: {team: two}}}]}]}"}, a, far, tcp, 1, true},
		{"a block", []string{"{podSelector: {}, egress: [{to: [{ipBlock: {cidr: 192.0.2.0/24}}]}]}"}, a, outside, tcp, 1, true},
		{"but a part of it", []string{"{podSelector: {}, egress: [{to: [{ipBlock: {cidr: 192.0.2.0/24, except: [192.0.2.7/32]}}]}]}"}, a, outside, tcp, 1, false},
		{"another protocol", []string{"{podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: 53}]}]}"}, a, far, udp, 53, false},
		{"a range", []string{"{podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: 50, endPort: 60, protocol: UDP}]}]}"}, a, far, udp, 53, true},
		{"beyond a range", []string{"{podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: 50, endPort: 60, protocol: UDP}]}]}"}, a, far, udp, 61, false},
		{"a name", []string{"{podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: http}]}]}"}, a, far, tcp, 8080, true},
		{"a name for another number", []string{"{podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: http}]}]}"}, a, far, tcp, 80, false},
		{"a name outside", []string{"{podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: http}]}]}"}, a, outside, tcp, 8080, false},
	} {
		e := evaluator{namespaces: map[string]map[string]string{"two": {"team": "two"}}}
		for _, text := range c.policies {
			e.policies = append(e.policies, spec(text))
		}
		NewWithT(t).Expect(e.allows(c.from, c.to, c.protocol, c.port)).To(Equal(c.want), c.name)
	}
}
