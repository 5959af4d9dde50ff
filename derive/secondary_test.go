package derive_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// storage is a network that no VM boots from.
func storage() network.NetworkRequest {
	s := onVLAN("storage", "10.3.0.0/24", "annotation cidr on NetworkAttachmentDefinition a/storage")
	s.Primary = false
	return s
}

// TestSecondaryNetworkWithoutCIDR: a secondary network without a CIDR is not served, and no other network waits for it.
func TestSecondaryNetworkWithoutCIDR(t *testing.T) {
	g := NewWithT(t)
	boot, with, without := onVLAN("boot", "10.1.0.0/24", "cidr"), storage(), storage()
	without.CIDR = netip.Prefix{}
	wanted := []string{"a.boot", "a.storage"}
	last, _ := served(network.Plan{}, wanted, boot, with)

	p, problems := served(network.Plan{}, wanted, boot, without)
	g.Expect(problems).To(HaveExactElements(And(HaveField("Severity", problem.SeverityInfo), HaveField("Cause", problem.SecondaryWithoutCIDR))))
	g.Expect(message(problems[0])).To(ContainSubstring("annotation services to none"))
	g.Expect(p.Networks).To(HaveExactElements(HaveField("Name", "a.boot")))

	p, problems = served(last, wanted, boot, without)
	g.Expect(problems).To(HaveExactElements(And(HaveField("Severity", problem.SeverityWarning), HaveField("Cause", problem.SecondaryCIDRRemoved))))
	g.Expect(p).To(Equal(last), "its edges stay")
}

// TestSecondaryNetworkLeftAlone: if annotation services is none, a network is not served, and there is no problem about it. Its edges are
// removed when no VM is on it.
func TestSecondaryNetworkLeftAlone(t *testing.T) {
	g := NewWithT(t)
	boot, alone := onVLAN("boot", "10.1.0.0/24", "cidr"), storage()
	wanted := []string{"a.boot", "a.storage"}
	last, _ := served(network.Plan{}, wanted, boot, alone)
	alone.Settings.Services = []network.Service{}

	for _, before := range []network.Plan{{}, last} {
		p, problems := served(before, wanted, boot, alone)
		g.Expect(problems).To(BeEmpty())
		g.Expect(p.Networks).To(HaveExactElements(HaveField("Name", "a.boot")))
	}

	in := asking(1, boot, alone)
	in.Wanted, in.InUse = wanted, []string{"a.storage"}
	p, problems := after(in, last)
	g.Expect(problems).To(HaveExactElements(HaveField("Cause", problem.SecondaryInUse)))
	g.Expect(p).To(Equal(last), "VMs need their leases")

	alone.Primary = true
	_, problems = served(network.Plan{}, wanted, boot, alone)
	g.Expect(problems).To(HaveExactElements(And(HaveField("Cause", problem.ServicesEmpty), HaveField("Confined", true))))
	_, problems = served(network.Plan{}, wanted, alone)
	g.Expect(problems.Blocking()).To(BeTrue(), "VMs boot from no other network")
}
