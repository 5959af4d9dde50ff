package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/watch"
)

// testEgressPolicy: made before there is an edge, put back, following the API
// server, left alone where that is nowhere, and gone with all else.
func testEgressPolicy(t *testing.T, s *apiServer, r *Reconciler) {
	g := NewWithT(t)
	h := s.served(t, "policy")
	slice := &discoveryv1.EndpointSlice{}
	g.Expect(s.admin.Get(t.Context(), watch.APIServerSlice, slice)).To(Succeed())
	as := slice.DeepCopy()
	blocks := func() []string {
		p := &networkingv1.NetworkPolicy{}
		if err := s.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: desired.EdgePolicy}, p); err != nil {
			return []string{err.Error()}
		}
		return append(cidrs(p.Spec.Egress[1]), cidrs(p.Spec.Egress[2])...)
	}
	change := func(endpoints ...discoveryv1.Endpoint) {
		slice.Endpoints = endpoints
		g.Expect(s.admin.Update(t.Context(), slice)).To(Succeed())
	}
	defer func() { change(as.Endpoints...) }()
	g.Expect(blocks()).To(ContainElement("192.0.2.11/32"))

	change(as.Endpoints[0], discoveryv1.Endpoint{Addresses: []string{"192.0.2.12"}})
	g.Eventually(blocks).Should(ContainElement("192.0.2.12/32"))

	p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: desired.EdgePolicy}}
	g.Expect(s.admin.Delete(t.Context(), p)).To(Succeed())
	again(t, r, h)
	g.Eventually(blocks).Should(ContainElement("192.0.2.12/32"), "the cache may show the deletion later")

	change()
	g.Eventually(func() int {
		cached := &discoveryv1.EndpointSlice{}
		if err := r.Client.Get(t.Context(), watch.APIServerSlice, cached); err != nil {
			return -1
		}
		return len(cached.Endpoints)
	}).Should(BeZero())
	again(t, r, h)
	g.Expect(blocks()).To(ContainElement("192.0.2.12/32"), "what was made stays")
}

func cidrs(r networkingv1.NetworkPolicyEgressRule) []string {
	var out []string
	for _, p := range r.To {
		if p.IPBlock != nil {
			out = append(out, p.IPBlock.CIDR)
		}
	}
	return out
}
