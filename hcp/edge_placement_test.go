package hcp_test

import (
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp"
)

// TestEdgeCount checks that the annotation edges overrides the availability policy.
func TestEdgeCount(t *testing.T) {
	for _, c := range []struct {
		policy hyperv1.AvailabilityPolicy
		edges  string
		want   int
	}{
		{hyperv1.SingleReplica, "", 1},
		{hyperv1.HighlyAvailable, "", 2},
		{"", "", 2}, // HyperShift's default
		{"SomethingNew", "", 2},
		{hyperv1.SingleReplica, "2", 2},
		{hyperv1.SingleReplica, " 1 ", 1},
		{hyperv1.HighlyAvailable, "1", 1},
		{hyperv1.HighlyAvailable, "2", 2},
	} {
		t.Run(string(c.policy)+" "+c.edges, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			o.HostedCluster.Spec.ControllerAvailabilityPolicy = c.policy
			if c.edges != "" {
				annotate(&o, "edges", c.edges)
			}
			p, problems := plan(o)
			g.Expect(problems.Blocking()).To(BeFalse())
			g.Expect(p.Networks[0].Edges).To(HaveLen(c.want))
			g.Expect(p.Networks[0].ReservedAddresses).To(HaveLen(2 - c.want))
		})
	}
}

// TestInvalidEdgeCount checks that an invalid value is an error.
func TestInvalidEdgeCount(t *testing.T) {
	g, o := NewWithT(t), served(t)
	annotate(&o, "edges", "3")
	_, problems := plan(o)
	g.Expect(problems.Blocking()).To(BeTrue())
	g.Expect(message(problems[0])).To(And(ContainSubstring(`"3"`), ContainSubstring("Set 1 or 2")))
}

func TestEdgeNodeSelector(t *testing.T) {
	for value, want := range map[string]map[string]string{
		"vlan100=yes": {"vlan100": "yes"},
		"node-role.kubernetes.io/infra=, vlan100 = no": nil, // labels contain no spaces
		"node-role.kubernetes.io/infra=, vlan100=yes ": {"node-role.kubernetes.io/infra": "", "vlan100": "yes"},
		"vlan100": nil,
		"":        nil,
	} {
		t.Run(value, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			annotate(&o, "edge-node-selector", value)
			labels, ok := hcp.EdgeNodeSelector(o)
			g.Expect(ok).To(Equal(want != nil))
			g.Expect(labels).To(Equal(want))
			_, problems := translated(o)
			g.Expect(problems.Blocking()).To(Equal(want == nil))
		})
	}
	t.Run("not set", func(t *testing.T) {
		g, o := NewWithT(t), served(t)
		labels, ok := hcp.EdgeNodeSelector(o)
		g.Expect(ok).To(BeFalse())
		g.Expect(labels).To(BeNil())
	})
}
