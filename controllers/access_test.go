package controllers

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestPodsThatGetIn: the namespaces that the user names reach the ports that are open, and no others.
func TestPodsThatGetIn(t *testing.T) {
	g := NewWithT(t)
	const tcp, udp = corev1.ProtocolTCP, corev1.ProtocolUDP
	w, plan := storyThere(t, "management-access", func(*gather.World) {})
	plan.Networks[0].Access.Destinations[0].Listen, plan.Networks[0].Access.Accounts = 2222, nil
	edge, all, spaces := theEdge(plan), networkPolicies(t, w, plan), namespaces()
	spaces["backup"] = map[string]string{corev1.LabelMetadataName: "backup"}
	spaces["openshift-monitoring"][corev1.LabelMetadataName] = "openshift-monitoring"
	i := slices.IndexFunc(all, func(p networkingv1.NetworkPolicy) bool { return p.Name == wire.AccessObject })
	g.Expect(i).To(BeNumerically(">=", 0))
	ours := evaluator{policies: []networkingv1.NetworkPolicy{all[i], all[len(all)-1]}, namespaces: spaces}
	both := evaluator{policies: all, namespaces: spaces}
	for what, c := range map[string]struct {
		from     party
		protocol corev1.Protocol
		port     int32
		want     bool
	}{
		"a namespace that is named":        {party{namespace: "backup"}, tcp, network.AccessPort, true},
		"another one":                      {party{namespace: "openshift-monitoring"}, tcp, network.AccessPort, true},
		"the port of an entry":             {party{namespace: "backup"}, tcp, 2222, true},
		"a port that is not open":          {party{namespace: "backup"}, tcp, 2223, false},
		"metrics":                          {party{namespace: "backup"}, tcp, network.MetricsPort, false},
		"DNS for pods":                     {party{namespace: "backup"}, udp, wire.PodDNSPort, false},
		"the API server of VMs":            {party{namespace: "backup"}, tcp, 6443, false},
		"a namespace that is not named":    {party{namespace: "tools"}, tcp, network.AccessPort, false},
		"another hosted cluster":           {party{namespace: "clusters-red"}, tcp, network.AccessPort, false},
		"a host outside":                   {address("198.51.100.7"), tcp, network.AccessPort, false},
		"by UDP":                           {party{namespace: "backup"}, udp, network.AccessPort, false},
		"a namespace that is not named, a": {party{namespace: "tools"}, tcp, 2222, false},
	} {
		g.Expect(ours.side(networkingv1.PolicyTypeIngress, edge, c.from, edge, c.protocol, c.port)).To(Equal(c.want), what)
		g.Expect(both.side(networkingv1.PolicyTypeIngress, edge, c.from, edge, c.protocol, c.port)).To(Equal(c.want), "%s, with HyperShift's", what)
	}
	for what, from := range map[string]party{"the control plane": {namespace: edge.namespace}, "the ingress": {namespace: "openshift-ingress"}} {
		g.Expect(both.side(networkingv1.PolicyTypeIngress, edge, from, edge, tcp, network.AccessPort)).To(BeTrue(), "HyperShift admits %s, as the hint says", what)
	}
}

// TestAccessContainer: it holds no token and no place of another program to write, and the pod is ready without it. A change
// of what is open recreates no pod.
func TestAccessContainer(t *testing.T) {
	g := NewWithT(t)
	_, plan := storyThere(t, "management-access", func(*gather.World) {})
	n := plan.Networks[0]
	template := func(n network.Network) string {
		return desired.Hash(desired.EdgePod(n, n.Edges[0], testOptions.Release, "x"))
	}
	all := desired.EdgePod(n, n.Edges[0], testOptions.Release, "x").Spec.Containers
	i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == wire.Access })
	g.Expect(i).To(BeNumerically(">=", 0))
	c := all[i]
	g.Expect(c.StartupProbe).To(BeNil())
	g.Expect(c.ReadinessProbe).To(BeNil())
	g.Expect(c.LivenessProbe).To(BeNil())
	g.Expect(c.Args).To(ContainElements("access", "--watched-by", "dhcp", "--interface", "net1", "--management-interface", "eth0"))
	for _, m := range c.VolumeMounts {
		g.Expect(m.MountPath).NotTo(Equal(wire.TokenDir))
		g.Expect(m.ReadOnly).To(Equal(m.MountPath != wire.Dir(wire.RunDir, wire.Access)), m.MountPath)
	}
	before := template(n)
	n.Access.Destinations, n.Access.Accounts, n.Access.Namespaces = n.Access.Destinations[:1], nil, []string{"other"}
	g.Expect(template(n)).To(Equal(before), "what is open is in the plan only")
	n.Access = network.Access{}
	g.Expect(template(n)).NotTo(Equal(before))
	for _, c := range desired.EdgePod(n, n.Edges[0], testOptions.Release, "x").Spec.Containers {
		g.Expect(c.Name).NotTo(Equal(wire.Access))
		for _, m := range c.VolumeMounts {
			g.Expect(m.Name).NotTo(ContainSubstring("access"))
		}
	}
}

