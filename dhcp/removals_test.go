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
	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
)

// A slow store does not answer about removals before its end.
type slow struct {
	*leases.Memory
	asked chan netip.Addr
	end   chan struct{}
}

func (s slow) Remove(ctx context.Context, was network.Lease) error {
	s.asked <- was.Address
	<-s.end
	return s.Memory.Remove(ctx, was)
}

// TestRemovalsHoldNoClientUp: while the store does not answer requests to remove leases, clients that change their addresses get their
// DHCPACK, and so does a new client. At most 256 removals are in progress.
func TestRemovalsHoldNoClientUp(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	w := NewWithT(t)
	const all, most = 300, 256
	n := blue()
	n.CIDR = netip.MustParsePrefix("192.168.96.0/20")
	n.DHCP.Range = network.Range{First: at("10"), Last: netip.MustParseAddr("192.168.111.250")}
	had, gets := netip.MustParseAddr("192.168.104.0"), netip.MustParseAddr("192.168.108.0")
	memory := &leases.Memory{}
	for i := range uint32(all) {
		mac := fmt.Sprintf("02:00:00:0b:%02x:%02x", i>>8, i&255)
		n.DHCP.Reservations = append(n.DHCP.Reservations, network.Reservation{MAC: mac, Address: network.AddressOf(network.Number(gets) + i)})
		l := network.Lease{Address: network.AddressOf(network.Number(had) + i), MAC: mac, Expires: time.Now().Add(time.Hour).Truncate(time.Second)}
		w.Expect(memory.Replace(t.Context(), network.Lease{}, l)).To(Succeed())
	}
	store := slow{memory, make(chan netip.Addr, all), make(chan struct{})}
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

	for _, r := range n.DHCP.Reservations {
		w.Expect(hears(message(request, r.MAC, server(us), dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(r.Address.AsSlice()))), ack)).To(Equal(r.Address.String()))
	}
	const newcomer = "02:00:00:00:0b:ff"
	offered := hears(message(discover, newcomer), offer)
	w.Expect(hears(message(request, newcomer, server(us), dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(netip.MustParseAddr(offered).AsSlice()))), ack)).To(Equal(offered))
	asked := func() int { return len(store.asked) }
	w.Eventually(asked).Should(Equal(most))
	w.Consistently(asked).Should(Equal(most))
}
