// This file holds what other clients notice while a VM sends what it wants.

package dhcp_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/hostile"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
)

// flood sends packets on the segment until the test or stop ends it: 1,000 at once, and 1,000 each second.
func (s site) flood(packet func(i int) []byte) (stop func() int) {
	s.t.Helper()
	g := s.guest("")
	var port *hostile.Port
	var err error
	g.ns.Do(s.t, func() { port, err = hostile.Open("net1") })
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	var sending sync.WaitGroup
	sent, all := 0, net.HardwareAddr{255, 255, 255, 255, 255, 255}
	sending.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for begin := time.Now().Add(-time.Second); ctx.Err() == nil; <-tick.C {
			for ; sent < int(time.Since(begin).Milliseconds()); sent++ {
				if err := port.Send(port.MAC(), all, hostile.IPv4, packet(sent)); err != nil {
					s.t.Error(err)
					return
				}
			}
		}
	})
	stop = func() int { cancel(); sending.Wait(); return sent }
	s.t.Cleanup(func() { stop(); port.Close() })
	return stop
}

// waits returns how long each of new clients waited for its offer, in order. It fails if one got none.
func (s station) waits(clients int) []time.Duration {
	s.t.Helper()
	var all []time.Duration
	for i := range clients {
		mac := fmt.Sprintf("02:00:00:00:06:%02x", i)
		begin := time.Now()
		s.send(message(dhcpv4.MessageTypeDiscover, mac), everybody)
		m, _ := s.hears(patience.Limit)
		for m != nil && m.ClientHWAddr.String() != mac {
			m, _ = s.hears(patience.Limit) // A second edge was slow, so both replied.
		}
		if m == nil {
			s.t.Fatalf("client %d has no offer", i)
		}
		all = append(all, time.Since(begin))
	}
	slices.Sort(all)
	return all
}

// informs are INFORM messages from addresses of the network that no host has.
func informs(i int) []byte {
	a := at(fmt.Sprint(20 + i%170))
	mac := fmt.Sprintf("02:00:00:01:%02x:%02x", i>>8&0xff, i&0xff)
	m := message(dhcpv4.MessageTypeInform, mac, has(fmt.Sprint(20+i%170)))
	return hostile.Datagram(netip.AddrPortFrom(a, 68), netip.MustParseAddrPort(everybody), m.ToBytes())
}

// TestRepliesToAbsentHosts: replies that wait for absent hosts delay no other client: each of 100 gets its offer while the flood continues.
// If OOOI_CALM says that nothing else runs, offers take at most three times as long as without the flood, or 50 ms.
func TestRepliesToAbsentHosts(t *testing.T) {
	t.Parallel()
	quick := func(t *testing.T, s site, station station) {
		quiet := station.waits(100)
		stop := s.flood(informs)
		loud := station.waits(100)
		t.Logf("an offer took %s of 100 clients, %s while others sent %d messages", quiet[98], loud[98], stop())
		if os.Getenv("OOOI_CALM") != "" && loud[98] > max(50*time.Millisecond, 3*quiet[98]) {
			t.Error("offers wait for hosts that are absent")
		}
	}
	t.Run("one edge", func(t *testing.T) {
		s := serve(t, blue())
		quick(t, s, s.station("192.168.100.250/24"))
	})
	t.Run("two edges", func(t *testing.T) {
		e := serveTwice(t)
		quick(t, e.site, e.ear)
	})
}

// TestStartInOneInstant: 500 VMs send before the server reads the first message, and all get an offer. The
// kernel grants each socket its default buffer of 212,992 bytes, in which 250 messages fit.
func TestStartInOneInstant(t *testing.T) {
	netns.Require(t)
	const clients = 500
	n := blue()
	n.CIDR = netip.MustParsePrefix("192.168.100.0/22")
	n.DHCP.Range = network.Range{First: at("10"), Last: netip.MustParseAddr("192.168.103.250")}
	memory := &leases.Memory{}
	s := newSite(t, segment(t), n, 1)
	station := s.station("192.168.100.200/22")
	sockets := s.listen(4, 0)
	for i := range clients {
		station.send(message(discover, fmt.Sprintf("02:00:00:00:%02x:%02x", i>>8, i&0xff), parameters(rhcos...)), everybody)
	}
	s.serve(&dhcp.Server{Edge: 1, Store: memory, VMs: reply.NoVMs{}}, sockets)
	offered := map[string]string{}
	for len(offered) < clients {
		m, _ := station.hears(patience.Limit)
		if m == nil {
			t.Fatalf("%d of %d VMs got an offer", len(offered), clients)
		}
		offered[m.ClientHWAddr.String()] = m.YourIPAddr.String()
	}
}

