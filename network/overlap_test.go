package network_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

func onVLAN(name, cidr, field string) network.Segment {
	return network.Segment{Attachment: network.Attachment{Namespace: "a", Name: name}, NodePools: []string{"pool-" + name}, Primary: true, CIDR: netip.MustParsePrefix(cidr), CIDRField: field}
}

// after is what is served to segments where last is in force.
func after(last network.Plan, wanted map[string]bool, segments ...network.Segment) (network.Plan, network.Problems) {
	in := network.Intent{Edges: 1, Segments: segments}
	p, problems := network.NewPlan(in.Keeping(last, wanted))
	return p.Keeping(last, wanted), problems
}

// TestNetworksOfOneClusterAreApart: two nodes of one cluster never get one
// address, whichever way the two networks came to their CIDRs.
func TestNetworksOfOneClusterAreApart(t *testing.T) {
	all := map[string]bool{"a.old": true, "a.new": true}
	old := onVLAN("old", "10.1.0.0/24", "machineNetwork")
	alone, _ := after(network.Plan{}, all, old)

	t.Run("two at once", func(t *testing.T) {
		g := NewWithT(t)
		_, problems := after(network.Plan{}, all, old, onVLAN("new", "10.1.0.0/16", "cidr.pool-new"))
		g.Expect(problems.Has(network.AddressConflict)).To(BeTrue())
		g.Expect(problems.Blocking()).To(BeTrue(), "nothing runs, so the user decides")
	})
	t.Run("one beside one that runs", func(t *testing.T) {
		g := NewWithT(t)
		p, problems := after(alone, all, old, onVLAN("new", "10.1.0.128/25", "cidr.pool-new"))
		g.Expect(problems).To(HaveLen(1))
		g.Expect(problems[0].Reason).To(Equal(network.AddressConflict))
		g.Expect(problems[0].Field).To(Equal("cidr.pool-new"))
		g.Expect(problems.Blocking()).To(BeFalse(), "what runs goes on, and can be changed")
		g.Expect(p.Networks).To(Equal(alone.Networks), "though the newer one comes first by name")
	})
	t.Run("a NodePool changes its network", func(t *testing.T) {
		g := NewWithT(t)
		p, problems := after(alone, all, onVLAN("new", "10.1.0.0/24", "machineNetwork"))
		g.Expect(problems.Blocking()).To(BeTrue(), "no machine could boot by what is left")
		g.Expect(problems[0].Detail).To(And(ContainSubstring("machines still use"), ContainSubstring("by cidr.pool-new")))
		g.Expect(p.Networks).To(Equal(alone.Networks), "its machines go on")

		p, problems = after(alone, all, onVLAN("new", "10.2.0.0/24", "cidr.pool-new"))
		g.Expect(problems).To(BeEmpty())
		g.Expect(p.Networks).To(HaveLen(2), "the cure")

		p, problems = after(alone, map[string]bool{"a.new": true}, onVLAN("new", "10.1.0.0/24", "machineNetwork"))
		g.Expect(problems).To(BeEmpty(), "the last machine has gone")
		g.Expect(p.Networks[0].Name).To(Equal("a.new"))
	})
	t.Run("what runs takes the other's", func(t *testing.T) {
		g := NewWithT(t)
		both, _ := after(network.Plan{}, all, old, onVLAN("new", "10.2.0.0/24", "cidr.pool-new"))
		p, problems := after(both, all, old, onVLAN("new", "10.1.0.0/24", "cidr.pool-new"))
		g.Expect(problems.Has(network.AddressConflict)).To(BeTrue())
		g.Expect(p).To(Equal(both), "nothing moves")
	})
	t.Run("an address only", func(t *testing.T) {
		g := NewWithT(t)
		beside := onVLAN("aaa", "10.1.0.0/24", "annotation cidr on NetworkAttachmentDefinition a/aaa")
		beside.Primary = false
		p, problems := after(network.Plan{}, all, old, beside)
		g.Expect(problems.Blocking()).To(BeFalse())
		g.Expect(problems[0].Detail).To(ContainSubstring("by annotation cidr on NetworkAttachmentDefinition a/aaa"))
		g.Expect(p.Networks).To(Equal(alone.Networks))
	})
}
