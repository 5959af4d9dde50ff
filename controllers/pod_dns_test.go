package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// TestPodsThatMayAsk: resolvers ask edges, at one port. Without HyperShift's own policies, nothing else reaches edges but
// heartbeats.
func TestPodsThatMayAsk(t *testing.T) {
	const tcp, udp = corev1.ProtocolTCP, corev1.ProtocolUDP
	w, plan := storyThere(t, "management-dns", func(*gather.World) {})
	edge := theEdge(plan)
	peer := party{namespace: edge.namespace, labels: wire.EdgeLabels(plan.Networks[0], network.Edge{Number: 2})}
	all := networkPolicies(t, w, plan)
	for what, c := range map[string]struct {
		from     party
		protocol corev1.Protocol
		port     int32
		want     bool
	}{
		"CoreDNS":                  {party{namespace: "kube-system"}, udp, wire.PodDNSPort, true},
		"CoreDNS by TCP":           {party{namespace: "kube-system"}, tcp, wire.PodDNSPort, true},
		"OpenShift's resolver":     {party{namespace: "openshift-dns"}, udp, wire.PodDNSPort, true},
		"a pod of a tenant":        {party{namespace: "tools"}, udp, wire.PodDNSPort, false},
		"another hosted cluster":   {party{namespace: "clusters-red"}, tcp, wire.PodDNSPort, false},
		"a host outside":           {address("198.51.100.7"), udp, wire.PodDNSPort, false},
		"CoreDNS, the port of VMs": {party{namespace: "kube-system"}, udp, 53, false},
		"CoreDNS, the API of VMs":  {party{namespace: "kube-system"}, tcp, 6443, false},
		"CoreDNS, heartbeats":      {party{namespace: "kube-system"}, udp, wire.HeartbeatPort, false},
		"the peer":                 {peer, udp, wire.HeartbeatPort, true},
	} {
		g := NewWithT(t)
		ours := evaluator{policies: all[len(all)-1:], namespaces: namespaces()}
		g.Expect(ours.side(networkingv1.PolicyTypeIngress, edge, c.from, edge, c.protocol, c.port)).To(Equal(c.want), what)
		both := evaluator{policies: all, namespaces: namespaces()}
		g.Expect(both.side(networkingv1.PolicyTypeIngress, edge, c.from, edge, c.protocol, c.port)).To(Equal(c.want), "%s, with HyperShift's", what)
	}
}

// TestEdgesBehindTheService: an annotation recreates no edge, and the Service selects ports that edges have. An edge without
// a DNS server lacks them.
func TestEdgesBehindTheService(t *testing.T) {
	g := NewWithT(t)
	ports := func(services ...network.Service) []string {
		var out []string
		for _, c := range desired.EdgePod(network.Network{Services: services}, network.Edge{Number: 1}, testOptions.Release, "x").Spec.Containers {
			for _, p := range c.Ports {
				if c.Name != wire.Failover {
					out = append(out, p.Name)
				}
			}
		}
		return out
	}
	var targets []string
	for _, p := range desired.PodService("x").Spec.Ports {
		targets = append(targets, p.TargetPort.StrVal)
	}
	g.Expect(ports(network.AllServices()...)).To(Equal(targets))
	g.Expect(ports(network.ServiceDHCP, network.ServiceProxy)).To(BeEmpty())
}