// TestStandstill: a server that needs a second for one message reports it, until it continues.
func TestStandstill(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	memory := &leases.Memory{}
	var server *dhcp.Server
	stands, goesOn := make(chan struct{}), make(chan struct{})
	s := serveFrom(t, blue(), memory, func(x *dhcp.Server) {
		server = x
		stand := sync.OnceFunc(func() { close(stands); <-goesOn })
		x.Network = func() network.Network { stand(); return blue() }
	})
	station := s.station("192.168.100.250/24")
	g.Expect(server.Alive()).To(Succeed())
	station.send(message(discover, mac1), everybody)
	<-stands
	g.Eventually(server.Alive).Should(MatchError(ContainSubstring("DHCP is stuck")))
	close(goesOn)
	m, _ := station.hears(patience.Limit)
	g.Expect(m).NotTo(BeNil())
	g.Eventually(server.Alive).Should(Succeed())
}

// TestQueueOfOneMAC: while the server stands still, a VM sends until a message is dropped. The message of another VM is not.
func TestQueueOfOneMAC(t *testing.T) {
	t.Parallel()
	stands, goesOn := make(chan struct{}), make(chan struct{})
	s := serveHostile(t, blue(), func(x *dhcp.Server) {
		stand := sync.OnceFunc(func() { close(stands); <-goesOn })
		x.Network = func() network.Network { stand(); return blue() }
	})
	s.send(message(discover, mac1), everybody)
	<-stands
	for s.count("oooi_dhcp_dropped_total", map[string]string{"reason": "queue"}) == 0 {
		s.send(message(discover, mac1), everybody)
	}
	s.send(message(discover, mac2), everybody)
	close(goesOn)
	told := ""
	for told != mac2 {
		m, _ := s.hears(patience.Limit)
		NewWithT(t).Expect(m).NotTo(BeNil())
		told = m.ClientHWAddr.String()
	}
}

// TestInformsOfUnknownHosts: hosts without a lease that request options get few replies each, and few in total. One of them leaves the
// others their share. A host with a lease gets all of its own.
func TestInformsOfUnknownHosts(t *testing.T) {
	g := NewWithT(t)
	s := serveHostile(t, blue())
	lease := network.Lease{Address: at("50"), MAC: mac2, Expires: now.Add(time.Hour)}
	g.Expect(s.memory.Replace(t.Context(), network.Lease{}, lease)).To(Succeed())
	station := s.site.station("192.168.100.50/24")
	station.send(message(inform, mac1, has("51")), everybody)
	const many = 100
	for range many {
		station.send(message(inform, mac1, has("50")), everybody)
	}
	const hosts = 30
	for i := range hosts {
		station.send(message(inform, fmt.Sprintf("02:00:00:00:09:%02x", i), has("50")), everybody)
	}
	for range many {
		station.send(message(inform, mac2, has("50")), everybody)
	}
	told := map[string]int{}
	for told[mac2] < many {
		m, _ := station.hears(patience.Limit)
		g.Expect(m).NotTo(BeNil(), "%v", told)
		told[m.ClientHWAddr.String()]++
	}
	g.Expect(told[mac1]).To(BeNumerically("~", 2, 2), "one host")
	g.Expect(told).To(HaveKey("02:00:00:00:09:00"), "another one")
	g.Expect(len(told)).To(And(BeNumerically(">=", 16), BeNumerically("<", hosts)), "all of them together")
	g.Expect(s.count("oooi_dhcp_dropped_total", map[string]string{"reason": "inform-for-others"})).To(Equal(1))
}
