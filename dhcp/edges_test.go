package dhcp_test

import (
	"fmt"
	"maps"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
)

// edges are the two of one network, which keep the same leases, and whether each
// sees the other serve.
type edges struct {
	site // The first
	two  site
	sees *atomic.Bool
	// ear hears what is broadcast.
	ear station
}

func serveTwice(t *testing.T, settings ...func(*dhcp.Server)) edges {
	t.Helper()
	netns.Require(t)
	memory := &leases.Memory{}
	e := edges{sees: &atomic.Bool{}}
	e.sees.Store(true)
	on := segment(t)
	settings = append(settings, func(s *dhcp.Server) { s.PeerServes = e.sees.Load })
	e.site = serveOn(t, on, twice(), memory, settings...)
	e.two = serveOn(t, on, twice(), memory, append(settings, func(s *dhcp.Server) { s.Edge = 2 })...)
	e.memory = memory
	e.ear = e.station("192.168.100.200/24")
	return e
}

// said is how many of its messages each edge dealt with so.
func (s site) said(kind dhcpv4.MessageType, outcome reply.Outcome) int {
	s.t.Helper()
	return s.count("oooi_dhcp_messages_total", map[string]string{"type": kind.String(), "outcome": string(outcome)})
}

// count is the value of a counter with these labels, 0 if there is none.
func (s site) count(name string, with map[string]string) int {
	s.t.Helper()
	all, err := s.counted.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range all {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if f.GetName() == name && maps.Equal(labels, with) {
				return int(m.GetCounter().GetValue())
			}
		}
	}
	return 0
}

// answers are those to m, which is broadcast, one at least. Both edges have decided
// about it when both have answered what is sent after it; an ACK is written first, and
// waited for.
func (e edges) answers(m *dhcpv4.DHCPv4) (all []*dhcpv4.DHCPv4) {
	e.t.Helper()
	e.ear.send(m, everybody)
	last := message(discover, "02:00:00:00:ff:ff", secs(100))
	e.ear.send(last, everybody)
	for marks := 0; marks < 2 || len(all) == 0; {
		heard, _ := e.ear.hears(patience.Limit)
		if heard == nil {
			e.t.Fatalf("%d edges answered what both should, %d answered %s", marks, len(all), m.Summary())
		}
		switch heard.TransactionID {
		case last.TransactionID:
			marks++
		case m.TransactionID:
			all = append(all, heard)
		}
	}
	return all
}

// TestOneEdgeAnswers: each client gets one answer to a broadcast, from one of the edges. A client that sends again gets both answers. The
// test's clock stands still, because a later message would be a second try.
func TestOneEdgeAnswers(t *testing.T) {
	t.Parallel()
	w := NewWithT(t)
	e := serveTwice(t, func(s *dhcp.Server) { s.Now = func() time.Time { return now } })
	one := func(m *dhcpv4.DHCPv4, what dhcpv4.MessageType) *dhcpv4.DHCPv4 {
		t.Helper()
		all := e.answers(m)
		w.Expect(all).To(HaveLen(1), "%s", m.Summary())
		w.Expect(all[0].MessageType()).To(Equal(what))
		return all[0]
	}
	for i := range 16 {
		mac := fmt.Sprintf("02:00:00:00:04:%02x", i)
		offered := one(message(discover, mac), offer).YourIPAddr.String()
		taken := one(message(request, mac, server(us), asks(offered)), ack)
		w.Expect(taken.YourIPAddr.String()).To(Equal(offered))
		one(message(request, mac, asks(offered)), ack)
		one(message(request, mac, asks("10.9.8.7")), nak)
	}
	for _, x := range []site{e.site, e.two} {
		w.Expect(x.said(discover, reply.LeftToPeer)).To(BeNumerically("~", 8, 6))
	}
	w.Expect(e.said(discover, reply.LeftToPeer) + e.two.said(discover, reply.LeftToPeer)).To(Equal(16))
	w.Expect(e.said(request, reply.LeftToPeer) + e.two.said(request, reply.LeftToPeer)).To(Equal(48))
	one(message(inform, mac1, has("200")), ack)
	e.ear.send(message(request, mac1, server("192.168.100.9"), asks("20")), everybody)
	one(message(discover, mac1), offer)
	for _, x := range []site{e.site, e.two} {
		w.Expect(x.said(request, reply.OtherServer)).To(Equal(1), "what no edge answers is left to no edge")
	}

	again := message(discover, mac2)
	one(again, offer)
	w.Expect(e.answers(again)).To(HaveLen(2), "a second try")
	w.Expect(e.answers(message(discover, ofEdge1, secs(4)))).To(HaveLen(2), "a second try, as a transaction of its own")
	e.sees.Store(false)
	w.Expect(e.answers(message(discover, alsoOfEdge1))).To(HaveLen(2), "no edge sees the other serve")
}

