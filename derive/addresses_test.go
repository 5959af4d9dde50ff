package derive_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

func TestDefaultAddresses(t *testing.T) {
	for _, c := range []struct{ cidr, nextHop, service, edge, pool string }{
		{"192.168.100.0/24", "192.168.100.2", "192.168.100.3", "192.168.100.4", "192.168.100.10-192.168.100.253"},
		{"10.0.0.16/28", "10.0.0.18", "10.0.0.19", "10.0.0.20", "10.0.0.26-10.0.0.29"},
		{"10.8.0.0/16", "10.8.0.2", "10.8.0.3", "10.8.0.4", "10.8.0.10-10.8.255.253"},
	} {
		t.Run(c.cidr, func(t *testing.T) {
			g := NewWithT(t)
			plan, problems := derived(on(c.cidr, network.NetworkRequest{}))
			g.Expect(problems).To(BeEmpty())
			n := plan.Networks[0]
			g.Expect(held(n)).To(Equal([]string{c.nextHop, c.service, c.pool, c.edge}))
		})
	}
}

// TestAddressProblems: a problem that the user can fix names the key to change, and no
// address is shifted.
func TestAddressProblems(t *testing.T) {
	address := netip.MustParseAddr
	four := func(a, b, c, d string) []netip.Addr {
		return []netip.Addr{address(a), address(b), address(c), address(d)}
	}
	for name, c := range map[string]struct {
		cidr   string
		s      network.NetworkRequest
		reason problem.Reason
		field  string
		says   string
	}{
		"a /29 has no room":               {cidr: "10.0.0.0/29", reason: problem.CIDRTooSmall, field: "dhcp-range", says: "tenth"},
		"a /30 not even for us":           {cidr: "10.0.0.0/30", reason: problem.CIDRTooSmall, field: "cidr", says: "second to fifth"},
		"the gateway sits on our place":   {cidr: "10.0.0.0/24", s: network.NetworkRequest{Gateway: address("10.0.0.3")}, reason: problem.AddressConflict, field: "edge-addresses", says: "The service VIP 10.0.0.3 of network clusters/vlan100 is also the gateway."},
		"a gateway outside":               {cidr: "10.0.0.0/24", s: network.NetworkRequest{Gateway: address("10.0.1.1")}, reason: problem.AddressConflict, field: "gateway", says: "is not a host address of 10.0.0.0/24"},
		"an excluded edge address":        {cidr: "10.0.0.0/24", s: network.NetworkRequest{Settings: network.Settings{DHCPExclude: []network.Range{{First: address("10.0.0.2"), Last: address("10.0.0.2")}}}}, reason: problem.AddressConflict, field: "edge-addresses", says: "dhcp-exclude"},
		"a pool over our addresses":       {cidr: "10.0.0.0/24", s: network.NetworkRequest{Settings: network.Settings{DHCPRange: network.Range{First: address("10.0.0.5"), Last: address("10.0.0.9")}}}, reason: problem.AddressConflict, field: "dhcp-range", says: "10.0.0.5"},
		"a pool outside":                  {cidr: "10.0.0.0/24", s: network.NetworkRequest{Settings: network.Settings{DHCPRange: network.Range{First: address("10.0.0.50"), Last: address("10.0.1.9")}}}, reason: problem.AddressConflict, field: "dhcp-range", says: "10.0.1.9"},
		"three addresses":                 {cidr: "10.0.0.0/24", s: network.NetworkRequest{Settings: network.Settings{EdgeAddresses: four("10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5")[:3]}}, reason: problem.AnnotationInvalid, field: "edge-addresses", says: "has 3 addresses"},
		"one address twice":               {cidr: "10.0.0.0/24", s: network.NetworkRequest{Settings: network.Settings{EdgeAddresses: four("10.0.0.2", "10.0.0.2", "10.0.0.4", "10.0.0.5")}}, reason: problem.AddressConflict, field: "edge-addresses", says: "is also the next-hop VIP"},
		"two reservations for one MAC":    {cidr: "10.0.0.0/24", s: network.NetworkRequest{Settings: network.Settings{Reservations: []network.Reservation{{MAC: "02:00:00:00:00:01", Address: address("10.0.0.21")}, {MAC: "02:00:00:00:00:01", Address: address("10.0.0.20")}}}}, reason: problem.AddressConflict, field: "reservations", says: "Reservations 02:00:00:00:00:01=10.0.0.21 and 02:00:00:00:00:01=10.0.0.20 of network"},
		"two reservations of one address": {cidr: "10.0.0.0/24", s: network.NetworkRequest{Settings: network.Settings{Reservations: []network.Reservation{{MAC: "02:00:00:00:00:02", Address: address("10.0.0.20")}, {MAC: "02:00:00:00:00:01", Address: address("10.0.0.20")}}}}, reason: problem.AddressConflict, field: "reservations", says: "Reservations 02:00:00:00:00:02=10.0.0.20 and 02:00:00:00:00:01=10.0.0.20 of network"},
		"a reservation of ours":           {cidr: "10.0.0.0/24", s: network.NetworkRequest{Settings: network.Settings{Reservations: []network.Reservation{{MAC: "02:00:00:00:00:01", Address: address("10.0.0.3")}}}}, reason: problem.AddressConflict, field: "reservations", says: "is an edge address"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, problems := derived(on(c.cidr, c.s))
			g.Expect(problems.Blocking()).To(BeTrue())
			g.Expect(problems[0].Reason).To(Equal(c.reason))
			g.Expect(problems[0].Keys).To(ContainElement(c.field))
			g.Expect(message(problems[0])).To(ContainSubstring(c.says))
		})
	}
}

