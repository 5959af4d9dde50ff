package trial

import (
	"net"
	"net/netip"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// offer is one of a server, for a VM whose router is at the last byte router.
func offer(server, address string, router byte) *dhcpv4.DHCPv4 {
	o, err := dhcpv4.New(
		dhcpv4.WithServerIP(net.ParseIP(server)), dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.ParseIP(server))), dhcpv4.WithYourIP(net.ParseIP(address)),
		dhcpv4.WithDNS(net.IPv4(192, 168, 100, 3)), dhcpv4.WithOption(dhcpv4.OptClasslessStaticRoute(&dhcpv4.Route{
			Dest: &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, Router: net.IPv4(192, 168, 100, router),
		})))
	if err != nil {
		panic(err)
	}
	return o
}

// TestOffers: what VMs would get, compared with what they need.
func TestOffers(t *testing.T) {
	at := netip.MustParseAddr
	ours := network.Network{CIDR: netip.MustParsePrefix("192.168.100.0/24"), DHCP: network.DHCP{
		Range:    network.Range{First: at("192.168.100.10"), Last: at("192.168.100.20")},
		ServerID: at("192.168.100.3"), DNSServers: []netip.Addr{at("192.168.100.3")},
		Routes: []network.Route{{Destination: netip.MustParsePrefix("0.0.0.0/0"), Via: at("192.168.100.2")}},
	}}
	known, others := ours, ours
	known.DHCP.IgnoreUnknownClients = true
	others.DHCP.Range, others.DHCP.ServerID = network.Range{}, netip.Addr{}
	good, rogue := offer("192.168.100.3", "192.168.100.10", 2), offer("192.168.100.66", "192.168.100.11", 2)
	for name, c := range map[string]struct {
		n       network.Network
		offers  []*dhcpv4.DHCPv4
		want    problem.Cause
		message string
	}{
		"ours":                   {ours, []*dhcpv4.DHCPv4{good}, problem.DHCPOffered, "192.168.100.3 offers 192.168.100.10."},
		"none":                   {ours, nil, problem.DHCPSilent, "No DHCP server answers within 10s. Edges are silent, too, if the pool has no free address. "},
		"another too":            {ours, []*dhcpv4.DHCPv4{good, rogue}, problem.DHCPServerBesidesOurs, "Another DHCP server, 192.168.100.66, offers 192.168.100.11. A VM takes the first offer, so it may "},
		"VMs only":               {known, nil, problem.DHCPForVMsOnly, "Only VMs of the cluster get an address (annotation unknown-clients: ignore), and this pod is not a VM. No other server answers."},
		"VMs only, another":      {known, []*dhcpv4.DHCPv4{rogue}, problem.DHCPServerBesidesOurs, "Another DHCP server, 192.168.100.66, offers 192.168.100.11. A VM takes the first offer, so it may "},
		"of others":              {others, []*dhcpv4.DHCPv4{rogue}, problem.DHCPOffered, "192.168.100.66 offers 192.168.100.11."},
		"of others, other route": {others, []*dhcpv4.DHCPv4{offer("192.168.100.66", "192.168.100.11", 1)}, problem.DHCPOfferDiffers, "The server offers routes 0.0.0.0/0 via 192.168.100.1, but VMs need 0.0.0.0/0 via 192.168.100.2. "},
		"of others, none":        {others, nil, problem.DHCPOfOthersSilent, "Edges run no DHCP server here, and no other server answers within 10s. It may serve only its VMs."},
		"of another network":     {ours, []*dhcpv4.DHCPv4{offer("192.168.100.3", "10.0.0.9", 2)}, problem.DHCPOfferDiffers, "The server offers address 10.0.0.9, but VMs need an address in 192.168.100.0/24. "},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ps := judgeOffers(c.n, c.offers)
			g.Expect(ps).To(HaveLen(1))
			g.Expect(ps[0].Cause).To(Equal(c.want))
			g.Expect(explain.Problem(ps[0]).String()).To(HavePrefix(c.message))
		})
	}
}
