package derive_test

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
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

// TestVMsOutsideCIDR: VMs with addresses outside the CIDR of their network are a problem, unless they have another one inside. It is
// an Error if all VMs are outside, and the network is not in force.
func TestVMsOutsideCIDR(t *testing.T) {
	name := tenant(2, 10, 99).Networks[0].Name
	elsewhere := network.Plan{Networks: []network.Network{{Name: "clusters.old", CIDR: netip.MustParsePrefix("192.168.50.0/24")}}}
	for what, c := range map[string]struct {
		addresses []string
		on        string
		last      network.Plan
		says      string
		only      bool // a Warning
	}{
		"inside":                        {addresses: []string{"192.168.100.20"}, on: name},
		"outside":                       {addresses: []string{"192.168.50.20"}, on: name, says: "VMs w have addresses 192.168.50.20 on network clusters/vlan100. Its CIDR is 192.168.100.0/24."},
		"outside, and link-local":       {addresses: []string{"169.254.0.2", "192.168.50.20"}, on: name, says: "addresses 192.168.50.20 on"},
		"outside, in force":             {addresses: []string{"192.168.50.20"}, on: name, last: tenant(2, 10, 99), says: "addresses 192.168.50.20 on", only: true},
		"outside, with a VM inside":     {addresses: []string{"192.168.50.20"}, on: name, says: "VMs w have addresses 192.168.50.20 on", only: true},
		"only link-local":               {addresses: []string{"169.254.0.2"}, on: name},
		"inside, and a pod network":     {addresses: []string{"100.64.0.2", "192.168.100.20"}, on: name},
		"on another network":            {addresses: []string{"192.168.50.20"}, on: "clusters.vlan200"},
		"it moves from another network": {addresses: []string{"192.168.50.20"}, on: name, last: elsewhere},
		"several":                       {addresses: []string{"192.168.50.20", "192.168.50.21"}, on: name, says: "VMs w have addresses 192.168.50.20, 192.168.50.21 on"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			in := asking(1, network.NetworkRequest{Attachment: vlan, Primary: true, CIDR: netip.MustParsePrefix("192.168.100.0/24"), CIDRField: "annotation cidr", CIDRKeys: []string{"cidr"}})
			for _, a := range c.addresses {
				in.VMAddresses = append(in.VMAddresses, network.VMAddress{VM: "w", Network: c.on, Address: netip.MustParseAddr(a)})
			}
			if strings.HasSuffix(what, "with a VM inside") {
				in.VMAddresses = append(in.VMAddresses, network.VMAddress{VM: "x", Network: c.on, Address: netip.MustParseAddr("192.168.100.20")})
			}
			_, problems := after(in, c.last)
			if c.says == "" {
				g.Expect(problems).To(BeEmpty())
				return
			}
			severity := problem.SeverityError
			if c.only {
				severity = problem.SeverityWarning
			}
			g.Expect(problems).To(ConsistOf(And(HaveField("Cause", problem.VMsOutsideCIDR), HaveField("Severity", severity), WithTransform(message, ContainSubstring(c.says)))))
		})
	}
}