// TestGatewayInPool: a router in the middle of the pool is never assigned to a client.
func TestGatewayInPool(t *testing.T) {
	g := NewWithT(t)
	plan, problems := derived(on("10.0.0.0/24", network.NetworkRequest{Gateway: netip.MustParseAddr("10.0.0.100")}))
	g.Expect(problems).To(BeEmpty())
	d := plan.Networks[0].DHCP
	g.Expect(d.Router.String()).To(Equal("10.0.0.100"))
	g.Expect(d.Exclude).To(ConsistOf(network.Range{First: d.Router, Last: d.Router}))
	g.Expect(plan.Networks[0].DNS.Upstreams.Mode).To(Equal(network.UpstreamManagement))
}

func on(cidr string, s network.NetworkRequest) given {
	s.Attachment, s.Primary, s.CIDRField, s.CIDRKeys = network.Attachment{Namespace: "clusters", Name: "vlan100"}, true, "annotation cidr", []string{"cidr"}
	s.CIDR = netip.MustParsePrefix(cidr)
	in := asking(1, s)
	in.Cluster = network.Cluster{Namespace: "clusters", Name: "blue"}
	return in
}

// TestAddressesWithoutEffect: a problem names an address in an annotation that has no effect. The network is served.
func TestAddressesWithoutEffect(t *testing.T) {
	one := func(a string) network.Range {
		return network.Range{First: netip.MustParseAddr(a), Last: netip.MustParseAddr(a)}
	}
	var five []netip.Addr
	for i := range 5 {
		five = append(five, netip.AddrFrom4([4]byte{10, 0, 0, byte(2 + i)}))
	}
	reserved := []network.Reservation{{MAC: "02:00:00:00:00:01", Address: netip.MustParseAddr("10.0.0.6")}}
	dns := []network.Service{network.ServiceDNS, network.ServiceProxy}
	for name, c := range map[string]struct {
		settings network.Settings
		severity problem.Severity
		says     string
	}{
		"a fifth edge address":         {network.Settings{EdgeAddresses: five}, problem.SeverityWarning, "Edges do not hold 10.0.0.6"},
		"a fifth that is reserved":     {network.Settings{EdgeAddresses: five, Reservations: reserved}, problem.SeverityWarning, "Edges do not hold 10.0.0.6"},
		"outside the CIDR":             {network.Settings{DHCPExclude: []network.Range{one("10.0.1.50")}}, problem.SeverityWarning, "10.0.1.50, which is outside CIDR 10.0.0.0/24"},
		"outside the pool":             {network.Settings{DHCPExclude: []network.Range{one("10.0.0.9")}}, problem.SeverityInfo, "outside the DHCP range 10.0.0.10-10.0.0.253"},
		"one of two":                   {network.Settings{DHCPExclude: []network.Range{one("10.0.0.20"), one("10.0.0.254")}}, problem.SeverityInfo, "dhcp-exclude has 10.0.0.254, which"},
		"partly in the pool":           {network.Settings{DHCPExclude: []network.Range{{First: netip.MustParseAddr("10.0.0.6"), Last: netip.MustParseAddr("10.0.0.20")}}}, "", ""},
		"around the CIDR":              {network.Settings{DHCPExclude: []network.Range{{First: netip.MustParseAddr("9.0.0.0"), Last: netip.MustParseAddr("9.255.255.255")}}}, problem.SeverityWarning, "9.0.0.0-9.255.255.255"},
		"a reservation, no pool there": {network.Settings{Reservations: reserved}, "", ""},
		"no DHCP":                      {network.Settings{Services: dns, DHCPExclude: []network.Range{one("10.0.0.20")}, Reservations: reserved}, problem.SeverityInfo, "no effect there: dhcp-exclude, reservations."},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			plan, problems := derived(on("10.0.0.0/24", network.NetworkRequest{Settings: c.settings}))
			g.Expect(plan.Networks).To(HaveLen(1))
			var found problem.Problems
			for _, p := range problems {
				if p.Reason == problem.AnnotationUnknown {
					found = append(found, p)
				}
			}
			if c.says == "" {
				g.Expect(found).To(BeEmpty())
				return
			}
			g.Expect(found).To(ConsistOf(And(HaveField("Severity", c.severity), WithTransform(message, ContainSubstring(c.says)))))
		})
	}
}
