package servers

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/netns"
	_ "github.com/cldmnky/oooi/test/patience"
)

// blueView is edge 1 of blue.
func blueView() inforce.View { return inforce.View{Network: fakes.Blue(), Edge: fakes.Blue().Edges[0]} }

// TestProbeForDHCPServers: a server that no VM has chosen yet answers the probe. So it is found
// also where it names itself with the service VIP.
func TestProbeForDHCPServers(t *testing.T) {
	g := NewWithT(t)
	segment, e, rogue := netns.NewSegment(t), netns.New(t), netns.New(t)
	own := blueView().Edge.Address
	segment.Attach(t, e, "net1", "", own.String()+"/24")
	segment.Attach(t, rogue, "eth0", "", "192.168.100.66/24")
	e.Sysctl(t, "net/ipv4/conf/net1/rp_filter", "1")
	var conn *net.UDPConn
	rogue.Do(t, func() {
		var err error
		conn, err = socket.ListenPacket(t.Context(), "eth0", netip.MustParseAddrPort("0.0.0.0:67"))
		g.Expect(err).NotTo(HaveOccurred())
	})
	defer func() { _ = conn.Close() }()
	asked := make(chan netip.AddrPort, 1)
	go func() {
		b := make([]byte, 1500)
		n, from, err := conn.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		asked <- from
		m, _ := dhcpv4.FromBytes(b[:n])
		other, _ := dhcpv4.NewReplyFromRequest(m, dhcpv4.WithTransactionID(dhcpv4.TransactionID{1}))
		offer, _ := dhcpv4.NewReplyFromRequest(m, dhcpv4.WithMessageType(dhcpv4.MessageTypeOffer), dhcpv4.WithServerIP(fakes.Blue().ServiceVIP.AsSlice()))
		for _, answer := range []*dhcpv4.DHCPv4{other, offer} {
			_, _ = conn.WriteToUDPAddrPort(answer.ToBytes(), netip.MustParseAddrPort("255.255.255.255:68"))
		}
	}()
	d := NewDHCPServers("net1", blueView, nil, slog.New(slog.DiscardHandler))
	var err error
	e.Do(t, func() { err = d.probe(t.Context()) })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asked).To(Receive(Equal(netip.AddrPortFrom(own, 68))), "not from a VIP, which would move VMs")
	g.Expect(d.chosen).To(Receive(Equal(choice{server: netip.MustParseAddr("192.168.100.66")})))
	g.Expect(d.chosen).To(BeEmpty(), "answers to others are none to the probe")
}

// TestDHCPServersOfOthers: what VMs choose is reported with its MAC, found out without a
// privilege. A VM that makes up servers adds a few, and no more.
func TestDHCPServersOfOthers(t *testing.T) {
	g := NewWithT(t)
	segment, e, rogue := netns.NewSegment(t), netns.New(t), netns.New(t)
	segment.Attach(t, e, "net1", "", "192.168.100.4/24")
	segment.Attach(t, rogue, "eth0", "", "192.168.100.66/24")
	reports := make(chan []reported.UsedAddress, 100)
	d := NewDHCPServers("net1", blueView, func(all []reported.UsedAddress) { reports <- all }, slog.New(slog.DiscardHandler))
	ended := make(chan struct{})
	go func() { defer close(ended); e.Do(t, func() { d.Run(t.Context()) }) }()
	t.Cleanup(func() { <-ended })

	at, far := netip.MustParseAddr("192.168.100.66"), netip.MustParseAddr("10.9.9.9")
	d.Chose("blue-1", at)
	g.Eventually(reports, "1m").Should(Receive(Equal([]reported.UsedAddress{{Address: at}})), "at once")
	g.Eventually(reports, "1m").Should(Receive(Equal([]reported.UsedAddress{{Address: at, MAC: rogue.MAC(t, "eth0")}})))
	d.Chose("blue-1", far)
	g.Eventually(reports, "1m").Should(Receive(ContainElement(reported.UsedAddress{Address: far})))
	for i := range 1000 {
		d.Chose("evil", netip.MustParseAddr(fmt.Sprintf("10.9.%d.%d", i/250, i%250)))
	}
	var last []reported.UsedAddress
	g.Eventually(func() []reported.UsedAddress {
		for len(reports) > 0 {
			last = <-reports
		}
		return last
	}, "1m").Should(HaveLen(reported.MaxDHCPServers))
	g.Expect(slices.ContainsFunc(last, func(u reported.UsedAddress) bool { return u.Address == at && u.MAC != "" })).To(BeTrue(), "one with a MAC stays")
}
