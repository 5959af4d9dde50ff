package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// servedReport is the Report of d, while each network of its plan has a ready edge.
func servedReport(d decide.Decision) explain.Report {
	ready := map[string]int{}
	for _, n := range d.Plan.Networks {
		ready[n.Name] = 1
	}
	return explain.Status{Plan: d.Plan, Problems: d.Problems, Applied: d.Action == decide.Serve, Running: true, ReadyEdges: ready}.Report()
}

// TestFaultOfOneNodePoolIsConfined: the condition is False, the network with the fault keeps its
// edges, and changes of the other network are applied.
func TestFaultOfOneNodePoolIsConfined(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "two-vlans")
	w.Last = plan
	for _, n := range plan.Networks {
		if n.Primary {
			putVM(&w, n)
		}
	}
	g.Expect(len(plan.Networks)).To(BeNumerically(">", 1))
	second := plan.Networks[1]
	w.HostedCluster.Annotations = annotated(w, "gateway."+second.NodePools[0], "router")
	w.HostedCluster.Annotations = annotated(w, "lease-time", "2h")

	d := decide.About(w, testOptions.Release, testNow)
	g.Expect(d.Action).To(Equal(decide.Serve), "%v", d.Problems)
	g.Expect(d.Plan.Networks[1]).To(Equal(second), "its edges go on")
	g.Expect(d.Plan.Networks[0].DHCP.LeaseTime).NotTo(Equal(plan.Networks[0].DHCP.LeaseTime), "the other network has the new lease time")
	c := servedReport(d)
	g.Expect(c.Ready).To(BeFalse())
	g.Expect(c.Reason).To(Equal(problem.AnnotationInvalid))
	g.Expect(c.Message()).To(ContainSubstring("The new configuration of network " + second.Attachment.String() + " is not applied"))
}

// TestNodePoolMovesToAnotherNetwork: VMs that still run keep their network. The new one is served
// as soon as it can be, and the old one is removed with the last VM.
func TestNodePoolMovesToAnotherNetwork(t *testing.T) {
	w, plan := served(t, "lb-ip")
	w.Last = plan
	w.VMs = nil
	putVM(&w, plan.Networks[0])
	nad := *w.NetworkAttachmentDefinitions[0].DeepCopy()
	nad.Name, nad.Spec.Config = "vlan200", `{"cniVersion":"0.3.1","name":"vlan200","type":"bridge","bridge":"br1","vlan":200,"ipam":{}}`
	w.NetworkAttachmentDefinitions = append(w.NetworkAttachmentDefinitions, nad)
	np := *w.NodePools[0].DeepCopy()
	np.Spec.Platform.Kubevirt.AdditionalNetworks = []hyperv1.KubevirtNetwork{{Name: "clusters/vlan200"}}
	w.NodePools = []hyperv1.NodePool{np}
	names := func(p network.Plan) (out []string) {
		for _, n := range p.Networks {
			out = append(out, n.Name)
		}
		return out
	}

	t.Run("with the CIDR of the old one", func(t *testing.T) {
		g := NewWithT(t)
		d := decide.About(w, testOptions.Release, testNow)
		g.Expect(d.Plan.Networks).To(HaveExactElements(HaveField("Name", "clusters.vlan100")))
		g.Expect(d.Plan.Networks[0].CIDR).To(Equal(plan.Networks[0].CIDR))
		c := servedReport(d)
		g.Expect(c.Ready).To(BeFalse())
		g.Expect(c.Message()).To(And(ContainSubstring("clusters/vlan200 is not served"), ContainSubstring("this ends when its VMs are gone")))
	})
	t.Run("with a CIDR of its own", func(t *testing.T) {
		g := NewWithT(t)
		w := w
		w.HostedCluster = w.HostedCluster.DeepCopy()
		w.HostedCluster.Annotations[settings.Prefix+"cidr."+np.Name] = "192.168.200.0/24"
		d := decide.About(w, testOptions.Release, testNow)
		g.Expect(d.Action).To(Equal(decide.Serve))
		g.Expect(names(d.Plan)).To(ConsistOf("clusters.vlan100", "clusters.vlan200"))
		w.Last, w.VMs = d.Plan, nil
		g.Expect(names(decide.About(w, testOptions.Release, testNow).Plan)).To(ConsistOf("clusters.vlan200"))
	})
	t.Run("after the last VM, with the CIDR of the old one", func(t *testing.T) {
		g := NewWithT(t)
		w := w
		w.VMs = nil
		d := decide.About(w, testOptions.Release, testNow)
		g.Expect(names(d.Plan)).To(ConsistOf("clusters.vlan200"))
		g.Expect(d.Plan.Networks[0].CIDR).To(Equal(plan.Networks[0].CIDR))
	})
}
