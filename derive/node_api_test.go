package derive_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// nodeAPI is where nodes reach the hosted API server in these tests.
const nodeAPI = "172.20.0.1"

// within is a network with this CIDR, whose nodes have nodeAPI.
func within(cidr string) given {
	in := isolated(network.Settings{})
	in.Networks[0].CIDR = netip.MustParsePrefix(cidr)
	in.NodeAPI = netip.MustParseAddr(nodeAPI)
	return in
}

// TestNodeAPI: no host on a network may have the address at which each node reaches its own API server.
func TestNodeAPI(t *testing.T) {
	g := NewWithT(t)
	plan, problems := derived(within("172.16.0.0/12"))
	g.Expect(problems).To(HaveExactElements(And(HaveField("Cause", problem.CIDRHasNodeAPI), HaveField("Severity", problem.SeverityWarning),
		WithTransform(message, ContainSubstring(nodeAPI)))))
	api := netip.MustParseAddr(nodeAPI)
	g.Expect(plan.Networks[0].DHCP.Range.Contains(api)).To(BeTrue())
	g.Expect(plan.Networks[0].DHCP.Exclude).To(HaveExactElements(network.Range{First: api, Last: api}), "no VM gets it")
	_, problems = derived(within("192.168.100.0/24"))
	g.Expect(problems).To(BeEmpty())

	refused := func(why, role string, change func(*given)) {
		t.Helper()
		in := within("172.20.0.0/24")
		change(&in)
		_, problems := derived(in)
		g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.AddressIsNodeAPI), HaveField("Severity", problem.SeverityError),
			HaveField("Args", HaveKeyWithValue("role", HaveExactElements(role))))), why)
	}
	refused("as router of the default route", "gateway", func(in *given) { in.Networks[0].Gateway = api })
	refused("as service VIP", "service VIP", func(in *given) {
		in.Networks[0].Settings.EdgeAddresses = addressesOf("172.20.0.2", nodeAPI, "172.20.0.4", "172.20.0.5")
	})
	refused("as a VM's address", "reserved address", func(in *given) {
		in.Networks[0].Settings.Reservations = []network.Reservation{{MAC: "02:00:00:00:00:01", Address: api}}
	})
	in := within("192.168.100.0/24")
	in.Announced = []netip.Addr{api}
	_, problems = derived(in)
	g.Expect(problems).To(HaveExactElements(And(HaveField("Cause", problem.PublishedIsNodeAPI), HaveField("Severity", problem.SeverityError))))

	in = within("192.168.100.0/24")
	in.Networks[0].Gateway = netip.MustParseAddr("192.168.100.1")
	in.Networks[0].Settings.NTPServers = []netip.Addr{api}
	_, problems = derived(in)
	g.Expect(problems).To(HaveExactElements(HaveField("Cause", problem.TimeServersUnreachable)), "the gateway does not lead there")
}

// TestAddressesOfNoHost: an address that no host can have is neither a gateway nor a published address.
func TestAddressesOfNoHost(t *testing.T) {
	for _, gateway := range []string{"192.168.100.0", "192.168.100.255", "192.168.101.1"} {
		g := NewWithT(t)
		in := isolated(network.Settings{})
		in.Networks[0].Gateway = netip.MustParseAddr(gateway)
		_, problems := derived(in)
		g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.GatewayOutsideCIDR), HaveField("Severity", problem.SeverityError),
			WithTransform(message, ContainSubstring("Gateway "+gateway+" is not a host address of 192.168.100.0/24")))), gateway)
	}
	for _, published := range []string{"127.0.0.1", "0.0.0.0", "169.254.10.10", "224.0.0.9", "255.255.255.255"} {
		g := NewWithT(t)
		in := isolated(network.Settings{})
		in.Announced = addressesOf(published)
		_, problems := derived(in)
		g.Expect(problems).To(HaveExactElements(And(HaveField("Cause", problem.PublishedInOther), HaveField("Severity", problem.SeverityError),
			WithTransform(message, And(ContainSubstring(published), ContainSubstring("the special-purpose block"))))), published)
	}
}
