// This file holds what clients notice while leases cannot be removed.

package dhcp_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dhcp/leasefile"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
)

// A slow store does not answer about removals before its end.
type slow struct {
	*leasefile.Store
	asked chan netip.Addr
	end   chan struct{}
}

func (s slow) Remove(ctx context.Context, was network.Lease) error {
	s.asked <- was.Address
	<-s.end
	return s.Store.Remove(ctx, was)
}

// TestRemovalsHoldNoClientUp: while the store does not answer about removals, a client that changes its address gets
// its ACK, one that released its address gets an offer, and so do others while 1,100 clients release theirs.
func TestRemovalsHoldNoClientUp(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	w := NewWithT(t)
	n := blue()
	n.CIDR = netip.MustParsePrefix("192.168.96.0/20")
	n.DHCP.Range = network.Range{First: at("10"), Last: netip.MustParseAddr("192.168.111.250")}
	n.DHCP.Reservations = []network.Reservation{{MAC: mac1, Address: at("7")}}
	files, err := leasefile.Open("")
	w.Expect(err).NotTo(HaveOccurred())
	store := slow{files, make(chan netip.Addr, 2000), make(chan struct{})}
	put := func(mac string, a netip.Addr) {
		l := network.Lease{Address: a, MAC: mac, Expires: time.Now().Add(time.Hour).Truncate(time.Second)}
		w.Expect(files.Replace(t.Context(), network.Lease{}, l)).To(Succeed())
	}
	put(mac1, at("20"))
	put(mac2, at("30"))
	s := serveFrom(t, n, store, func(x *dhcp.Server) { x.VMs = reply.NoVMs{} })
	t.Cleanup(func() { close(store.end) })
	station := s.station("192.168.100.250/20")
	hears := func(m *dhcpv4.DHCPv4, kind dhcpv4.MessageType) string {
		t.Helper()
		station.send(m, everybody)
		reply, _ := station.hears(patience.Limit)
		w.Expect(reply).NotTo(BeNil(), "%s", m.Summary())
		w.Expect(reply.MessageType()).To(Equal(kind))
		return reply.YourIPAddr.String()
	}

	w.Expect(hears(message(request, mac1, server(us), asks("7")), ack)).To(Equal(full("7")), "its reservation")
	w.Eventually(store.asked).Should(Receive(Equal(at("20"))))
	station.send(message(release, mac2, server(us), has("30")), everybody)
	w.Eventually(store.asked).Should(Receive(Equal(at("30"))))
	hears(message(discover, mac2), offer)

	dropped := func() int { return s.count("oooi_dhcp_dropped_total", map[string]string{"reason": "removals"}) }
	const all = 1100
	for i := range all {
		mac, a := fmt.Sprintf("02:00:00:0b:%02x:%02x", i>>8, i&255), network.AddressOf(network.Number(netip.MustParseAddr("192.168.104.0"))+uint32(i))
		put(mac, a)
		station.send(message(release, mac, server(us), dhcpv4.WithClientIP(a.AsSlice())), everybody)
	}
	w.Eventually(func() int { return len(store.asked) + dropped() }).Should(Equal(all))
	w.Expect(len(store.asked)).To(BeNumerically(">=", 200))
	const newcomer = "02:00:00:00:0b:ff"
	offered := hears(message(discover, newcomer), offer)
	w.Expect(hears(message(request, newcomer, server(us), asks(offered)), ack)).To(Equal(offered))
}
