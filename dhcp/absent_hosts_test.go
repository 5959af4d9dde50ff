// This file holds what present hosts notice while a VM has the server reply to hosts that are absent.

package dhcp_test

import (
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/hostile"
	"github.com/cldmnky/oooi/test/patience"
)

// TestForgedRenewals: a VM forges renewals of 150 clients whose VMs are off. The replies wait for ARP answers of absent hosts, and fill a
// socket's buffer. A VM that runs still gets its replies. Dropped replies are counted.
func TestForgedRenewals(t *testing.T) {
	w := NewWithT(t)
	var knows atomic.Pointer[func(netip.Addr) bool]
	s, _ := asking(t, blue(), func(x *dhcp.Server) {
		x.VMs = reply.NoVMs{}
		x.Knows = func(a netip.Addr) bool { return (*knows.Load())(a) }
	})
	know := s.neighbors()
	knows.Store(&know)
	put := func(a netip.Addr, mac string) {
		l := network.Lease{Address: a, MAC: mac, Expires: time.Now().Add(time.Hour).Truncate(time.Second)}
		w.Expect(s.memory.Replace(t.Context(), network.Lease{}, l)).To(Succeed())
	}
	const all = 150
	mac := func(i int) string { return fmt.Sprintf("02:00:00:00:07:%02x", i%all) }
	for i := range all {
		put(at(fmt.Sprint(20+i)), mac(i))
	}
	put(at("200"), mac2)
	station := s.station("192.168.100.200/24")
	renewal := message(request, mac2, has("200"))
	renews := func(within time.Duration) bool {
		station.send(renewal, everybody)
		m, _ := station.hears(within)
		return m != nil
	}
	w.Expect(renews(patience.Limit)).To(BeTrue())
	s.flood(func(i int) []byte {
		m := message(request, mac(i), has(fmt.Sprint(20+i%all)))
		return hostile.Datagram(netip.AddrPortFrom(at(fmt.Sprint(20+i%all)), 68), netip.MustParseAddrPort(everybody), m.ToBytes())
	})
	dropped := func() int { return s.count("oooi_dhcp_dropped_total", map[string]string{"reason": "send-buffer"}) }
	w.Eventually(dropped).Should(BeNumerically(">", 0), "the buffer is full")
	lost := 0
	for range 20 {
		if !renews(20 * time.Second) {
			lost++
		}
		w.Expect(lost).To(BeNumerically("<=", 1), "of 20 renewals of a VM that runs")
	}
}

// neighbors returns what the kernel of the edge knows.
func (s site) neighbors() func(netip.Addr) bool {
	s.t.Helper()
	var asker *device.Asker
	var err error
	s.edge.Do(s.t, func() { asker, err = device.NewAsker("net1", func() netip.Addr { return s.n.Edges[0].Address }) })
	if err != nil {
		s.t.Fatal(err)
	}
	return asker.Knows
}
