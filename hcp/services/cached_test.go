package services_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// TestSlicesInTheCache checks that the addresses of pods stay, whatever else a slice has.
func TestSlicesInTheCache(t *testing.T) {
	g := NewWithT(t)
	at := func(kind string, addresses ...string) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: addresses, TargetRef: &corev1.ObjectReference{Kind: kind, Name: "x"}}
	}
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", ResourceVersion: "7", Labels: map[string]string{"x": "y"}},
		Endpoints:  []discoveryv1.Endpoint{at("Pod", "10.0.0.3", "10.0.0.4"), at("Node", "10.0.0.1"), {Addresses: []string{"10.0.0.2"}}, at("Pod", "10.0.0.5")},
	}
	pod := &corev1.ObjectReference{Kind: "Pod"}
	small := services.CachedSlice(s, pod)
	before := management.PodAddresses([]discoveryv1.EndpointSlice{*s})
	g.Expect(before).To(HaveLen(3))
	g.Expect(management.PodAddresses([]discoveryv1.EndpointSlice{*small})).To(Equal(before))
	g.Expect(services.CachedSlice(small, pod)).To(Equal(small), "informers transform some objects twice")
	g.Expect(small.Labels).To(BeEmpty())
	s.Endpoints = nil
	g.Expect(services.CachedSlice(s, pod).Endpoints).To(BeEmpty())
}

// TestAnnotationsInTheCache: of thousands of annotations without effect, few are kept. The one with an effect is.
func TestAnnotationsInTheCache(t *testing.T) {
	const publish = settings.Prefix + network.KeyPublish
	all := map[string]string{publish: "git.example.com:443", "x": "y"}
	for i := range 8_000 {
		all[fmt.Sprintf("%s%04d", settings.Prefix, i)] = ""
	}
	kept := services.CachedService(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: all}}).Annotations
	NewWithT(t).Expect(kept).To(And(HaveLen(33), HaveKeyWithValue(publish, "git.example.com:443"), HaveKey(settings.Prefix+"0031")))
}

// TestCopiesInTheCache: an administrator of the hosted cluster, who writes these Services, cannot fill the operator's memory with one.
// Services of others are kept.
func TestCopiesInTheCache(t *testing.T) {
	g := NewWithT(t)
	publish, long := settings.Prefix+network.KeyPublish, strings.Repeat("x", 100<<10)
	of := func(labels map[string]string, count int) *corev1.Service {
		return services.CachedService(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: labels, Annotations: map[string]string{publish: long, settings.Prefix + "other": long}},
			Spec: corev1.ServiceSpec{Ports: slices.Repeat([]corev1.ServicePort{{Port: 443}}, count), LoadBalancerSourceRanges: slices.Repeat([]string{"192.0.2.0/24"}, count),
				ExternalIPs: slices.Repeat([]string{"192.0.2.1"}, count)}})
	}
	copied := map[string]string{settings.LabelHostedService: "a"}
	const most = network.MaxBalancedPorts
	within := of(copied, most)
	g.Expect(within.Annotations).To(Equal(map[string]string{publish: ""}))
	g.Expect(within.Spec.Ports).To(HaveLen(most))
	g.Expect(within.Spec.LoadBalancerSourceRanges).To(HaveLen(most))
	beyond := of(copied, 2*most)
	g.Expect(beyond.Spec.Ports).To(HaveLen(most+1), "too many for a plan")
	g.Expect(beyond.Spec.LoadBalancerSourceRanges).To(HaveLen(most+1), "too many, which opens nothing")
	g.Expect(beyond.Labels).To(Equal(copied), "it counts as one of the hosted cluster")
	own := of(nil, 2*most)
	g.Expect(own.Annotations).To(HaveKeyWithValue(publish, long))
	g.Expect(own.Spec.Ports).To(HaveLen(2 * most))
	for _, s := range []*corev1.Service{beyond, own} {
		g.Expect(s.Spec.ExternalIPs).To(HaveLen(services.MaxExternalIPs+1), "too many for a plan")
	}
}
