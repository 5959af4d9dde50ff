package controllers

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// A copied is the copy of a load balancer, as HyperShift's cloud controller writes it.
type copied struct {
	hosted
	name string
}

// balance plays the cloud controller: it copies Service shop/<guest> with these node ports.
func (h hosted) balance(t *testing.T, name, guest string, targets ...int32) copied {
	t.Helper()
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: name, Labels: map[string]string{
		"cluster.x-k8s.io/tenant-service-name": guest, "cluster.x-k8s.io/tenant-service-namespace": "shop", "cluster.x-k8s.io/cluster-name": h.key.Name,
	}}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal}}
	for i, target := range targets {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: string(rune('a' + i)), Protocol: corev1.ProtocolTCP, Port: int32(80 + i), TargetPort: intstr.FromInt32(target)})
	}
	NewWithT(t).Expect(h.admin.Create(t.Context(), s)).To(Succeed())
	return copied{h, name}
}

// live is the copy. Nil: there is none.
func (c copied) live(t *testing.T) *corev1.Service {
	s := &corev1.Service{}
	err := c.admin.Get(t.Context(), types.NamespacedName{Namespace: c.ns, Name: c.name}, s)
	if apierrors.IsNotFound(err) {
		return nil
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return s
}

// selector selects the pods that it forwards to.
func (c copied) selector(t *testing.T) func() map[string]string {
	return func() map[string]string { return c.live(t).Spec.Selector }
}

// slice writes an EndpointSlice of it, as a controller does, with the pod or VM of that name.
func (c copied) slice(t *testing.T, name, manager, pod string) *discoveryv1.EndpointSlice {
	t.Helper()
	labels := map[string]string{discoveryv1.LabelServiceName: c.name, discoveryv1.LabelManagedBy: manager}
	e := discoveryv1.Endpoint{Addresses: []string{"192.168.100.20"}}
	if pod != "" { // The controllers of Kubernetes copy the labels of the Service.
		for key, value := range c.live(t).Labels {
			labels[key] = value
		}
		e = discoveryv1.Endpoint{Addresses: []string{"10.128.0.9"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: c.ns, Name: pod}}
	}
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: name, Labels: labels}, AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{e}}
	NewWithT(t).Expect(c.admin.Create(t.Context(), s)).To(Succeed())
	return s
}

// endpoints writes Endpoints of its name, as Kubernetes does, with a pod of that name.
func (c copied) endpoints(t *testing.T, pod string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"subsets": []any{map[string]any{"addresses": []any{map[string]any{
		"ip": "10.128.0.9", "targetRef": map[string]any{"kind": "Pod", "namespace": c.ns, "name": pod}}}, "ports": []any{map[string]any{"port": int64(31080)}}}}}}
	u.SetGroupVersionKind(own.EndpointsKind)
	u.SetNamespace(c.ns)
	u.SetName(c.name)
	u.SetLabels(c.live(t).Labels)
	NewWithT(t).Expect(c.admin.Create(t.Context(), u)).To(Succeed())
	return u
}

// gone reports whether o does not exist.
func (h hosted) gone(t *testing.T, o client.Object) func() bool {
	return func() bool {
		return apierrors.IsNotFound(h.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o))
	}
}

// listens plays edge number of vlan100, which has opened these ports.
func (h hosted) listens(t *testing.T, number int, ports ...uint16) {
	t.Helper()
	g := NewWithT(t)
	lease := wire.EdgeReportLease(h.network("vlan100"), network.Edge{Number: number})
	o := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: lease.Name, Labels: lease.Labels}}
	_ = client.IgnoreNotFound(h.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o))
	o.Labels, o.Annotations = lease.Labels, map[string]string{wire.AnnotationReport: string(reported.EdgeReport{Edge: number, Peer: reported.PeerServing, Balanced: ports}.JSON())}
	if o.ResourceVersion == "" {
		g.Expect(h.admin.Create(t.Context(), o)).To(Succeed())
		return
	}
	g.Expect(h.admin.Update(t.Context(), o)).To(Succeed())
}

