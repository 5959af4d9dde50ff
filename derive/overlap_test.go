package derive_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/cost"
)

func onVLAN(name, cidr, field string) network.NetworkRequest {
	return network.NetworkRequest{Attachment: network.Attachment{Namespace: "a", Name: name}, NodePools: []string{"pool-" + name}, Primary: true, CIDR: netip.MustParsePrefix(cidr), CIDRField: field}
}

// served is what networks get where last is in force and wanted are still named.
func served(last network.Plan, wanted []string, networks ...network.NetworkRequest) (network.Plan, problem.Problems) {
	in := asking(1, networks...)
	in.Wanted = wanted
	return after(in, last)
}

// TestNetworksOverlap: two nodes of one cluster never get the same address, wherever the CIDRs of their networks come from.
func TestNetworksOverlap(t *testing.T) {
	all := []string{"a.old", "a.new"}
	old := onVLAN("old", "10.1.0.0/24", "machineNetwork")
	alone, _ := served(network.Plan{}, all, old)

	t.Run("two at once", func(t *testing.T) {
		g := NewWithT(t)
		_, problems := served(network.Plan{}, all, old, onVLAN("new", "10.1.0.0/16", "cidr.pool-new"))
		g.Expect(problems.Has(problem.AddressConflict)).To(BeTrue())
		g.Expect(problems.Blocking()).To(BeTrue(), "nothing runs, so the user decides")
	})
	t.Run("one beside one that runs", func(t *testing.T) {
		g := NewWithT(t)
		p, problems := served(alone, all, old, onVLAN("new", "10.1.0.128/25", "cidr.pool-new"))
		g.Expect(problems).To(HaveLen(1))
		g.Expect(problems[0].Reason).To(Equal(problem.AddressConflict))
		g.Expect(problems[0].Keys).To(ContainElement("cidr.pool-new"))
		g.Expect(problems[0]).To(And(HaveField("Severity", problem.SeverityError), HaveField("Confined", true)), "nodes of its NodePool cannot boot")
		g.Expect(problems.Blocking()).To(BeFalse(), "what runs goes on, and can be changed")
		g.Expect(p.Networks).To(Equal(alone.Networks), "though the newer one comes first by name")
	})
	t.Run("a NodePool changes its network", func(t *testing.T) {
		g := NewWithT(t)
		p, problems := served(alone, all, onVLAN("new", "10.1.0.0/24", "machineNetwork"))
		g.Expect(problems).To(HaveExactElements(HaveField("Confined", true)), "VMs that run are still served")
		g.Expect(message(problems[0])).To(And(ContainSubstring("this ends when its VMs are gone"), ContainSubstring("annotation cidr.pool-new on the HostedCluster")))
		g.Expect(p.Networks).To(Equal(alone.Networks), "its machines go on")

		p, problems = served(alone, all, onVLAN("new", "10.2.0.0/24", "cidr.pool-new"))
		g.Expect(problems).To(BeEmpty())
		g.Expect(p.Networks).To(HaveLen(2), "the cure")

		p, problems = served(alone, []string{"a.new"}, onVLAN("new", "10.1.0.0/24", "machineNetwork"))
		g.Expect(problems).To(BeEmpty(), "the last machine has gone")
		g.Expect(p.Networks[0].Name).To(Equal("a.new"))
	})
	t.Run("what runs takes the other's", func(t *testing.T) {
		g := NewWithT(t)
		both, _ := served(network.Plan{}, all, old, onVLAN("new", "10.2.0.0/24", "cidr.pool-new"))
		p, problems := served(both, all, old, onVLAN("new", "10.1.0.0/24", "cidr.pool-new"))
		g.Expect(problems.Has(problem.AddressConflict)).To(BeTrue())
		g.Expect(p).To(Equal(both), "nothing moves")
	})
	t.Run("an address only", func(t *testing.T) {
		g := NewWithT(t)
		beside := onVLAN("aaa", "10.1.0.0/24", "annotation cidr on NetworkAttachmentDefinition a/aaa")
		beside.Primary = false
		p, problems := served(network.Plan{}, all, old, beside)
		g.Expect(problems.Blocking()).To(BeFalse())
		g.Expect(message(problems[0])).To(ContainSubstring("(annotation cidr on NetworkAttachmentDefinition a/aaa"))
		g.Expect(p.Networks).To(Equal(alone.Networks))
	})
}

