package management_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
)

// TestManagementNetworks reads the networks of each kind. What is not IPv4 is read, too, and
// dropped later.
func TestManagementNetworks(t *testing.T) {
	for text, want := range map[string][]string{
		"{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, spec: {cidrs: [10.96.0.0/12, 'fd00::/108']}}":                                                    {"10.96.0.0/12", "fd00::/108"},
		"{apiVersion: crd.projectcalico.org/v1, kind: IPPool, spec: {cidr: 10.244.0.0/16}}":                                                                     {"10.244.0.0/16"},
		"{apiVersion: config.openshift.io/v1, kind: Network, spec: {serviceNetwork: [172.30.0.0/16], clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 23}]}}": {"172.30.0.0/16", "10.128.0.0/14"},
		"{apiVersion: config.openshift.io/v1, kind: Network, status: {serviceNetwork: [172.30.0.0/16], clusterNetwork: [{cidr: 10.128.0.0/14}, {cidr: x}]}}":    {"172.30.0.0/16", "10.128.0.0/14"},
		"{apiVersion: config.openshift.io/v1, kind: Infrastructure, status: {platformStatus: {type: BareMetal, baremetal: {apiServerInternalIPs: [192.0.2.5], ingressIPs: [192.0.2.6]}}}}": {
			"192.0.2.5/32", "192.0.2.6/32"},
		"{apiVersion: config.openshift.io/v1, kind: Infrastructure, status: {platformStatus: {type: None}}}": nil,
		"{apiVersion: config.openshift.io/v1, kind: Ingress, spec: {cidrs: [10.0.0.0/8]}}":                   nil,
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			u := &unstructured.Unstructured{}
			g.Expect(yaml.Unmarshal([]byte(text), &u.Object)).To(Succeed())
			var got []string
			for _, r := range management.Networks(u.GroupVersionKind(), u.Object) {
				g.Expect(r.Required).To(BeFalse())
				got = append(got, r.Prefix.String())
			}
			g.Expect(got).To(Equal(want))
		})
	}
}

// behindSlices are addresses of pods, of an IPAM that writes nothing on nodes, and others.
func behindSlices(pods ...string) []discoveryv1.EndpointSlice {
	s := discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{
		{Addresses: []string{"198.51.100.1"}},
		{Addresses: []string{"198.51.100.2"}, TargetRef: &corev1.ObjectReference{Kind: "Node"}},
	}}
	for _, a := range pods {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}, TargetRef: &corev1.ObjectReference{Kind: "Pod"}})
	}
	return []discoveryv1.EndpointSlice{s}
}

// TestObservedAddresses: pods and Services that are in no known network are reserved one by one,
// or by their /24 if there are many.
func TestObservedAddresses(t *testing.T) {
	g := NewWithT(t)
	nodes := []corev1.Node{{Spec: corev1.NodeSpec{PodCIDR: "10.128.0.0/23"}}}
	m := management.Cluster{Networks: []network.ReservedDestination{{What: "Services", Prefix: netip.MustParsePrefix("10.96.0.0/12")}}}
	reserved := func(pods ...string) []string {
		m.Observed = append(management.ServiceAddresses([]corev1.Service{
			{Spec: corev1.ServiceSpec{ClusterIP: "None"}}, {Spec: corev1.ServiceSpec{ClusterIP: "10.97.1.1", ClusterIPs: []string{"10.97.1.1", "fd00::1"}}},
			{Spec: corev1.ServiceSpec{ClusterIP: "172.31.7.7", ExternalIPs: []string{"203.0.113.60"}},
				Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "203.0.113.50"}, {Hostname: "lb.example.com"}}}}},
		}, nil), management.PodAddresses(behindSlices(pods...))...)
		var out []string
		for _, r := range m.Reserved(nodes, nil, nil) {
			if r.What == "pods or Services of the management cluster" {
				g.Expect(r.Required).To(BeFalse(), "a network with the same addresses keeps running")
				out = append(out, r.Prefix.String())
			}
		}
		return out
	}
	g.Expect(reserved("10.128.1.7", "192.168.77.4", "192.168.77.5", "fd00::7", "x")).To(Equal([]string{"172.31.7.7/32", "192.168.77.4/31", "203.0.113.50/32", "203.0.113.60/32"}))
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("10.%d.%d.%d", 200+i/128, i%128, 2*(i%100)+1))
	}
	g.Expect(len(reserved(many...))).To(BeNumerically("<", 20))
	g.Expect(reserved(many...)).To(ContainElement("172.31.7.0/24"))
}

// TestExternalIPsOfOneNamespace: a user of the management cluster cannot make the plans of all hosted clusters too large.
func TestExternalIPsOfOneNamespace(t *testing.T) {
	many := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "b"}, Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.2"}}
	for i := range 20_000 {
		many.Spec.ExternalIPs = append(many.Spec.ExternalIPs, fmt.Sprintf("20.%d.%d.1", i>>8, i&0xff))
	}
	same := slices.Repeat([]corev1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}, Spec: corev1.ServiceSpec{ExternalIPs: []string{"203.0.113.60"}}}}, 500)
	found := management.ServiceAddresses(append(same, many, *services.CachedService(&many)), nil)
	NewWithT(t).Expect(found).To(Equal([]netip.Addr{netip.MustParseAddr("10.96.0.2"), netip.MustParseAddr("203.0.113.60")}))
}

// TestServiceRange reads the message of an API server.
func TestServiceRange(t *testing.T) {
	g := NewWithT(t)
	got, ok := management.ServiceRange(`Service "x" is invalid: spec.clusterIPs: Invalid value: ["0.0.0.1"]: failed to allocate IP 0.0.0.1: ` +
		"the provided IP (0.0.0.1) is not in the valid range. The range of valid IPs is 10.96.0.0/12")
	g.Expect(ok).To(BeTrue())
	g.Expect(got.Prefix.String()).To(Equal("10.96.0.0/12"))
	g.Expect(management.Cluster{Networks: []network.ReservedDestination{got}}.KnowsServices()).To(BeTrue())
	g.Expect(management.Cluster{}.KnowsServices()).To(BeFalse())
	for _, text := range []string{"", "services is forbidden", "The range of valid IPs is unknown"} {
		_, ok := management.ServiceRange(text)
		g.Expect(ok).To(BeFalse(), text)
	}
}