// TestEdgesOfferDifferentAddresses to two VMs with the same hash, even if different edges
// answer.
func TestEdgesOfferDifferentAddresses(t *testing.T) {
	w := NewWithT(t)
	e := serveTwice(t)
	offered := map[string]string{}
	for i := range 0xc0 {
		mac := fmt.Sprintf("02:00:00:00:05:%02x", i)
		e.ear.send(message(discover, mac), everybody)
		m, _ := e.ear.hears(patience.Limit)
		w.Expect(m).NotTo(BeNil())
		w.Expect(offered).NotTo(HaveKey(m.YourIPAddr.String()), "%s is offered to two", m.YourIPAddr)
		offered[m.YourIPAddr.String()] = mac
	}
}

// TestDeclineReachesBoth: both edges process it, since clients send it once.
func TestDeclineReachesBoth(t *testing.T) {
	t.Parallel()
	w := NewWithT(t)
	e := serveTwice(t)
	boot := func(mac string) netip.Addr {
		offered := e.answers(message(discover, mac))[0].YourIPAddr.String()
		e.answers(message(request, mac, server(us), asks(offered)))
		return netip.MustParseAddr(offered)
	}
	declined := boot(ofEdge1)
	e.stop()
	e.ear.send(message(decline, ofEdge1, server(us), asks(declined.String())), everybody)
	w.Eventually(func() string { l, _ := e.memory.At(declined); return l.MAC }).Should(BeEmpty())
}

// TestPeerTakesOver: real clients get one offer each while both edges serve. If one edge is lost, its peer answers at the second try. Once
// the peer has noticed the loss, it answers at the first try.
func TestPeerTakesOver(t *testing.T) {
	t.Parallel()
	netns.Require(t, "udhcpc", "dhclient")
	w := NewWithT(t)
	e := serveTwice(t)
	// By identifier udhcpc's first is the first edge's, and its second the other's;
	// dhclient sends none.
	const second = "02:00:00:00:00:0a"
	// What both edges leave is the first try of each client, once: both answer a second try.
	leave := func() int { return e.said(discover, reply.LeftToPeer) + e.two.said(discover, reply.LeftToPeer) }
	given := map[string]string{}
	for i, mac := range []string{mac1, second} {
		m := e.guest(mac)
		w.Expect(m.run("udhcpc", m.udhcpc("-n", "-q", "-t", "1", "-T", "60")...)).To(Succeed(), "at the first try")
		given[mac] = m.address()
		w.Eventually(leave).Should(Equal(i+1), "one offer")
	}
	w.Expect(given[mac1]).NotTo(Equal(given[second]))
	for i, mac := range []string{ofEdge1, mac2} {
		m := e.guest(mac)
		stop := m.start("dhclient", m.dhclient("-d")...)
		w.Eventually(func() string { return m.got("BOUND")["new_ip_address"] }, patience.Limit, "50ms").ShouldNot(BeEmpty())
		stop(syscall.SIGKILL)
		w.Eventually(leave).Should(Equal(i+3), "one offer to the first try")
	}
	w.Expect(e.said(discover, reply.LeftToPeer)).To(BeNumerically(">", 0))
	w.Expect(e.two.said(discover, reply.LeftToPeer)).To(BeNumerically(">", 0))

	e.two.stop()
	left := func() int { return e.said(discover, reply.LeftToPeer) + e.said(request, reply.LeftToPeer) }
	tries := func(mac string, more ...string) int {
		m, before := e.guest(mac), left()
		w.Expect(m.run("udhcpc", m.udhcpc(append(more, "-n", "-q")...)...)).To(Succeed(), mac)
		w.Expect(m.address()).To(Equal(given[mac]))
		return 1 + left() - before
	}
	w.Expect(tries(mac1, "-t", "1", "-T", "60")).To(Equal(1), "its own edge is there")
	w.Expect(tries(second, "-t", "60", "-T", "1")).To(Equal(2), "no edge has noticed yet")
	e.sees.Store(false)
	w.Expect(tries(second, "-t", "1", "-T", "60")).To(Equal(1))
}
