package failover

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/net/ipv4"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/netns"
)

const own, nextHop, service = "192.168.100.4", "192.168.100.2", "192.168.100.3"

// stale is a MAC that no host has.
const stale = "02:00:00:00:00:99"

// TestAnnounce: an announcement changes the entries of both VIPs in the ARP table of a real kernel, except those that Degraded reports.
func TestAnnounce(t *testing.T) {
	t.Parallel()
	ownFirst := []string{own + "/24", nextHop + "/32", service + "/32"}
	nextHopFirst := []string{nextHop + "/32", own + "/24", service + "/32"}
	for _, c := range []struct {
		addresses   []string
		all, device string
		level       string // in the message
		ignored     []string
	}{
		{ownFirst, "0", "0", "", nil},
		{ownFirst, "0", "1", "1", []string{nextHop, service}},
		{ownFirst, "0", "2", "2", []string{nextHop, service}},
		{ownFirst, "2", "0", "2", []string{nextHop, service}},
		{nextHopFirst, "0", "0", "", nil},
		{nextHopFirst, "0", "1", "1", []string{service}},
		{nextHopFirst, "0", "2", "2", []string{service}},
		{nextHopFirst, "2", "0", "2", []string{service}},
	} {
		t.Run(fmt.Sprintf("%s first, all=%s device=%s", c.addresses[0], c.all, c.device), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			segment, e, client := netns.NewSegment(t), netns.New(t), netns.New(t)
			segment.Attach(t, e, "net1", "", c.addresses...)
			segment.Attach(t, client, "eth0", "", "192.168.100.10/24")
			e.Sysctl(t, "net/ipv4/conf/all/arp_announce", c.all)
			e.Sysctl(t, "net/ipv4/conf/net1/arp_announce", c.device)
			vips := []netip.Addr{netip.MustParseAddr(nextHop), netip.MustParseAddr(service)}
			want := map[string]string{nextHop: e.MAC(t, "net1"), service: e.MAC(t, "net1")}
			var degraded error
			e.Do(t, func() { degraded = Degraded("/", "net1", vips...) })
			knows := func() map[string]string {
				known := map[string]string{nextHop: client.Neighbour(t, "eth0", nextHop), service: client.Neighbour(t, "eth0", service)}
				if known[nextHop] != "" && known[service] != "" {
					return known
				}
				// At first, or if the kernel forgot an entry: there is one table for all namespaces. The edge knows no neighbor, as after
				// its start, so the kernel asks only for the targets.
				client.SetNeighbour(t, "eth0", nextHop, stale, false)
				client.SetNeighbour(t, "eth0", service, stale, false)
				var err error
				e.Do(t, func() { err = announce("net1", vips, 1) })
				g.Expect(err).NotTo(HaveOccurred())
				return nil
			}
			if len(c.ignored) == 0 {
				g.Expect(degraded).NotTo(HaveOccurred())
			} else {
				first, _, _ := strings.Cut(c.addresses[0], "/")
				g.Expect(degraded).To(MatchError(And(ContainSubstring("arp_announce="+c.level), ContainSubstring("ARP requests from "+first),
					ContainSubstring("announcements of "+strings.Join(c.ignored, ", ")+" have no effect"))))
				for _, a := range c.ignored {
					want[a] = stale
				}
			}
			g.Eventually(knows, "1m", "10ms").Should(Equal(want))
			if len(c.ignored) > 0 {
				g.Consistently(func() (known []string) {
					for _, a := range c.ignored {
						known = append(known, client.Neighbour(t, "eth0", a))
					}
					return known
				}, "3500ms", "100ms").Should(HaveEach(Or(BeEmpty(), Equal(stale))))
			}
			g.Expect(client.Neighbour(t, "eth0", own)).To(BeEmpty())
		})
	}
}

