package reported_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// TestRogueDHCPServers: the problem names the host and its VM, is never an Error, and is there
// once, whichever edges report it.
func TestRogueDHCPServers(t *testing.T) {
	const ofVM, ofHost = "02:00:00:00:00:09", "02:00:00:00:00:aa"
	n := vlan100()
	at := func(a, mac string) reported.UsedAddress {
		return reported.UsedAddress{Address: netip.MustParseAddr(a), MAC: mac}
	}
	nameOf := func(mac string) string { return map[string]string{ofVM: "blue-worker-9"}[mac] }
	for name, c := range map[string]struct {
		reported []reported.UsedAddress
		says     []string
	}{
		"a VM":                    {[]reported.UsedAddress{at("192.168.100.66", ofVM)}, []string{"at 192.168.100.66 within the last hour. Its MAC " + ofVM + " is that of VM blue-worker-9."}},
		"another host":            {[]reported.UsedAddress{at("192.168.100.66", ofHost)}, []string{"Its MAC " + ofHost + " is that of no VM of the cluster. "}},
		"elsewhere":               {[]reported.UsedAddress{at("10.9.9.9", "")}, []string{"gives its address as 10.9.9.9. Its MAC is unknown"}},
		"one edge knows its MAC":  {[]reported.UsedAddress{at("192.168.100.66", ""), at("192.168.100.66", ofVM)}, []string{"blue-worker-9"}},
		"both edges report it":    {[]reported.UsedAddress{at("192.168.100.66", ofVM), at("192.168.100.66", ofVM)}, []string{"blue-worker-9"}},
		"the edges' own, by name": {[]reported.UsedAddress{at(n.DHCP.ServerID.String(), ofVM)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ps := reported.RogueDHCPServers(n, c.reported, nameOf)
			g.Expect(ps).To(HaveLen(len(c.says)))
			for i, says := range c.says {
				g.Expect(ps[i].Reason).To(Equal(problem.RogueDHCPServer))
				g.Expect(ps[i].Severity).To(Equal(problem.SeverityWarning))
				g.Expect(message(ps[i])).To(ContainSubstring(says))
			}
		})
	}
}

// TestSharedVIPs: the problem names the role of the address, the host and its VM, is never an Error, and is there once, whichever
// edges report it.
func TestSharedVIPs(t *testing.T) {
	const ofVM, ofHost = "02:00:00:00:00:09", "02:00:00:00:00:aa"
	n := vlan100()
	published := netip.MustParseAddr("192.168.100.60")
	n.PublishedAddresses = []netip.Addr{published, netip.MustParseAddr("10.9.9.9")}
	nameOf := func(mac string) string { return map[string]string{ofVM: "blue-worker-9"}[mac] }
	for name, c := range map[string]struct {
		reported []reported.UsedAddress
		says     []string
	}{
		"a VM":                 {[]reported.UsedAddress{{Address: n.NextHopVIP, MAC: ofVM}}, []string{"answers for the next-hop VIP " + n.NextHopVIP.String() + " of network clusters/vlan100. Its MAC " + ofVM + " is that of VM blue-worker-9."}},
		"another host":         {[]reported.UsedAddress{{Address: n.ServiceVIP, MAC: ofHost}}, []string{"A host that is not an edge answers for the service VIP " + n.ServiceVIP.String() + " of network clusters/vlan100. Its MAC " + ofHost + " is that of no VM of the cluster."}},
		"a published address":  {[]reported.UsedAddress{{Address: published, MAC: ofHost}}, []string{"answers for the published address " + published.String()}},
		"both edges report it": {[]reported.UsedAddress{{Address: n.NextHopVIP, MAC: ofVM}, {Address: n.NextHopVIP, MAC: ofVM}}, []string{"blue-worker-9"}},
		"no shared address":    {[]reported.UsedAddress{{Address: n.Edges[0].Address, MAC: ofVM}, {Address: netip.MustParseAddr("10.9.9.9"), MAC: ofVM}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			read, err := reported.Read(reported.EdgeReport{Edge: 1, VIPHosts: c.reported}.JSON())
			g.Expect(err).NotTo(HaveOccurred())
			ps := reported.SharedVIPs(n, read.VIPHosts, nameOf)
			g.Expect(ps).To(HaveLen(len(c.says)))
			for i, says := range c.says {
				g.Expect(ps[i].Reason).To(Equal(problem.AddressInUse))
				g.Expect(ps[i].Severity).To(Equal(problem.SeverityWarning))
				g.Expect(message(ps[i])).To(ContainSubstring(says))
			}
		})
	}
	_, err := reported.Read([]byte(`{"edge":1,"vipHosts":[{"address":"10.0.0.1","mac":"a VM"}]}`))
	NewWithT(t).Expect(err).To(HaveOccurred())
}

// TestReportedDHCPServersAreFew: a VM can make up any number of them.
func TestReportedDHCPServersAreFew(t *testing.T) {
	g := NewWithT(t)
	r := reported.EdgeReport{Edge: 1}
	for i := range 1000 {
		r.DHCPServers = append(r.DHCPServers, reported.UsedAddress{Address: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})})
	}
	read, err := reported.Read(r.JSON())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.DHCPServers).To(HaveLen(reported.MaxDHCPServers))
	_, err = reported.Read([]byte(`{"edge":1,"dhcpServers":[{"address":"10.0.0.1","mac":"a VM"}]}`))
	g.Expect(err).To(HaveOccurred())
}
