package services_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/hcp/services"
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