// TestPortsOfEdgesAreRefused: an entry cannot have a port that a pod of an edge uses already.
func TestPortsOfEdgesAreRefused(t *testing.T) {
	_, plan := storyThere(t, "management-access", func(*gather.World) {})
	used := []int32{wire.HeartbeatPort}
	for _, c := range desired.EdgePod(plan.Networks[0], plan.Networks[0].Edges[0], testOptions.Release, "x").Spec.Containers {
		for _, p := range c.Ports {
			used = append(used, p.ContainerPort)
		}
	}
	g := NewWithT(t)
	g.Expect(used).To(ContainElements(int32(network.AccessPort), int32(network.MetricsPort), int32(wire.PodDNSPort)))
	for _, port := range used {
		plan.Networks[0].Access.Accounts, plan.Networks[0].Access.Audience = nil, ""
		plan.Networks[0].Access.Destinations[0].Listen = uint16(port)
		g.Expect(plan.Validate()).To(MatchError(ContainSubstring("is in use")))
		r := network.Request{Networks: []network.NetworkRequest{}, Access: network.AccessRequest{Entries: []network.AccessEntry{{Destination: "nodes", Port: 22, Listen: uint16(port)}}}}
		ps := derive.Derive(r, network.Facts{}, network.Plan{}, nil).Problems
		g.Expect(ps).To(ContainElement(HaveField("Cause", problem.AccessPortInUse)), "port %d", port)
	}
}