// manyNetworks is a cluster with 100 endpoints and so many networks, each with a CIDR of its own.
func manyNetworks(count int) given {
	in := asking(1)
	for i := range count {
		a := network.Attachment{Namespace: "clusters", Name: fmt.Sprintf("vlan%02d", i), Layer2: fmt.Sprint(i)}
		in.Networks = append(in.Networks, network.NetworkRequest{Attachment: a, Primary: true, CIDR: numbered(i)})
		in.Wanted = append(in.Wanted, a.NetworkName())
	}
	for i := range 100 {
		host := fmt.Sprintf("h%d.example.com", i)
		in.Endpoints = append(in.Endpoints, network.Endpoint{Name: host, Origin: network.OriginRegistry, Hosts: []string{host}, Port: 443, Match: network.MatchServerName,
			Backend: network.Backend{Kind: network.BackendExternal, Name: host, Host: host, Port: 443}})
	}
	return in
}

func numbered(i int) netip.Prefix { return netip.MustParsePrefix(fmt.Sprintf("10.0.%d.0/24", i)) }

// TestNetworksLeftOutCostLittle: networks with one CIDR, of which each is left out only after the one before, cost about as much
// as networks that stay.
func TestNetworksLeftOutCostLittle(t *testing.T) {
	const count = 40
	in := manyNetworks(count)
	alone, _ := derived(in)
	edge := alone.Networks[count-1].ServiceVIP
	for i := range count - 1 {
		s := in.Networks[count-1]
		s.Attachment.Name, s.Attachment.Layer2, s.Primary = fmt.Sprintf("more%02d", i), fmt.Sprint(count+i), false
		s.CIDR = numbered(count)
		in.Networks = append(in.Networks, s)
	}
	taken := in
	for _, s := range in.Networks[count:] {
		at := network.HostAddress(s.CIDR, int(edge.As4()[3]))
		taken.VMAddresses = append(taken.VMAddresses, network.VMAddress{VM: "w", Network: s.Attachment.NetworkName(), Address: at})
	}
	g := NewWithT(t)
	plan, problems := derived(taken)
	g.Expect(plan.Networks).To(HaveLen(count))
	others := func(p problem.Problem) bool { return p.Cause != problem.VMHasEdgeAddress }
	g.Expect(network.Without(problems, others)).To(HaveLen(count-1), "each is left out")
	ratio := cost.Ratio(func() { derived(in) }, func() { derived(taken) })
	t.Logf("%d networks that are left out cost %.1f times as much as networks that stay", count-1, ratio)
	g.Expect(ratio).To(BeNumerically("<", 8))
}

// TestMovedCIDRsCostLittle: networks that take over each other's CIDR, so that each can move only after the next one, cost about as
// much as networks that stay.
func TestMovedCIDRsCostLittle(t *testing.T) {
	const count = 60
	in := manyNetworks(count)
	last, _ := derived(in)
	moved := in
	moved.Networks = slices.Clone(in.Networks)
	for i := range moved.Networks {
		moved.Networks[i].CIDR = numbered(i + 1)
	}
	plan, _ := after(moved, last)
	g := NewWithT(t)
	g.Expect(plan.Networks).To(HaveLen(count))
	g.Expect(plan.Networks[0].CIDR).To(Equal(numbered(1)))
	ratio := cost.Ratio(func() { after(in, last) }, func() { after(moved, last) })
	t.Logf("%d networks that move cost %.1f times as much as networks that stay", count, ratio)
	g.Expect(ratio).To(BeNumerically("<", 8))
}
