package hcp_test

import (
	"fmt"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/golden"
)

// TestLoadBalancerFacts: which facts about a copied load balancer follow from the Service as the cache contains it.
func TestLoadBalancerFacts(t *testing.T) {
	dump := &files.Dump{}
	g := NewWithT(t)
	for _, story := range golden.Stories(t) {
		if story.Name == "lb-ip" {
			g.Expect(dump.Add(story.Read(t, "objects.yaml"))).To(Succeed())
		}
	}
	o := dump.Clusters()[0]
	facts := func(change func(*corev1.Service), all ...services.Slice) []network.LoadBalancer {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "a1", UID: "u1", Labels: map[string]string{
			"cluster.x-k8s.io/tenant-service-name": "web", "cluster.x-k8s.io/tenant-service-namespace": "shop", "cluster.x-k8s.io/cluster-name": "blue"}},
			Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.9", Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromInt32(31443)}, {Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(31080)}}}}
		change(s)
		in := deepCopy(o)
		cached := services.CachedService(s)
		g.Expect(cached.UID == s.UID).To(Equal(services.IsLoadBalancer(s)), "no other one keeps it")
		in.Services, in.Slices = append(in.Services, *cached), all
		_, f := hcp.Translate(in, network.Plan{})
		return f.LoadBalancers
	}
	ports := []network.LoadBalancerPort{{Protocol: "TCP", Port: 80, Target: 31080}, {Protocol: "TCP", Port: 443, Target: 31443}}
	g.Expect(facts(func(*corev1.Service) {})).To(Equal([]network.LoadBalancer{{Service: "a1", HostedService: "shop/web", Ports: ports}}))
	for what, c := range map[string]struct {
		change func(*corev1.Service)
		want   any
	}{
		"edges": {func(s *corev1.Service) {
			s.Spec.Selector = wire.NetworkLabels(wire.NameEdge, network.Network{Name: "x"})
		}, HaveField("Leads", network.LeadsToEdges)},
		"others":    {func(s *corev1.Service) { s.Spec.Selector = map[string]string{"a": "b"} }, HaveField("Leads", network.LeadsElsewhere)},
		"UDP":       {func(s *corev1.Service) { s.Spec.Ports[1].Protocol = corev1.ProtocolUDP }, HaveField("Ports", ContainElement(HaveField("Protocol", "UDP")))},
		"a name":    {func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString("web") }, HaveField("Ports", ContainElement(HaveField("Target", uint16(0))))},
		"too large": {func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(70000) }, HaveField("Ports", ContainElement(HaveField("Target", uint16(0))))},
		"IPv6":      {func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.ClusterIPs = "fd00::9", []string{"fd00::9"} }, And(HaveField("NoIPv4", true), HaveField("IPv6", true))},
		"both":      {func(s *corev1.Service) { s.Spec.ClusterIPs = []string{"10.96.0.9", "fd00::9"} }, And(HaveField("NoIPv4", false), HaveField("IPv6", true))},
		"headless":  {func(s *corev1.Service) { s.Spec.ClusterIP = "None" }, And(HaveField("NoIPv4", false), HaveField("IPv6", false))},
		"an address": {func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.240.0.9"}, {Hostname: "lb.example.com"}}
		},
			HaveField("Addresses", []netip.Addr{netip.MustParseAddr("10.240.0.9")})},
		"ranges": {restrict(corev1.ServiceExternalTrafficPolicyLocal, "192.0.2.9/24", "10.0.0.0/8", "192.0.2.0/24"), And(HaveField("SourcesHidden", false),
			HaveField("Sources", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.0/24")}))},
		"ranges of nodes' clients": {restrict(corev1.ServiceExternalTrafficPolicyCluster, "192.0.2.0/24"), And(HaveField("SourcesHidden", true), HaveField("Sources", BeEmpty()))},
		"no known range":           {restrict(corev1.ServiceExternalTrafficPolicyLocal, "x"), HaveField("SourcesHidden", true)},
		"too many ranges":          {restrict(corev1.ServiceExternalTrafficPolicyLocal, manyRanges()...), HaveField("SourcesHidden", true)},
		"the range of all":         {restrict(corev1.ServiceExternalTrafficPolicyCluster, "192.0.2.0/24", "0.0.0.0/0"), And(HaveField("SourcesHidden", false), HaveField("Sources", BeEmpty()))},
		"the ingress":              {func(s *corev1.Service) { s.Labels, s.Name = nil, "default-ingress-passthrough-service-x" }, HaveField("HostedService", "")},
	} {
		g.Expect(facts(c.change)).To(ConsistOf(c.want), what)
	}
	g.Expect(facts(func(*corev1.Service) {}, services.Slice{Service: "a1", ManagedBy: services.VMSlices})).To(ConsistOf(HaveField("Endpoints", true)))
	g.Expect(facts(func(*corev1.Service) {}, services.Slice{Service: "a1", ManagedBy: "x"}, services.Slice{Service: "a2", ManagedBy: services.VMSlices})).To(ConsistOf(HaveField("Endpoints", false)))
	g.Expect(facts(func(s *corev1.Service) { s.Labels = nil })).To(BeEmpty(), "any other Service")
}

// restrict gives a Service these ranges of clients.
func restrict(policy corev1.ServiceExternalTrafficPolicy, ranges ...string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Spec.ExternalTrafficPolicy, s.Spec.LoadBalancerSourceRanges = policy, ranges
	}
}