// edgesOfVLAN is the selector of the edges on vlan100.
func (h hosted) edgesOfVLAN() map[string]string {
	return wire.NetworkLabels(wire.NameEdge, h.network("vlan100"))
}

// opensLoadBalancers sets the annotation, and plays the Deployments' controller until all edges have the container.
func (h hosted) opensLoadBalancers(t *testing.T, value string) {
	t.Helper()
	h.annotate(t, "management-access", value)
	NewWithT(t).Eventually(func(g Gomega) {
		all := h.deployments(t, "vlan100")
		g.Expect(h.allServe(t, all)).To(Succeed())
		for _, d := range all {
			g.Expect(d.Spec.Template.Spec.Containers).To(ContainElement(HaveField("Name", wire.Access)))
		}
	}).Should(Succeed())
	h.edgeServes(t)
}

// testLoadBalancers: a copy forwards to the edges once both have opened its ports, and not before. HyperShift's endpoints are removed,
// also those that come later. A Service that appears recreates no edge. All is given back with the annotation.
func testLoadBalancers(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "balanced")
	web := h.balance(t, "a1web", "web", 31080, 31443)
	vms := web.slice(t, "a1web-worker-1-ipv4", services.VMSlices, "")
	g.Eventually(h.says(t)).Should(And(ContainSubstring("LoadBalancersUnreachable"), ContainSubstring("shop/web")))
	g.Expect(web.selector(t)()).To(BeEmpty())

	h.opensLoadBalancers(t, "loadbalancers")
	g.Eventually(h.says(t)).Should(And(ContainSubstring("Anyone who reaches a load balancer"), ContainSubstring("shop/web"), ContainSubstring("do not forward to edges of network")))
	h.listens(t, 1, 31080, 31443)
	h.listens(t, 2, 31080)
	again(t, r, h)
	g.Consistently(web.selector(t), "2s").Should(BeEmpty(), "an edge has not opened all ports")
	g.Expect(h.gone(t, vms)()).To(BeFalse())
	before := h.snapshot(t)

	h.listens(t, 2, 31080, 31443)
	g.Eventually(web.selector(t)).Should(Equal(h.edgesOfVLAN()))
	g.Eventually(h.gone(t, vms)).Should(BeTrue(), "addresses of VMs")
	live := web.live(t)
	g.Expect(live.Spec.Ports).To(HaveLen(2))
	g.Expect(live.Spec.ExternalTrafficPolicy).To(Equal(corev1.ServiceExternalTrafficPolicyLocal))
	g.Expect(live.Labels).To(HaveLen(3))
	g.Expect(live.OwnerReferences).To(BeEmpty())
	g.Eventually(h.says(t)).ShouldNot(ContainSubstring("do not forward to edges of network"))

	late := web.slice(t, "a1web-worker-2-ipv4", services.VMSlices, "")
	ours := web.slice(t, "a1web-abcde", services.SelectorSlices, wire.NameEdge+"-x-1-5f")
	g.Eventually(h.gone(t, late)).Should(BeTrue(), "HyperShift was about to write it")
	g.Expect(s.admin.Patch(t.Context(), live, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"selector":null}}`)))).To(Succeed())
	g.Eventually(web.selector(t)).Should(Equal(h.edgesOfVLAN()), "HyperShift writes it again without a selector")

	second := h.balance(t, "a2db", "db", 31432)
	g.Eventually(func() string { return h.plan(t) }).Should(ContainSubstring("a2db"))
	g.Consistently(second.selector(t), "1s").Should(BeEmpty())
	for key, version := range h.snapshot(t) {
		if _, was := before[key]; was && key[:3] == "Dep" {
			g.Expect(version).To(Equal(before[key]), "%s is as before", key)
		}
	}
	h.listens(t, 1, 31080, 31432, 31443)
	h.listens(t, 2, 31080, 31432, 31443)
	g.Eventually(second.selector(t)).Should(Equal(h.edgesOfVLAN()))
	h.wellServed(t)
	g.Eventually(func() []string { return s.requests.during(func() { again(t, r, h) }) }).
		Should(Or(BeEmpty(), ConsistOf(HavePrefix("GET /apis/discovery.k8s.io/v1/namespaces/"+h.ns+"/endpointslices"))), "a pass that changes nothing")

	left := web.endpoints(t, wire.NameEdge+"-x-1-5f")
	h.annotate(t, "management-access", "")
	for _, c := range []copied{web, second} {
		g.Eventually(c.selector(t)).Should(BeEmpty())
	}
	g.Eventually(h.gone(t, ours)).Should(BeTrue(), "Kubernetes leaves it")
	g.Eventually(h.gone(t, left)).Should(BeTrue(), "Kubernetes leaves them")
	again(t, r, h)
	stays := web.slice(t, "a1web-worker-3-ipv4", services.VMSlices, "")
	g.Consistently(h.gone(t, stays), "2s").Should(BeFalse(), "it is HyperShift's now")
}

// testBadLoadBalancers: a copy that cannot forward to edges has a problem, and the others do.
func testBadLoadBalancers(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "badlb")
	good := h.balance(t, "a1web", "web", 31080)
	bad := h.balance(t, "a2metrics", "metrics", int32(network.MetricsPort))
	foreign := h.balance(t, "a3db", "db", 31432)
	unallocated := h.balance(t, "a4web", "unallocated", 0, 31500)
	g.Expect(unallocated.live(t).Spec.Ports[0].TargetPort).To(Equal(intstr.FromInt32(80)), "the API server's default")
	labels := map[string]string{"cluster.x-k8s.io/role": "worker"}
	g.Expect(s.admin.Patch(t.Context(), foreign.live(t), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"selector":{"cluster.x-k8s.io/role":"worker"}}}`)))).To(Succeed())
	h.opensLoadBalancers(t, "loadbalancers")
	h.listens(t, 1, 31080, 31432, 31500)
	h.listens(t, 2, 31080, 31432, 31500)
	for _, c := range []copied{good, unallocated} {
		g.Eventually(c.selector(t)).Should(Equal(h.edgesOfVLAN()))
	}
	g.Eventually(h.says(t)).Should(And(ContainSubstring("AccessRefused"), ContainSubstring("a2metrics"), ContainSubstring("Port 80 of Service a4web")))
	g.Expect(bad.selector(t)()).To(BeEmpty())
	g.Expect(foreign.selector(t)()).To(Equal(labels))

	h.annotate(t, "network", "none")
	g.Eventually(good.selector(t)).Should(BeEmpty())
	g.Eventually(func() map[string]string { return h.snapshot(t) }).Should(BeEmpty())
	g.Expect(foreign.selector(t)()).To(Equal(labels))
}