// TestNamed: each announcement contains the next-hop VIP and the service VIP. Other addresses take turns.
func TestNamed(t *testing.T) {
	g := NewWithT(t)
	var all []netip.Addr
	for i := range 9 {
		all = append(all, netip.AddrFrom4([4]byte{192, 168, 100, byte(i)}))
	}
	g.Expect(named(all[:3], 7)).To(Equal(all[:3]))
	seen := map[netip.Addr]int{}
	for n := range 7 {
		got := named(all, n)
		g.Expect(got).To(HaveLen(mostAddresses))
		g.Expect(got[:2]).To(Equal(all[:2]))
		for _, a := range got[2:] {
			seen[a]++
		}
	}
	for _, a := range all[2:] {
		g.Expect(seen).To(HaveKeyWithValue(a, mostAddresses-2))
	}
}

// TestAnnounceBehindProxyARP: a router answers for every address outside of the network,
// so each announced target enters the kernel's table.
func TestAnnounceBehindProxyARP(t *testing.T) {
	t.Parallel()
	for level, addresses := range map[string][]string{
		"0": {own + "/24", nextHop + "/32"},
		"2": {nextHop + "/32", own + "/24"},
	} {
		t.Run("arp_announce="+level, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			segment, e, vm, router := netns.NewSegment(t), netns.New(t), netns.New(t), netns.New(t)
			segment.Attach(t, e, "net1", "", addresses...)
			segment.Attach(t, vm, "eth0", "", "192.168.100.10/24")
			segment.Attach(t, router, "eth0", "", "192.168.100.1/24")
			netns.NewSegment(t).Attach(t, router, "eth1", "", "10.0.0.2/24")
			router.Route(t, "0.0.0.0/0", "10.0.0.1")
			router.Sysctl(t, "net/ipv4/ip_forward", "1")
			router.Sysctl(t, "net/ipv4/conf/eth0/proxy_arp", "1")
			router.Sysctl(t, "net/ipv4/neigh/eth0/proxy_delay", "0")
			e.Sysctl(t, "net/ipv4/conf/net1/arp_announce", level)
			// The kernel asks only once for an answered target.
			vm.Sysctl(t, "net/ipv4/neigh/eth0/locktime", "0")
			hop, announcements := netip.MustParseAddr(nextHop), 0
			answered := map[netip.Addr]string{} // The kernel may forget some of them.
			for turn := range 40 {
				vm.SetNeighbour(t, "eth0", nextHop, stale, false)
				g.Eventually(func(now Gomega) {
					announcements++
					e.Do(t, func() {
						g.Expect(announce("net1", []netip.Addr{hop}, announcements)).To(Succeed())
						g.Expect(Degraded("/", "net1", hop)).To(Succeed())
					})
					known := vm.Neighbour(t, "eth0", nextHop)
					if known == "" { // The kernel forgot it: there is one table for all namespaces.
						vm.SetNeighbour(t, "eth0", nextHop, stale, false)
					}
					now.Expect(known).To(Equal(e.MAC(t, "net1")), "turn %d", turn)
					var targets []device.Neighbor
					var err error
					e.Do(t, func() { targets, err = device.Neighbors("net1") })
					g.Expect(err).NotTo(HaveOccurred())
					for _, x := range targets {
						if x.MAC != "" {
							answered[x.Address] = x.MAC
						}
					}
					now.Expect(len(answered)).To(BeNumerically(">", turn), "the router answered")
				}, "1m", "20ms").Should(Succeed())
			}
		})
	}
}

// TestNoTargetIsLeft: announcements fail, and work again when the kernel forgets a target.
func TestNoTargetIsLeft(t *testing.T) {
	g := NewWithT(t)
	segment, e := netns.NewSegment(t), netns.New(t)
	segment.Attach(t, e, "net1", "", own+"/24", nextHop+"/32")
	hop, all := netip.MustParseAddr(nextHop), unusedAddresses()
	for _, a := range all {
		g.Expect(a.IsLinkLocalUnicast()).To(BeTrue())
		e.SetNeighbour(t, "net1", a.String(), stale, true) // else the kernel may forget some
	}
	both := func() (announced, slow error) {
		e.Do(t, func() { announced, slow = announce("net1", []netip.Addr{hop}, 1), Degraded("/", "net1", hop) })
		return announced, slow
	}
	announced, slow := both()
	g.Expect(announced).To(MatchError(ContainSubstring("proxy ARP")))
	g.Expect(slow).To(MatchError(ContainSubstring("proxy ARP")))
	e.ForgetNeighbour(t, "net1", all[300].String())
	announced, slow = both()
	g.Expect(announced).To(Succeed())
	g.Expect(slow).To(Succeed())
	g.Expect(e.Run(t, "ip", "neigh", "show", "nud", "incomplete")).To(HavePrefix(all[300].String() + " "))
}

