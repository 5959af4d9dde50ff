package derive_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestNetworkThatVMsBootFrom: a network from which VMs boot keeps router, DNS and proxy, even if NodePools now have it as a further
// network. This ends with the last VM that boots from it.
func TestNetworkThatVMsBootFrom(t *testing.T) {
	g := NewWithT(t)
	old, next := onVLAN("old", "10.1.0.0/24", "cidr"), onVLAN("next", "10.2.0.0/24", "cidr")
	names := []string{"a.next", "a.old"}
	last, _ := served(network.Plan{}, names, old)
	further := old
	further.Primary, further.NodePools = false, next.NodePools

	in := asking(1, next, further)
	in.Wanted, in.InUse, in.BootedFrom = names, []string{"a.old"}, []string{"a.old"}
	p, problems := after(in, last)
	g.Expect(problems).To(HaveExactElements(And(HaveField("Cause", problem.PinnedRole), HaveField("Severity", problem.SeverityWarning))))
	g.Expect(message(problems[0])).To(And(ContainSubstring("until no VM boots from it"), ContainSubstring("pool-next")))
	g.Expect(p.Networks).To(HaveLen(2))
	g.Expect(p.Networks[1]).To(Equal(last.Networks[0]))
	again, _ := after(in, p)
	g.Expect(again).To(Equal(p))

	in.BootedFrom = []string{"a.next"}
	secondary, problems := after(in, p)
	g.Expect(problems).To(BeEmpty(), "VMs have it as a further network")
	g.Expect(secondary.Networks[1].Primary).To(BeFalse())

	in = asking(1, old)
	in.Wanted, in.InUse = names[1:], names[1:]
	primary, problems := after(in, secondary)
	g.Expect(problems).To(BeEmpty(), "a secondary one can become primary")
	g.Expect(primary.Networks).To(Equal(last.Networks))
}

// TestNetworkInUseThatIsNotSelected: VMs keep a network that annotation network no longer selects.
func TestNetworkInUseThatIsNotSelected(t *testing.T) {
	g := NewWithT(t)
	old, next := onVLAN("old", "10.1.0.0/24", "cidr"), onVLAN("next", "10.2.0.0/24", "cidr")
	last, _ := served(network.Plan{}, []string{"a.old"}, old)
	in := asking(1, next)
	in.Wanted, in.InUse, in.Unselected = []string{"a.next", "a.old"}, []string{"a.old"}, []string{"a.old"}
	p, problems := after(in, last)
	g.Expect(problems).To(HaveExactElements(And(HaveField("Cause", problem.NotSelectedInUse), HaveField("Severity", problem.SeverityWarning))))
	g.Expect(message(problems[0])).To(ContainSubstring("a/old"))
	g.Expect(p.Networks[1]).To(Equal(last.Networks[0]))

	_, problems = after(in, network.Plan{})
	g.Expect(problems).To(BeEmpty(), "nothing is served there")
}