// testLoadBalancerSources: the NetworkPolicy admits the ranges of a copy only. One whose clients edges do not see is given back.
func testLoadBalancerSources(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "lbranges")
	web := h.balance(t, "a1web", "web", 31080)
	restrict := func(patch string) {
		g.Expect(s.admin.Patch(t.Context(), web.live(t), client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
	}
	restrict(`{"spec":{"loadBalancerSourceRanges":["192.0.2.0/24"]}}`)
	h.opensLoadBalancers(t, "loadbalancers")
	h.listens(t, 1, 31080)
	h.listens(t, 2, 31080)
	g.Eventually(web.selector(t)).Should(Equal(h.edgesOfVLAN()))
	policy := &networkingv1.NetworkPolicy{}
	admitted := func(g Gomega) []networkingv1.NetworkPolicyPeer {
		g.Expect(s.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: wire.AccessObject}, policy)).To(Succeed())
		g.Expect(policy.Spec.Ingress).To(HaveLen(1))
		return policy.Spec.Ingress[0].From
	}
	g.Eventually(admitted).Should(ConsistOf(HaveField("IPBlock.CIDR", "192.0.2.0/24")))
	restrict(`{"spec":{"loadBalancerSourceRanges":["198.51.100.0/24"]}}`)
	g.Eventually(admitted).Should(ConsistOf(HaveField("IPBlock.CIDR", "198.51.100.0/24")))

	restrict(`{"spec":{"externalTrafficPolicy":"Cluster"}}`)
	g.Eventually(h.says(t)).Should(ContainSubstring("loadBalancerSourceRanges"))
	g.Eventually(web.selector(t)).Should(BeEmpty())
	restrict(`{"spec":{"loadBalancerSourceRanges":null}}`)
	g.Eventually(admitted).Should(BeEmpty())
}