// TestSettingsOfAddressesInUse: a Warning names VMs whose address an annotation gives to another host or takes out of the pool. A gateway at
// the address of a VM is an Error until it is in force. Two VMs with one address get a Warning.
func TestSettingsOfAddressesInUse(t *testing.T) {
	const a, b = "02:00:00:00:00:30", "02:00:00:00:00:31"
	at := netip.MustParseAddr
	reserve := func(mac, address string) func(*network.NetworkRequest) {
		return func(s *network.NetworkRequest) {
			s.Settings.Reservations = []network.Reservation{{MAC: mac, Address: at(address)}}
		}
	}
	routed := segment(func(s *network.NetworkRequest) { s.Gateway = at("192.168.100.30") })
	for what, c := range map[string]struct {
		set      func(*network.NetworkRequest)
		ofB      string // empty: 192.168.100.31
		second   string // of both VMs
		last     network.Plan
		cause    problem.Cause
		severity problem.Severity
		says     string
	}{
		"nothing": {},
		"excluded": {set: func(s *network.NetworkRequest) {
			s.Settings.DHCPExclude = []network.Range{{First: at("192.168.100.30"), Last: at("192.168.100.39")}}
		}, cause: problem.AddressKeptByVM, severity: problem.SeverityWarning, says: "VMs blue-a, blue-b on network clusters/vlan100 have 192.168.100.30, 192.168.100.31, which annotation dhcp-exclude (192.168.100.30-192.168.100.39)"},
		"others are excluded": {set: func(s *network.NetworkRequest) {
			s.Settings.DHCPExclude = []network.Range{{First: at("192.168.100.32"), Last: at("192.168.100.39")}}
		}},
		"reserved for another":                {set: reserve("02:aa:00:00:00:01", "192.168.100.30"), cause: problem.AddressKeptByVM, severity: problem.SeverityWarning, says: "VMs blue-a on network clusters/vlan100 have 192.168.100.30, which annotation reservations (02:aa:00:00:00:01=192.168.100.30)"},
		"it has a reservation":                {set: reserve(a, "192.168.100.40"), cause: problem.AddressKeptByVM, severity: problem.SeverityWarning, says: "VMs blue-a on network clusters/vlan100 have 192.168.100.30, which annotation reservations (" + a + "=192.168.100.40)"},
		"it has its reservation":              {set: reserve(a, "192.168.100.30")},
		"the gateway":                         {set: func(s *network.NetworkRequest) { s.Gateway = at("192.168.100.30") }, cause: problem.GatewayIsVM, severity: problem.SeverityError, says: "VM blue-a has 192.168.100.30, the gateway of network clusters/vlan100."},
		"the gateway, another in force":       {set: func(s *network.NetworkRequest) { s.Gateway = at("192.168.100.30") }, last: tenant(2, 10, 99), cause: problem.GatewayIsVM, severity: problem.SeverityError, says: "VM blue-a"},
		"the gateway, in force":               {set: func(s *network.NetworkRequest) { s.Gateway = at("192.168.100.30") }, last: tenant(2, 10, 99, routed), cause: problem.GatewayIsVM, severity: problem.SeverityWarning, says: "VM blue-a"},
		"a further address moves between VMs": {second: "192.168.100.40"},
		"a further address is excluded": {second: "192.168.100.40", set: func(s *network.NetworkRequest) {
			s.Settings.DHCPExclude = []network.Range{{First: at("192.168.100.40"), Last: at("192.168.100.40")}}
		}},
		"two VMs have it":            {ofB: "192.168.100.30", cause: problem.AddressSharedByVMs, severity: problem.SeverityWarning, says: "VMs blue-a, blue-b report the same address 192.168.100.30 on network clusters/vlan100."},
		"two VMs have one elsewhere": {second: "169.254.0.2"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			s := network.NetworkRequest{Attachment: vlan, Primary: true, CIDR: netip.MustParsePrefix("192.168.100.0/24"), CIDRField: "annotation cidr", CIDRKeys: []string{"cidr"}}
			if c.set != nil {
				c.set(&s)
			}
			in := asking(1, s)
			has := func(vm, mac, address string) {
				in.VMAddresses = append(in.VMAddresses, network.VMAddress{VM: vm, MAC: mac, Network: vlan.NetworkName(), Address: at(address)})
			}
			has("blue-a", a, "192.168.100.30")
			has("blue-b", b, cmp.Or(c.ofB, "192.168.100.31"))
			if c.second != "" {
				has("blue-a", a, c.second)
				has("blue-b", b, c.second)
			}
			_, problems := after(in, c.last)
			problems = slices.DeleteFunc(problems, func(p problem.Problem) bool {
				return !slices.Contains([]problem.Cause{problem.AddressKeptByVM, problem.GatewayIsVM, problem.AddressSharedByVMs}, p.Cause)
			})
			if c.cause == "" {
				g.Expect(problems).To(BeEmpty())
				return
			}
			g.Expect(problems).To(ConsistOf(And(HaveField("Cause", c.cause), HaveField("Severity", c.severity), WithTransform(message, ContainSubstring(c.says)))))
		})
	}
}
