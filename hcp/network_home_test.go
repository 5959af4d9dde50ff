package hcp_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestRunningNetworkKeepsItsCIDR: a network that runs keeps its CIDR, with VMs or without, when another
// NodePool is created, deleted or recreated. The HostedCluster's CIDR stays where it is.
func TestRunningNetworkKeepsItsCIDR(t *testing.T) {
	const first, second = "192.168.100.0/24", "192.168.200.0/24"
	remove := func(o *hcp.Objects) { o.NodePools = slices.Delete(o.NodePools, 0, 1) }
	for name, c := range map[string]struct {
		edit func(*hcp.Objects)
		want []string // CIDRs by the names of the networks
		says types.GomegaMatcher
	}{
		"the oldest NodePool is deleted": {remove, []string{second}, HaveExactElements(And(HaveField("Cause", problem.ClusterCIDRNotTaken), HaveField("Severity", problem.SeverityWarning)))},
		"the oldest NodePool is recreated": {func(o *hcp.Objects) {
			o.NodePools[0].CreationTimestamp = metav1.NewTime(o.NodePools[1].CreationTimestamp.Add(time.Hour))
		}, []string{first, second}, BeEmpty()},
		"an older NodePool moves to another network": {func(o *hcp.Objects) {
			older := addNodePool(o, "alpha", "300")
			older.CreationTimestamp = metav1.NewTime(o.NodePools[0].CreationTimestamp.Add(-time.Hour))
		}, []string{first, second}, ContainElement(And(HaveField("Cause", problem.NetworkCIDRNotSet), HaveField("Subject.Name", "vlan300")))},
		"the HostedCluster has another CIDR": {func(o *hcp.Objects) {
			remove(o)
			annotate(o, "cidr", "10.1.0.0/24")
		}, []string{second}, HaveExactElements(HaveField("Cause", problem.ClusterCIDRNotTaken))},
		"the HostedCluster's CIDR is edited": {func(o *hcp.Objects) { annotate(o, "cidr", "10.1.0.0/24") }, []string{"10.1.0.0/24", second}, BeEmpty()},
		"the network's own CIDR is edited": {func(o *hcp.Objects) {
			o.NetworkAttachmentDefinitions[1].Annotations[settings.Prefix+"cidr"] = "10.2.0.0/24"
		}, []string{first, "10.2.0.0/24"}, BeEmpty()},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			o.VMs = nil
			addNodePool(&o, "beta", "200")
			o = deepCopy(o)
			o.NetworkAttachmentDefinitions[1].Annotations[settings.Prefix+"cidr"] = second
			last, problems, ok := planned(o, network.Plan{})
			g.Expect(ok).To(BeTrue(), "%v", problems)
			g.Expect(cidrs(last)).To(Equal([]string{first, second}))

			c.edit(&o)
			p, problems, ok := planned(o, last)
			g.Expect(ok).To(BeTrue(), "%v", problems)
			g.Expect(cidrs(p)).To(Equal(c.want))
			ofNetworks := slices.DeleteFunc(problems, func(p problem.Problem) bool { return len(p.Args["network"]) == 0 })
			g.Expect(ofNetworks).To(c.says)
			again, _, _ := planned(o, p)
			g.Expect(again).To(Equal(p))
		})
	}
}

// TestCreationTimesMoveNoCIDR: a network with a CIDR of its own does not get the one of the HostedCluster, if another network needs
// it. After a backup is restored, nothing but the objects of users says which network had it.
func TestCreationTimesMoveNoCIDR(t *testing.T) {
	const first, second = "192.168.100.0/24", "192.168.200.0/24"
	for name, set := range map[string]func(o *hcp.Objects, added int){
		"the NetworkAttachmentDefinition has it": func(o *hcp.Objects, _ int) {
			o.NetworkAttachmentDefinitions[1].Annotations[settings.Prefix+"cidr"] = second
		},
		"the HostedCluster has it for the NodePool": func(o *hcp.Objects, i int) { annotate(o, "cidr."+o.NodePools[i].Name, second) },
		"the NodePool has it": func(o *hcp.Objects, i int) {
			o.NodePools[i].Annotations = map[string]string{settings.Prefix + "cidr": second}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			o.VMs = nil
			addNodePool(&o, "alpha", "200")
			o = deepCopy(o)
			set(&o, 1)
			before, problems, ok := planned(o, network.Plan{})
			g.Expect(ok).To(BeTrue(), "%v", problems)
			g.Expect(cidrs(before)).To(Equal([]string{first, second}))
			for _, age := range []time.Duration{0, -time.Hour} {
				o.NodePools[1].CreationTimestamp = metav1.NewTime(o.NodePools[0].CreationTimestamp.Add(age))
				restored, problems, _ := planned(o, network.Plan{})
				g.Expect(restored).To(Equal(before), "%s: %v", age, problems)
				g.Expect(hints(problems)).To(BeEmpty())
			}
		})
	}
}

// TestRestoreChangesAKeptCIDR: a network that keeps its CIDR only because it runs gets another one after a restore, as a Warning says. It
// does not if its CIDR is set on the HostedCluster, as the Warning suggests.
func TestRestoreChangesAKeptCIDR(t *testing.T) {
	const ofCluster, own = "192.168.100.0/24", "192.168.200.0/24"
	g, o := NewWithT(t), served(t)
	o.VMs = nil
	addNodePool(&o, "beta", "200")
	o = deepCopy(o)
	o.NetworkAttachmentDefinitions[1].Annotations[settings.Prefix+"cidr"] = own
	last, _, _ := planned(o, network.Plan{})
	o.NodePools = o.NodePools[1:]
	kept, problems, _ := planned(o, last)
	restored, _, _ := planned(o, network.Plan{})
	g.Expect([][]string{cidrs(kept), cidrs(restored)}).To(Equal([][]string{{own}, {ofCluster}}))
	g.Expect(problems).To(ContainElement(HaveField("Cause", problem.ClusterCIDRNotTaken)))

	annotate(&o, "cidr", own)
	kept, problems, _ = planned(o, last)
	restored, _, _ = planned(o, network.Plan{})
	g.Expect([][]string{cidrs(kept), cidrs(restored)}).To(Equal([][]string{{own}, {own}}))
	g.Expect(problems).NotTo(ContainElement(HaveField("Cause", problem.ClusterCIDRNotTaken)))
}

// cidrs returns the CIDR of each network of p.
func cidrs(p network.Plan) []string {
	var out []string
	for _, n := range p.Networks {
		out = append(out, n.CIDR.String())
	}
	return out
}
