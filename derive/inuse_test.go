package derive_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestVMsKeepAddressesInUse: a VM keeps an address until an edge has it. After that, the edge keeps it, and a Warning names the VM.
func TestVMsKeepAddressesInUse(t *testing.T) {
	plan := tenant(2, 10, 99)
	name := plan.Networks[0].Name
	has := func(address, on string) []network.VMAddress {
		return []network.VMAddress{{VM: "blue-worker-1", Network: on, Address: netip.MustParseAddr(address), MAC: "02:00:00:00:00:09"}}
	}
	for what, c := range map[string]struct {
		seen   []network.VMAddress
		last   network.Plan
		blocks bool
		warns  bool
	}{
		"no VM address":                    {},
		"one of the range":                 {seen: has("192.168.100.10", name)},
		"the next hop":                     {seen: has("192.168.100.2", name), blocks: true},
		"the address kept for an edge":     {seen: has("192.168.100.5", name), blocks: true},
		"on another network":               {seen: has("192.168.100.2", "clusters.vlan200")},
		"it is ours already":               {seen: has("192.168.100.2", name), last: plan, warns: true},
		"we move to one in use":            {seen: has("192.168.100.5", name), last: tenant(102, 110, 199), blocks: true},
		"ours already, on another network": {seen: has("192.168.100.2", name), last: network.Plan{Networks: []network.Network{{Name: "clusters.vlan200", NextHopVIP: netip.MustParseAddr("192.168.100.2")}}}, blocks: true},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			out, problems := derive.WithoutInUse(plan, c.seen, c.last)
			g.Expect(out).To(Equal(plan))
			g.Expect(problems.Blocking()).To(Equal(c.blocks))
			if c.warns {
				g.Expect(problems).To(ConsistOf(And(HaveField("Reason", problem.AddressInUse),
					WithTransform(message, ContainSubstring("VM blue-worker-1 (MAC 02:00:00:00:00:09) reports that it has the next-hop VIP 192.168.100.2")))))
			} else if !c.blocks {
				g.Expect(problems).To(BeEmpty())
			}
			if c.blocks {
				g.Expect(problems).To(ConsistOf(And(HaveField("Reason", problem.AddressConflict), HaveField("Keys", ContainElement("edge-addresses")),
					WithTransform(message, And(ContainSubstring("blue-worker-1"), ContainSubstring(c.seen[0].Address.String()))))))
			}
		})
	}
}
