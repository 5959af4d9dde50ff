package derive_test

import (
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestServersInPool: the address of a server that is in the DHCP range is excluded.
func TestServersInPool(t *testing.T) {
	g := NewWithT(t)
	s := onVLAN("a", "10.1.0.0/24", "cidr")
	s.Settings.NTPServers = []netip.Addr{netip.MustParseAddr("10.1.0.20"), netip.MustParseAddr("10.9.0.1")}
	s.Settings.DHCPRelays = []netip.Addr{netip.MustParseAddr("10.1.0.30")}
	p, problems := derived(asking(1, s))
	g.Expect(problems).To(HaveExactElements(HaveField("Cause", problem.TimeServersUnreachable)))
	only := func(a string) network.Range {
		return network.Range{First: netip.MustParseAddr(a), Last: netip.MustParseAddr(a)}
	}
	g.Expect(p.Networks[0].DHCP.Exclude).To(HaveExactElements(only("10.1.0.20"), only("10.1.0.30")))
}

// TestAppsAtEdgeAddress: the address of *.apps must not be that of an edge, because no server there answers for the ingress.
func TestAppsAtEdgeAddress(t *testing.T) {
	for address, ours := range map[string]bool{"10.1.0.2": true, "10.1.0.3": true, "10.1.0.5": true, "10.1.0.9": false} {
		t.Run(address, func(t *testing.T) {
			g := NewWithT(t)
			in := asking(1, onVLAN("a", "10.1.0.0/24", "cidr"))
			in.Apps = network.Record{Name: "*.apps.blue.example.com", Addresses: []netip.Addr{netip.MustParseAddr(address)}}
			p, problems := derived(in)
			g.Expect(problems.Blocking()).To(BeFalse(), "it is left out alone")
			g.Expect(problems.Has(problem.AddressConflict)).To(Equal(ours))
			g.Expect(p.Networks[0].DNS.Views[0].Records == nil).To(Equal(ours))
		})
	}
}

// opensAccess reports whether edges of p let pods of the management cluster in. Load balancers do not count.
func opensAccess(p network.Plan) bool {
	return slices.ContainsFunc(p.Networks, func(n network.Network) bool { return n.Access.Opens() })
}