// testPodDNS: the Service and what lets pods in appear with the annotation, are restored, and go with it. The Service keeps
// its ClusterIP, and what others set in it. Without a change, nothing is written.
func testPodDNS(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "poddns")
	of := ownObject{own.ServiceKind, wire.PodDNSService}
	service := func() *corev1.Service {
		o := &corev1.Service{}
		g.Expect(client.IgnoreNotFound(s.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: wire.PodDNSService}, o))).To(Succeed())
		return o
	}
	lets := func() []networkingv1.NetworkPolicyIngressRule {
		p := &networkingv1.NetworkPolicy{}
		g.Expect(s.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: desired.EdgePolicy}, p)).To(Succeed())
		return p.Spec.Ingress
	}
	g.Expect(h.get(t, of)).To(BeNil(), "by default, pods are not answered")
	g.Expect(lets()).To(HaveLen(2), "metrics, and heartbeats")
	edge := h.snapshot(t)["Deployment "+h.edge()]

	h.annotate(t, "management-dns", "serve")
	g.Eventually(func() any { return h.get(t, of) }).ShouldNot(BeNil())
	g.Eventually(lets).Should(HaveLen(3))
	is := service()
	g.Expect(is.Spec.ClusterIP).NotTo(BeEmpty())
	g.Expect(is.Spec.Selector).To(Equal(wire.NamedLabels(wire.NameEdge)))
	g.Expect(is.OwnerReferences).To(HaveLen(1))
	g.Eventually(func() string { return h.plan(t) }).Should(ContainSubstring(`"name": "pods"`))
	h.wellServed(t)
	g.Expect(h.snapshot(t)).To(HaveKeyWithValue("Deployment "+h.edge(), edge), "no edge is recreated")

	before := h.snapshot(t)
	again(t, r, h)
	again(t, r, h)
	g.Expect(h.snapshot(t)).To(Equal(before))

	for what, patch := range map[string]string{
		"selector": `{"spec":{"selector":{"app":"etcd"}}}`,
		"narrower": `{"spec":{"selector":{"further":"label"}}}`,
		"ports":    `{"spec":{"ports":[{"name":"dns","port":53,"protocol":"UDP","targetPort":2379}]}}`,
	} {
		g.Expect(s.admin.Patch(t.Context(), is.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
		g.Eventually(func() corev1.ServiceSpec { return service().Spec }).Should(Equal(is.Spec), what)
	}
	g.Expect(service().UID).To(Equal(is.UID), "its ClusterIP stays")
	others := service()
	others.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	g.Expect(s.admin.Update(t.Context(), others)).To(Succeed())
	again(t, r, h)
	g.Expect(service().Spec.SessionAffinity).To(Equal(corev1.ServiceAffinityClientIP))
	g.Expect(s.admin.Delete(t.Context(), others)).To(Succeed())
	g.Eventually(func() types.UID { return service().UID }).ShouldNot(Or(BeEmpty(), Equal(is.UID)))

	h.annotate(t, "management-dns", "")
	g.Eventually(func() any { return h.get(t, of) }).Should(BeNil())
	g.Eventually(lets).Should(HaveLen(2))
	g.Expect(h.plan(t)).NotTo(ContainSubstring(`"name": "pods"`))
	g.Expect(h.snapshot(t)).To(HaveKeyWithValue("Deployment "+h.edge(), edge))

	foreign := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: wire.PodDNSService},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 53}}},
	}
	g.Expect(s.admin.Create(t.Context(), foreign)).To(Succeed())
	h.annotate(t, "management-dns", "serve")
	g.Eventually(h.says(t)).Should(ContainSubstring(wire.PodDNSService), "a Service of others is not taken")
	g.Expect(service().Spec.Selector).To(BeEmpty())
	g.Expect(s.admin.Delete(t.Context(), foreign)).To(Succeed())
	g.Eventually(func() map[string]string { return service().Spec.Selector }).Should(Equal(is.Spec.Selector))
	h.annotate(t, "network", "none")
	g.Eventually(func() map[string]string { return h.snapshot(t) }).Should(BeEmpty())
}

// testThiefOffersDNS makes the Service and the NetworkPolicy lead elsewhere.
func testThiefOffersDNS(t *testing.T, s thief, h hosted) {
	g := NewWithT(t)
	h.annotate(t, "management-dns", "serve")
	g.Eventually(func() any { return h.get(t, ownObject{own.ServiceKind, wire.PodDNSService}) }).ShouldNot(BeNil())
	for what, change := range map[string]func(*corev1.ServiceSpec){
		"etcd":            func(o *corev1.ServiceSpec) { o.Selector = map[string]string{"app": "etcd"} },
		"no selector":     func(o *corev1.ServiceSpec) { o.Selector = nil },
		"another port":    func(o *corev1.ServiceSpec) { o.Ports[0].Port = 443 },
		"another target":  func(o *corev1.ServiceSpec) { o.Ports[0].TargetPort.StrVal = "api" },
		"the outside":     func(o *corev1.ServiceSpec) { o.Type = corev1.ServiceTypeNodePort },
		"a load balancer": func(o *corev1.ServiceSpec) { o.Type = corev1.ServiceTypeLoadBalancer },
		"another address": func(o *corev1.ServiceSpec) { o.ExternalIPs = []string{"192.0.2.66"} },
		"pods not ready":  func(o *corev1.ServiceSpec) { o.PublishNotReadyAddresses = true },
		"a name elsewhere": func(o *corev1.ServiceSpec) {
			o.Type, o.ExternalName = corev1.ServiceTypeExternalName, "evil.example.net"
		},
	} {
		err := patch(t, s, h.ns, wire.PodDNSService, &corev1.Service{}, func(o *corev1.Service) { change(&o.Spec) })
		g.Expect(err).To(refusedByPolicy(), what)
	}
	for what, change := range map[string]func(*networkingv1.NetworkPolicySpec){
		"all namespaces": func(o *networkingv1.NetworkPolicySpec) {
			o.Ingress[0].From[0].NamespaceSelector = &metav1.LabelSelector{}
		},
		"all ports": func(o *networkingv1.NetworkPolicySpec) { o.Ingress[0].Ports = nil },
		"all pods":  func(o *networkingv1.NetworkPolicySpec) { o.Ingress[2].From = nil },
		"one twice": func(o *networkingv1.NetworkPolicySpec) { o.Ingress[1] = o.Ingress[0] },
		"a further rule": func(o *networkingv1.NetworkPolicySpec) {
			o.Ingress = append(o.Ingress, networkingv1.NetworkPolicyIngressRule{})
		},
		"no rule": func(o *networkingv1.NetworkPolicySpec) { o.Ingress = nil },
	} {
		err := patch(t, s, h.ns, desired.EdgePolicy, &networkingv1.NetworkPolicy{}, func(o *networkingv1.NetworkPolicy) { change(&o.Spec) })
		g.Expect(err).To(refusedByPolicy(), what)
	}
	h.annotate(t, "management-dns", "")
	g.Eventually(func() any { return h.get(t, ownObject{own.ServiceKind, wire.PodDNSService}) }).Should(BeNil())
}
