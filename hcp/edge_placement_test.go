package hcp_test

import (
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp"
)

// TestHowManyEdges: as the control plane, but for what the user says.
func TestHowManyEdges(t *testing.T) {
	for _, c := range []struct {
		policy hyperv1.AvailabilityPolicy
		said   string
		want   int
	}{
		{hyperv1.SingleReplica, "", 1},
		{hyperv1.HighlyAvailable, "", 2},
		{"", "", 2}, // HyperShift's own default
		{"SomethingNew", "", 2},
		{hyperv1.SingleReplica, "2", 2},
		{hyperv1.SingleReplica, " 1 ", 1},
		{hyperv1.HighlyAvailable, "1", 1},
		{hyperv1.HighlyAvailable, "2", 2},
	} {
		t.Run(string(c.policy)+" "+c.said, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			o.HostedCluster.Spec.ControllerAvailabilityPolicy = c.policy
			if c.said != "" {
				annotate(&o, "edges", c.said)
			}
			p, problems := plan(o)
			g.Expect(problems.Blocking()).To(BeFalse())
			g.Expect(p.Networks[0].Edges).To(HaveLen(c.want))
			g.Expect(p.Networks[0].ReservedAddresses).To(HaveLen(2 - c.want))
		})
	}
}

// TestAnotherCountIsRefused: a value that can't be read is said, and is
// not taken for another.
func TestAnotherCountIsRefused(t *testing.T) {
	g, o := NewWithT(t), served(t)
	annotate(&o, "edges", "3")
	_, problems := plan(o)
	g.Expect(problems.Blocking()).To(BeTrue())
	g.Expect(message(problems[0])).To(And(ContainSubstring(`"3"`), ContainSubstring("Set 1 or 2")))
}

func TestEdgeNodeSelector(t *testing.T) {
	for value, want := range map[string]map[string]string{
		"vlan100=yes": {"vlan100": "yes"},
		"node-role.kubernetes.io/infra=, vlan100 = no": nil, // blanks are no part of a label
		"node-role.kubernetes.io/infra=, vlan100=yes ": {"node-role.kubernetes.io/infra": "", "vlan100": "yes"},
		"vlan100": nil,
		"":        nil,
	} {
		t.Run(value, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			annotate(&o, "edge-node-selector", value)
			labels, said := hcp.EdgeNodeSelector(o)
			g.Expect(said).To(Equal(want != nil))
			g.Expect(labels).To(Equal(want))
			_, problems := translated(o)
			g.Expect(problems.Blocking()).To(Equal(want == nil))
		})
	}
	t.Run("nobody said", func(t *testing.T) {
		g, o := NewWithT(t), served(t)
		labels, said := hcp.EdgeNodeSelector(o)
		g.Expect(said).To(BeFalse())
		g.Expect(labels).To(BeNil())
	})
}
