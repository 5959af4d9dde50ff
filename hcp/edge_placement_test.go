package hcp_test

import (
	"fmt"
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

// labels returns count labels, one of which has a value that depends on i.
func labels(count, i int) map[string]string {
	out := map[string]string{}
	for l := range count {
		out[fmt.Sprintf("l%03d", l)] = ""
	}
	out["l000"] = fmt.Sprint(i)
	return out
}

// TestNodeSelectorsAreFew: edges follow at most 16 node selectors of NodePools, with 64 labels each.
func TestNodeSelectorsAreFew(t *testing.T) {
	g := NewWithT(t)
	p, _ := plan(withNodePools(t, 40, func(_ *hcp.Objects, np *hyperv1.NodePool, i int) {
		np.Spec.Platform.Kubevirt.NodeSelector = labels(70, i/2)
	}))
	g.Expect(p.Networks[0].Placement.NodeSelectors).To(BeEmpty(), "one NodePool allows every node")
	o := withNodePools(t, 40, func(_ *hcp.Objects, np *hyperv1.NodePool, i int) {
		np.Spec.Platform.Kubevirt.NodeSelector = labels(70, i/2)
	})
	o.NodePools = o.NodePools[1:]
	p, _ = plan(o)
	g.Expect(p.Networks[0].Placement.NodeSelectors).To(And(HaveLen(16), HaveEach(And(HaveLen(64), HaveKey("l000"), Not(HaveKey("l069"))))))
}