// testLoadBalancersOfDeleted: all are given back while the hosted cluster is being deleted.
func testLoadBalancersOfDeleted(t *testing.T, s *apiServer, _ *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "lbgone")
	web := h.balance(t, "a1web", "web", 31080)
	h.opensLoadBalancers(t, "loadbalancers")
	h.listens(t, 1, 31080)
	h.listens(t, 2, 31080)
	g.Eventually(web.selector(t)).Should(Equal(h.edgesOfVLAN()))
	g.Expect(s.admin.Delete(t.Context(), h.hostedCluster(t))).To(Succeed())
	g.Eventually(web.selector(t)).Should(BeEmpty())
	hc := h.hostedCluster(t)
	hc.Finalizers = nil
	g.Expect(s.admin.Update(t.Context(), hc)).To(Succeed())
}

// testLoadBalancersAfterRestart: an operator that starts finds what the one before it led, and what is left behind these Services.
func testLoadBalancersAfterRestart(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	s.addNode(t)
	_, _, stop := s.runAs(t, testOptions, time.Now)
	h := s.served(t, "restart")
	web := h.balance(t, "a1web", "web", 31080)
	h.opensLoadBalancers(t, "loadbalancers")
	h.listens(t, 1, 31080)
	h.listens(t, 2, 31080)
	g.Eventually(web.selector(t)).Should(Equal(h.edgesOfVLAN()))
	stop()
	vms := web.slice(t, "a1web-worker-1-ipv4", services.VMSlices, "")
	_, _, stop = s.runAs(t, testOptions, time.Now)
	g.Eventually(h.gone(t, vms)).Should(BeTrue())
	stop()

	h.annotate(t, "management-access", "")
	ours := web.slice(t, "a1web-abcde", services.SelectorSlices, wire.NameEdge+"-x-1-5f")
	_, _, stop = s.runAs(t, testOptions, time.Now)
	g.Eventually(web.selector(t)).Should(BeEmpty())
	g.Eventually(h.gone(t, ours)).Should(BeTrue())
	stop()

	// It was given back, and Kubernetes wrote what it had seen before.
	ours = web.slice(t, "a1web-fghij", services.SelectorSlices, wire.NameEdge+"-x-1-5f")
	mirrored, left := web.slice(t, "a1web-mirror", services.MirrorSlices, wire.NameEdge+"-x-1-5f"), web.endpoints(t, wire.NameEdge+"-x-1-5f")
	others := web.slice(t, "a1web-others", services.SelectorSlices, "virt-launcher-x")
	_, _, stop = s.runAs(t, testOptions, time.Now)
	defer stop()
	g.Eventually(h.gone(t, ours)).Should(BeTrue())
	g.Eventually(h.gone(t, left)).Should(BeTrue(), "the mirror of these goes with them")
	g.Expect(h.gone(t, mirrored)()).To(BeFalse())
	g.Expect(h.gone(t, others)()).To(BeFalse())
}

