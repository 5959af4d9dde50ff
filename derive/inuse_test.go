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

// TestVMsOutsideCIDR: VMs with addresses outside the CIDR of their network get a Warning, unless they have another one inside.
func TestVMsOutsideCIDR(t *testing.T) {
	name := tenant(2, 10, 99).Networks[0].Name
	elsewhere := network.Plan{Networks: []network.Network{{Name: "clusters.old", CIDR: netip.MustParsePrefix("192.168.50.0/24")}}}
	for what, c := range map[string]struct {
		addresses []string
		on        string
		last      network.Plan
		warns     string
	}{
		"inside":                        {addresses: []string{"192.168.100.20"}, on: name},
		"outside":                       {addresses: []string{"192.168.50.20"}, on: name, warns: "VMs w have addresses 192.168.50.20 on network clusters/vlan100. Its CIDR is 192.168.100.0/24."},
		"outside, and link-local":       {addresses: []string{"169.254.0.2", "192.168.50.20"}, on: name, warns: "addresses 192.168.50.20 on"},
		"only link-local":               {addresses: []string{"169.254.0.2"}, on: name},
		"inside, and a pod network":     {addresses: []string{"100.64.0.2", "192.168.100.20"}, on: name},
		"on another network":            {addresses: []string{"192.168.50.20"}, on: "clusters.vlan200"},
		"it moves from another network": {addresses: []string{"192.168.50.20"}, on: name, last: elsewhere},
		"several":                       {addresses: []string{"192.168.50.20", "192.168.50.21"}, on: name, warns: "VMs w have addresses 192.168.50.20, 192.168.50.21 on"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			in := asking(1, network.NetworkRequest{Attachment: vlan, Primary: true, CIDR: netip.MustParsePrefix("192.168.100.0/24"), CIDRField: "annotation cidr", CIDRKeys: []string{"cidr"}})
			for _, a := range c.addresses {
				in.VMAddresses = append(in.VMAddresses, network.VMAddress{VM: "w", Network: c.on, Address: netip.MustParseAddr(a)})
			}
			_, problems := after(in, c.last)
			if c.warns == "" {
				g.Expect(problems).To(BeEmpty())
				return
			}
			g.Expect(problems).To(ConsistOf(And(HaveField("Cause", problem.VMsOutsideCIDR), HaveField("Severity", problem.SeverityWarning), WithTransform(message, ContainSubstring(c.warns)))))
		})
	}
}
