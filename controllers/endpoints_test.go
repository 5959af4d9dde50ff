package controllers

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// TestReports are read from Leases that are not DHCP leases, and only where an edge
// could have written them.
func TestReports(t *testing.T) {
	_, plan := twoEdges(t)
	n := plan.Networks[slices.IndexFunc(plan.Networks, func(n network.Network) bool { return n.Name == "clusters.vlan100" })]
	second := wire.EdgeReport(n, n.Edges[1]).Name
	lease := func(name, report string) metav1.PartialObjectMetadata {
		o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: second,
			Labels: map[string]string{wire.LabelName: name, wire.LabelNetwork: "clusters.vlan100"}, Annotations: map[string]string{wire.AnnotationReport: report}}}
		o.SetGroupVersionKind(own.LeaseKind)
		return o
	}
	slow := reported.Report{Edge: 2, Degraded: reported.Degradation{Cause: problem.FailoverTargetsAnswered}}
	other := lease(wire.NameReport, string(slow.JSON()))
	other.SetGroupVersionKind(own.DeploymentKind)
	former, first := lease(wire.NameReport, string(slow.JSON())), lease(wire.NameReport, string(slow.JSON()))
	former.Name, first.Name = "oooi-report.oooi-former-clusters-vlan100-2", wire.EdgeReport(n, n.Edges[0]).Name
	NewWithT(t).Expect(gather.EdgeReports([]metav1.PartialObjectMetadata{
		lease("dhcp", string(slow.JSON())), lease(wire.NameReport, "{"), lease(wire.NameReport, ""), other, former, first,
		lease(wire.NameReport, string(slow.JSON())),
	}, plan)).To(Equal([]gather.EdgeReport{{Network: "clusters.vlan100", Report: slow}}))
}

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