func manyRanges() []string {
	var out []string
	for i := range network.MaxLoadBalancerSources + 1 {
		out = append(out, fmt.Sprintf("10.%d.0.0/16", i))
	}
	return out
}

// TestLoadBalancerSlices: it is known which program wrote a slice of a load balancer, and whether it has edges, cached or not. Others keep no labels.
func TestLoadBalancerSlices(t *testing.T) {
	g := NewWithT(t)
	pod := &corev1.ObjectReference{Kind: "Pod"}
	slice := func(labels map[string]string, pods ...string) discoveryv1.EndpointSlice {
		s := discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "a1-x", UID: "u1", Labels: labels}}
		for _, name := range pods {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: name}})
		}
		return s
	}
	const service, manager, guest = discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy, "cluster.x-k8s.io/tenant-service-name"
	for what, c := range map[string]struct {
		slice discoveryv1.EndpointSlice
		want  []services.Slice
	}{
		"of VMs":        {slice(map[string]string{service: "a1", manager: services.VMSlices, "a": "b"}), []services.Slice{{Name: "a1-x", UID: "u1", Service: "a1", ManagedBy: services.VMSlices}}},
		"of edges":      {slice(map[string]string{service: "a1", manager: "k", guest: "web"}, "oooi-edge-a-1-x", "oooi-edge-a-2-x"), []services.Slice{{Name: "a1-x", UID: "u1", Service: "a1", ManagedBy: "k", OfEdges: true}}},
		"of some edges": {slice(map[string]string{service: "a1", manager: "k", guest: "web"}, "oooi-edge-a-1-x", "etcd-0"), []services.Slice{{Name: "a1-x", UID: "u1", Service: "a1", ManagedBy: "k"}}},
		"of no pod":     {slice(map[string]string{service: "a1", manager: "k", guest: "web"}), []services.Slice{{Name: "a1-x", UID: "u1", Service: "a1", ManagedBy: "k"}}},
		"of the ingress": {slice(map[string]string{service: "default-ingress-passthrough-service-x", manager: "k"}, "oooi-edge-a-1-x"),
			[]services.Slice{{Name: "a1-x", UID: "u1", Service: "default-ingress-passthrough-service-x", ManagedBy: "k", OfEdges: true}}},
		"of another Service": {slice(map[string]string{service: "oooi-access", manager: "k"}, "oooi-edge-a-1-x"), nil},
	} {
		g.Expect(services.LoadBalancerSlices([]discoveryv1.EndpointSlice{c.slice})).To(Equal(c.want), what)
		cached := services.CachedSlice(&c.slice, pod)
		g.Expect(services.CachedSlice(cached, pod)).To(Equal(cached), what)
		g.Expect(services.LoadBalancerSlices([]discoveryv1.EndpointSlice{*cached})).To(Equal(c.want), what)
		if c.want == nil {
			g.Expect(cached.Labels).To(BeEmpty())
		}
	}
}