// testThiefLeads tries to change copies, and what is behind other Services.
func testThiefLeads(t *testing.T, s thief, h hosted) {
	g := NewWithT(t)
	web := h.balance(t, "a1thief", "web", 31080)
	edges := h.edgesOfVLAN()
	set := func(name string, change func(*corev1.Service)) error {
		return patch(t, s, h.ns, name, &corev1.Service{}, change)
	}
	g.Expect(set(web.name, func(o *corev1.Service) { o.Spec.Selector = edges })).To(Succeed())
	for what, change := range map[string]func(*corev1.Service){
		"etcd":             func(o *corev1.Service) { o.Spec.Selector = map[string]string{"app": "etcd"} },
		"all edges":        func(o *corev1.Service) { o.Spec.Selector = wire.NamedLabels(wire.NameEdge) },
		"a port":           func(o *corev1.Service) { o.Spec.Selector = edges; o.Spec.Ports[0].Port = 22 },
		"a target":         func(o *corev1.Service) { o.Spec.Ports[0].TargetPort = intstr.FromInt32(9753) },
		"another address":  func(o *corev1.Service) { o.Spec.ExternalIPs = []string{"192.0.2.66"} },
		"the type":         func(o *corev1.Service) { o.Spec.Type = corev1.ServiceTypeNodePort },
		"pods not ready":   func(o *corev1.Service) { o.Spec.PublishNotReadyAddresses = true },
		"a label":          func(o *corev1.Service) { o.Labels["a"] = "b" },
		"the guest's name": func(o *corev1.Service) { o.Labels["cluster.x-k8s.io/tenant-service-name"] = "b" },
		"an annotation":    func(o *corev1.Service) { o.Annotations = map[string]string{"a": "b"} },
		"a finalizer":      func(o *corev1.Service) { o.Finalizers = []string{"example.com/a"} },
	} {
		g.Expect(set(web.name, change)).To(refusedByPolicy(), what)
	}
	g.Expect(s.c.Delete(t.Context(), web.live(t), client.DryRunAll)).To(refusedByPolicy(), "the copy itself")
	other := h.balance(t, "a2thief", "db", 31432)
	g.Expect(s.admin.Patch(t.Context(), other.live(t), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"selector":{"app":"db"}}}`)))).To(Succeed())
	g.Expect(set(other.name, func(o *corev1.Service) { o.Spec.Selector = edges })).To(refusedByPolicy(), "a selector of others")
	g.Expect(set("kube-apiserver", func(o *corev1.Service) { o.Spec.Selector = edges })).To(refusedByPolicy())

	for what, c := range map[string]struct {
		o  client.Object
		ok bool
	}{
		"of VMs":           {web.slice(t, "thief-1", services.VMSlices, ""), true},
		"of edges":         {web.slice(t, "thief-2", services.SelectorSlices, wire.NameEdge+"-x"), true},
		"of other pods":    {web.slice(t, "thief-3", services.SelectorSlices, "etcd-0"), false},
		"of the API":       {copied{h, "kube-apiserver"}.slice(t, "thief-4", services.SelectorSlices, "kube-apiserver-x"), false},
		"Endpoints":        {web.endpoints(t, wire.NameEdge+"-x"), true},
		"other Endpoints":  {other.endpoints(t, "etcd-0"), false},
		"Endpoints of API": {copied{h, "kube-apiserver"}.endpoints(t, "kube-apiserver-x"), false},
	} {
		err := s.c.Delete(t.Context(), c.o, client.DryRunAll)
		if c.ok { // The operator may have removed it already.
			g.Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred(), what)
		} else {
			g.Expect(err).To(refusedByPolicy(), what)
		}
		g.Expect(client.IgnoreNotFound(s.admin.Delete(t.Context(), c.o))).To(Succeed())
	}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: ours(h.ns, "oooi-thief"), AddressType: discoveryv1.AddressTypeIPv4}
	g.Expect(apierrors.IsForbidden(s.c.Create(t.Context(), slice, client.DryRunAll))).To(BeTrue())
	for _, c := range []copied{web, other} {
		g.Expect(s.admin.Delete(t.Context(), c.live(t))).To(Succeed())
	}
}