// TestTarget: an announced target that did not answer is used again in turn; one that answered is not.
func TestTarget(t *testing.T) {
	g := NewWithT(t)
	var known []device.Neighbor
	asked := map[netip.Addr]int{}
	for n := range 10 * targetsInTurn {
		a, err := target(n, known)
		g.Expect(err).NotTo(HaveOccurred())
		if was, ok := asked[a]; ok {
			g.Expect(n-was).To(Equal(targetsInTurn), "the kernel no longer asks for it")
		}
		asked[a] = n
	}
	g.Expect(asked).To(HaveLen(targetsInTurn), "the kernel's table stays small")
	for n := range unusedAddresses() {
		a, err := target(n, known)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(device.MACIn(known, a)).To(BeEmpty())
		known = append(known, device.Neighbor{Address: a, MAC: stale})
	}
	_, err := target(0, known)
	g.Expect(err).To(MatchError(ErrAnswered))
}

func TestAnnounceErrors(t *testing.T) {
	g := NewWithT(t)
	segment, e := netns.NewSegment(t), netns.New(t)
	segment.Attach(t, e, "net1", "", own+"/24")
	e.Do(t, func() {
		g.Expect(announce("net1", []netip.Addr{netip.MustParseAddr(nextHop)}, 0)).To(MatchError(ContainSubstring("announcing " + nextHop)))
		g.Expect(announce("net2", []netip.Addr{netip.MustParseAddr(nextHop)}, 0)).To(MatchError(ContainSubstring("net2")))
		g.Expect(Degraded("/", "net2", netip.MustParseAddr(nextHop))).To(MatchError(ContainSubstring("net2")))
	})
}

// TestHeartbeatsComeFromThePeerOnly: the kernel drops messages from another address or port, or through a router.
func TestHeartbeatsComeFromThePeerOnly(t *testing.T) {
	g := NewWithT(t)
	segment, e, vm := netns.NewSegment(t), netns.New(t), netns.New(t)
	segment.Attach(t, e, "net1", "", own+"/24")
	segment.Attach(t, vm, "eth0", "", "192.168.100.10/24", "192.168.100.5/24")
	events := make(chan Event, 10)
	e.Do(t, func() {
		c, err := connect(t.Context(), "net1", netip.MustParseAddr(own), netip.MustParseAddr("192.168.100.5"))
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = c.Close() })
		go receive(c, events)
	})
	at := func(a string) string { return netip.AddrPortFrom(netip.MustParseAddr(a), wire.HeartbeatPort).String() }
	send := func(from string, ttl int, what string) {
		vm.Do(t, func() {
			a := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(from))
			d := net.Dialer{LocalAddr: a}
			c, err := d.Dial("udp4", at(own))
			g.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = c.Close() }()
			g.Expect(ipv4.NewConn(c).SetTTL(ttl)).To(Succeed())
			_, err = c.Write(Message{Phase: Serving, Instance: what, Number: 1}.bytes())
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
	send(at("192.168.100.10"), 255, "another address")
	send("192.168.100.5:1024", 255, "another port")
	send(at("192.168.100.5"), 254, "through a router")
	send(at("192.168.100.5"), 255, "the peer")
	var heard Event
	g.Eventually(events, "1m").Should(Receive(&heard))
	g.Expect(heard.Message.Instance).To(Equal("the peer"))
	g.Consistently(events, "200ms").ShouldNot(Receive())
}
