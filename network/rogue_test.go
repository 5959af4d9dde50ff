package network_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestRogueDHCPServers: the problem names the host and its VM, is never an Error, and is there
// once, whichever edges report it.
func TestRogueDHCPServers(t *testing.T) {
	const ofVM, ofHost = "02:00:00:00:00:09", "02:00:00:00:00:aa"
	n := tenant(2, 10, 99).Networks[0]
	at := func(a, mac string) network.UsedAddress {
		return network.UsedAddress{Address: netip.MustParseAddr(a), MAC: mac}
	}
	nameOf := func(mac string) string { return map[string]string{ofVM: "blue-worker-9"}[mac] }
	for name, c := range map[string]struct {
		reported []network.UsedAddress
		says     []string
	}{
		"a VM":                    {[]network.UsedAddress{at("192.168.100.66", ofVM)}, []string{"at 192.168.100.66 within the last hour. VM blue-worker-9 (MAC " + ofVM + ") is named as its host"}},
		"another host":            {[]network.UsedAddress{at("192.168.100.66", ofHost)}, []string{"Its MAC " + ofHost + " is that of no VM"}},
		"elsewhere":               {[]network.UsedAddress{at("10.9.9.9", "")}, []string{"names itself 10.9.9.9. Its MAC is unknown"}},
		"one edge knows its MAC":  {[]network.UsedAddress{at("192.168.100.66", ""), at("192.168.100.66", ofVM)}, []string{"blue-worker-9"}},
		"both edges report it":    {[]network.UsedAddress{at("192.168.100.66", ofVM), at("192.168.100.66", ofVM)}, []string{"blue-worker-9"}},
		"the edges' own, by name": {[]network.UsedAddress{at(n.DHCP.ServerID.String(), ofVM)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ps := n.RogueDHCPServers(c.reported, nameOf)
			g.Expect(ps).To(HaveLen(len(c.says)))
			for i, says := range c.says {
				g.Expect(ps[i].Reason).To(Equal(network.RogueDHCPServer))
				g.Expect(ps[i].Severity).To(Equal(network.SeverityWarning))
				g.Expect(message(ps[i])).To(ContainSubstring(says))
			}
		})
	}
}

// TestSharedVIPs: the problem names the role of the address, the host and its VM, is never an Error, and is there once, whichever
// edges report it.
func TestSharedVIPs(t *testing.T) {
	const ofVM, ofHost = "02:00:00:00:00:09", "02:00:00:00:00:aa"
	n := tenant(2, 10, 99).Networks[0]
	published := netip.MustParseAddr("192.168.100.60")
	n.PublishedAddresses = []netip.Addr{published, netip.MustParseAddr("10.9.9.9")}
	nameOf := func(mac string) string { return map[string]string{ofVM: "blue-worker-9"}[mac] }
	for name, c := range map[string]struct {
		reported []network.UsedAddress
		says     []string
	}{
		"a VM":                 {[]network.UsedAddress{{Address: n.NextHopVIP, MAC: ofVM}}, []string{"answers for the next-hop VIP " + n.NextHopVIP.String() + " of network clusters/vlan100. VM blue-worker-9 (MAC " + ofVM + ") is named as this host"}},
		"another host":         {[]network.UsedAddress{{Address: n.ServiceVIP, MAC: ofHost}}, []string{"A host that is no edge (MAC " + ofHost + ") answers for the service VIP " + n.ServiceVIP.String()}},
		"a published address":  {[]network.UsedAddress{{Address: published, MAC: ofHost}}, []string{"answers for the published address " + published.String()}},
		"both edges report it": {[]network.UsedAddress{{Address: n.NextHopVIP, MAC: ofVM}, {Address: n.NextHopVIP, MAC: ofVM}}, []string{"blue-worker-9"}},
		"no shared address":    {[]network.UsedAddress{{Address: n.Edges[0].Address, MAC: ofVM}, {Address: netip.MustParseAddr("10.9.9.9"), MAC: ofVM}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			read, err := network.ReadReport(network.Report{Edge: 1, VIPHosts: c.reported}.JSON())
			g.Expect(err).NotTo(HaveOccurred())
			ps := n.SharedVIPs(read.VIPHosts, nameOf)
			g.Expect(ps).To(HaveLen(len(c.says)))
			for i, says := range c.says {
				g.Expect(ps[i].Reason).To(Equal(network.AddressInUse))
				g.Expect(ps[i].Severity).To(Equal(network.SeverityWarning))
				g.Expect(message(ps[i])).To(ContainSubstring(says))
			}
		})
	}
	_, err := network.ReadReport([]byte(`{"edge":1,"vipHosts":[{"address":"10.0.0.1","mac":"a VM"}]}`))
	NewWithT(t).Expect(err).To(HaveOccurred())
}

// TestReportedDHCPServersAreFew: a VM can make up any number of them.
func TestReportedDHCPServersAreFew(t *testing.T) {
	g := NewWithT(t)
	r := network.Report{Edge: 1}
	for i := range 1000 {
		r.DHCPServers = append(r.DHCPServers, network.UsedAddress{Address: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})})
	}
	read, err := network.ReadReport(r.JSON())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.DHCPServers).To(HaveLen(network.MaxDHCPServers))
	_, err = network.ReadReport([]byte(`{"edge":1,"dhcpServers":[{"address":"10.0.0.1","mac":"a VM"}]}`))
	g.Expect(err).To(HaveOccurred())
}