// testAccess: the Service and the NetworkPolicy appear with the annotation, follow it, are restored, and go with it. An edge is
// recreated when it gets the container, and not when its value changes.
func testAccess(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "access")
	service, policy := ownObject{own.ServiceKind, wire.AccessObject}, ownObject{own.NetworkPolicyKind, wire.AccessObject}
	spec := func() corev1.ServiceSpec {
		o := &corev1.Service{}
		g.Expect(client.IgnoreNotFound(s.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: wire.AccessObject}, o))).To(Succeed())
		return o.Spec
	}
	lets := func() networkingv1.NetworkPolicySpec {
		o := &networkingv1.NetworkPolicy{}
		g.Expect(client.IgnoreNotFound(s.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: wire.AccessObject}, o))).To(Succeed())
		return o.Spec
	}
	none := h.snapshot(t)
	g.Expect(none).NotTo(Or(HaveKey("Service "+wire.AccessObject), HaveKey("NetworkPolicy "+wire.AccessObject)))

	h.annotate(t, "management-access", "nodes:10250")
	g.Eventually(func() any { return h.get(t, service) }).ShouldNot(BeNil())
	has := func() []string {
		d, names := &appsv1.Deployment{}, []string{}
		g.Expect(s.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: h.edge()}, d)).To(Succeed())
		for _, c := range d.Spec.Template.Spec.Containers {
			names = append(names, c.Name)
		}
		return names
	}
	g.Eventually(func() []string {
		g.Expect(h.allServe(t, h.deployments(t, "vlan100"))).To(Succeed(), "one edge at a time gets it")
		return has()
	}).Should(ContainElement(wire.Access))
	h.edgeServes(t)
	g.Eventually(h.says(t)).Should(And(ContainSubstring("AccessOpened"), ContainSubstring("nodes:10250"), Not(ContainSubstring("AnnotationUnknown"))))
	h.wellServed(t)
	g.Expect(h.get(t, policy)).To(BeNil(), "no namespace is named")
	edge := h.snapshot(t)["Deployment "+h.edge()]

	h.annotate(t, "management-access", "nodes:10250,22=192.168.100.20:22")
	h.annotate(t, "management-access-from", "backup,tools")
	g.Eventually(func() []corev1.ServicePort { return spec().Ports }).Should(ConsistOf(
		And(HaveField("Port", int32(3128)), HaveField("TargetPort", intstr.FromInt32(3128))), And(HaveField("Port", int32(22)), HaveField("TargetPort", intstr.FromInt32(22)))))
	g.Eventually(func() any { return h.get(t, policy) }).ShouldNot(BeNil())
	g.Eventually(func() int { return len(lets().Ingress[0].Ports) }).Should(Equal(2))
	g.Expect(lets().Ingress[0].From[0].NamespaceSelector.MatchExpressions[0].Values).To(Equal([]string{"backup", "tools"}))
	h.wellServed(t)
	g.Expect(h.snapshot(t)).To(HaveKeyWithValue("Deployment "+h.edge(), edge), "another value recreates no edge")

	before := h.snapshot(t)
	again(t, r, h)
	again(t, r, h)
	g.Expect(h.snapshot(t)).To(Equal(before))

	was, let := spec(), lets()
	live := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: wire.AccessObject}}
	g.Expect(s.admin.Patch(t.Context(), live, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"selector":{"app":"etcd"}}}`)))).To(Succeed())
	g.Eventually(spec).Should(Equal(was), "it leads to edges again")
	opened := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: wire.AccessObject}}
	g.Expect(s.admin.Patch(t.Context(), opened, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"ingress":[{}]}}`)))).To(Succeed())
	g.Eventually(lets).Should(Equal(let), "it admits only whom the user named again")
	g.Expect(s.admin.Delete(t.Context(), opened)).To(Succeed())
	g.Eventually(lets).Should(Equal(let))

	g.Expect(s.admin.Patch(t.Context(), live, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null}}`)))).To(Succeed())
	h.annotate(t, "management-access", "")
	g.Eventually(func() any { return h.get(t, service) }).Should(BeNil(), "with its labels or without")
	g.Eventually(func() any { return h.get(t, policy) }).Should(BeNil())
	g.Eventually(h.says(t)).Should(And(ContainSubstring("management-access-from has no effect"), Not(ContainSubstring("AccessOpened"))))
	g.Expect(h.plan(t)).NotTo(ContainSubstring(`"access": {`))

	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: wire.AccessObject}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 53}}}}
	g.Expect(s.admin.Create(t.Context(), foreign)).To(Succeed())
	h.annotate(t, "management-access", "nodes:22")
	g.Eventually(h.says(t)).Should(ContainSubstring("NotApplied"), "a Service of others is not taken")
	g.Expect(spec().Selector).To(BeEmpty())
	g.Expect(s.admin.Delete(t.Context(), foreign)).To(Succeed())
	g.Eventually(func() map[string]string { return spec().Selector }).Should(Equal(was.Selector))
	h.annotate(t, "network", "none")
	g.Eventually(func() map[string]string { return h.snapshot(t) }).Should(BeEmpty())
}

// testThiefOpens makes the Service and the NetworkPolicy of management access lead elsewhere, or other Services.
func testThiefOpens(t *testing.T, s thief, h hosted) {
	g := NewWithT(t)
	h.annotate(t, "management-access", "nodes:10250")
	h.annotate(t, "management-access-from", "backup")
	g.Eventually(func() any { return h.get(t, ownObject{own.ServiceKind, wire.AccessObject}) }).ShouldNot(BeNil())
	g.Eventually(func() any { return h.get(t, ownObject{own.NetworkPolicyKind, wire.AccessObject}) }).ShouldNot(BeNil())
	ofEdges := wire.NetworkLabels(wire.NameEdge, h.network("vlan100"))
	at := func(port int32) corev1.ServiceSpec {
		return corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Selector: ofEdges, Ports: []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: port, TargetPort: intstr.FromInt32(port)}}}
	}
	create := func(name string, spec corev1.ServiceSpec) error {
		return s.c.Create(t.Context(), &corev1.Service{ObjectMeta: ours(h.ns, name), Spec: spec}, client.DryRunAll)
	}
	g.Expect(create("oooi-access-other", at(3128))).To(Succeed(), "of a further network")
	g.Expect(create("kube-apiserver-2", at(3128))).To(refusedByPolicy(), "another name")
	g.Expect(create("oooi-accessible", at(3128))).To(refusedByPolicy(), "a longer name")
	g.Expect(create("oooi-access-other", at(network.MetricsPort))).To(refusedByPolicy(), "metrics")
	g.Expect(create("oooi-access-other", at(wire.PodDNSPort))).To(refusedByPolicy(), "DNS for pods")
	api := patch(t, s, h.ns, "kube-apiserver", &corev1.Service{}, func(o *corev1.Service) { o.Spec.Selector = ofEdges })
	g.Expect(api).To(refusedByPolicy(), "a Service of the control plane")
	g.Expect(s.c.Delete(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "kube-apiserver"}}, client.DryRunAll)).To(refusedByPolicy())
	for what, change := range map[string]func(*corev1.ServiceSpec){
		"etcd":            func(o *corev1.ServiceSpec) { o.Selector = map[string]string{"app": "etcd"} },
		"no selector":     func(o *corev1.ServiceSpec) { o.Selector = nil },
		"all edges":       func(o *corev1.ServiceSpec) { o.Selector = wire.NamedLabels(wire.NameEdge) },
		"one more label":  func(o *corev1.ServiceSpec) { o.Selector["app"] = "etcd" },
		"another target":  func(o *corev1.ServiceSpec) { o.Ports[0].TargetPort = intstr.FromInt32(9753) },
		"a named target":  func(o *corev1.ServiceSpec) { o.Ports[0].TargetPort = intstr.FromString("metrics") },
		"the outside":     func(o *corev1.ServiceSpec) { o.Type = corev1.ServiceTypeNodePort },
		"a load balancer": func(o *corev1.ServiceSpec) { o.Type = corev1.ServiceTypeLoadBalancer },
		"another address": func(o *corev1.ServiceSpec) { o.ExternalIPs = []string{"192.0.2.66"} },
		"pods not ready":  func(o *corev1.ServiceSpec) { o.PublishNotReadyAddresses = true },
	} {
		err := patch(t, s, h.ns, wire.AccessObject, &corev1.Service{}, func(o *corev1.Service) { change(&o.Spec) })
		g.Expect(err).To(refusedByPolicy(), what)
	}
	named := intstr.FromString("metrics")
	metrics, last := intstr.FromInt32(network.MetricsPort), int32(10000)
	for what, change := range map[string]func(*networkingv1.NetworkPolicySpec){
		"all namespaces": func(o *networkingv1.NetworkPolicySpec) {
			o.Ingress[0].From[0].NamespaceSelector = &metav1.LabelSelector{}
		},
		"by another label": func(o *networkingv1.NetworkPolicySpec) {
			o.Ingress[0].From[0].NamespaceSelector.MatchExpressions[0].Key = "a"
		},
		"all but some": func(o *networkingv1.NetworkPolicySpec) {
			o.Ingress[0].From[0].NamespaceSelector.MatchExpressions[0].Operator = metav1.LabelSelectorOpNotIn
		},
		"everyone": func(o *networkingv1.NetworkPolicySpec) { o.Ingress[0].From = nil },
		"hosts": func(o *networkingv1.NetworkPolicySpec) {
			o.Ingress[0].From[0] = networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0"}}
		},
		"all ports":    func(o *networkingv1.NetworkPolicySpec) { o.Ingress[0].Ports = nil },
		"metrics":      func(o *networkingv1.NetworkPolicySpec) { o.Ingress[0].Ports[0].Port = &metrics },
		"a named port": func(o *networkingv1.NetworkPolicySpec) { o.Ingress[0].Ports[0].Port = &named },
		"many ports":   func(o *networkingv1.NetworkPolicySpec) { o.Ingress[0].Ports[0].EndPort = &last },
		"other pods": func(o *networkingv1.NetworkPolicySpec) {
			o.PodSelector = metav1.LabelSelector{MatchLabels: map[string]string{"app": "etcd"}}
		},
		"all pods": func(o *networkingv1.NetworkPolicySpec) { o.PodSelector = metav1.LabelSelector{} },
		"the way out": func(o *networkingv1.NetworkPolicySpec) {
			o.Egress, o.PolicyTypes = []networkingv1.NetworkPolicyEgressRule{{}}, append(o.PolicyTypes, networkingv1.PolicyTypeEgress)
		},
		"a further rule": func(o *networkingv1.NetworkPolicySpec) {
			o.Ingress = append(o.Ingress, networkingv1.NetworkPolicyIngressRule{})
		},
	} {
		err := patch(t, s, h.ns, wire.AccessObject, &networkingv1.NetworkPolicy{}, func(o *networkingv1.NetworkPolicy) { change(&o.Spec) })
		g.Expect(err).To(refusedByPolicy(), what)
	}
	h.annotate(t, "management-access", "")
	h.annotate(t, "management-access-from", "")
	g.Eventually(func() any { return h.get(t, ownObject{own.ServiceKind, wire.AccessObject}) }).Should(BeNil())
}
