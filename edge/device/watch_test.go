package device

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/hostile"
	"github.com/cldmnky/oooi/test/netns"
)

// follow watches an interface without polling: what is seen was pushed.
func follow(t *testing.T, edge *netns.Namespace, name string) *Watcher {
	t.Helper()
	var w *Watcher
	var err error
	edge.Do(t, func() { w, err = watch(t.Context(), name, time.Hour) })
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return w
}

// watched is a namespace with net1 on a segment, and its snapshot.
func watched(t *testing.T, addresses ...string) (*netns.Segment, *netns.Namespace, *Watcher) {
	t.Helper()
	segment, edge := netns.NewSegment(t), netns.New(t)
	segment.Attach(t, edge, "net1", "", addresses...)
	edge.Sysctl(t, "net/ipv4/conf/net1/forwarding", "0")
	return segment, edge, follow(t, edge, "net1")
}

// pushed waits for a change that the kernel reported, until the snapshot is as wanted.
func pushed(t *testing.T, w *Watcher, change func(), wanted func(Snapshot) bool) {
	t.Helper()
	began := time.Now()
	change()
	NewWithT(t).Eventually(func() bool {
		s, err := w.Current()
		return err == nil && wanted(s)
	}, "1m", "5ms").Should(BeTrue())
	t.Logf("seen after %s", time.Since(began).Round(time.Millisecond))
}

// TestForwardingIsPushed: an edge must stop serving as soon as the kernel would
// forward packets, whichever setting was changed.
func TestForwardingIsPushed(t *testing.T) {
	for name, setting := range map[string]string{"of the interface": "net/ipv4/conf/net1/forwarding", "of all": "net/ipv4/conf/all/forwarding", "ip_forward": "net/ipv4/ip_forward"} {
		t.Run(name, func(t *testing.T) {
			_, edge, w := watched(t, "192.168.100.4/24")
			s, err := w.Current()
			g := NewWithT(t)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(s.Isolates()).To(Succeed())
			edge.Sysctl(t, setting, "0")
			pushed(t, w, func() { edge.Sysctl(t, setting, "1") }, func(s Snapshot) bool { return len(s.Forwarding) > 0 })
			s, _ = w.Current()
			g.Expect(s.Isolates()).To(MatchError(ContainSubstring("net.ipv4.conf.net1.forwarding=0")))
			pushed(t, w, func() { edge.Sysctl(t, setting, "0") }, func(s Snapshot) bool { return len(s.Forwarding) == 0 })
		})
	}
}

// TestEveryRouterIsSeen: the kernel forwards packets from and to the interface, of both
// families, by settings that the interface does not have itself.
func TestEveryRouterIsSeen(t *testing.T) {
	segment, edge, w := watched(t, "192.168.100.4/24")
	netns.NewSegment(t).Attach(t, edge, "eth0", "", "10.128.0.2/24")
	netns.NewSegment(t).Attach(t, edge, "down0", "")
	edge.Run(t, "ip", "link", "set", "down0", "down")
	for device, value := range map[string]string{"eth0": "0", "down0": "1"} {
		edge.Sysctl(t, "net/ipv4/conf/"+device+"/forwarding", value)
	}
	pushed(t, w, func() {}, func(s Snapshot) bool { return s.Isolates() == nil })
	for setting, named := range map[string]string{
		"net/ipv4/conf/eth0/forwarding": "net.ipv4.conf.eth0.forwarding=0",
		"net/ipv6/conf/all/forwarding":  "net.ipv6.conf.all.forwarding=0",
	} {
		pushed(t, w, func() { edge.Sysctl(t, setting, "1") }, func(s Snapshot) bool {
			err := s.Isolates()
			return err != nil && strings.HasSuffix(err.Error(), "set "+named)
		})
		pushed(t, w, func() { edge.Sysctl(t, setting, "0") }, func(s Snapshot) bool { return s.Isolates() == nil })
	}
	edge.Sysctl(t, "net/ipv6/conf/all/forwarding", "1")
	pushed(t, w, func() { edge.Sysctl(t, "net/ipv6/conf/net1/disable_ipv6", "1"); segment.Pull(t, edge, "net1") },
		func(s Snapshot) bool { return s.Isolates() == nil })
}

// TestRouterAdvertisement: one of a VM gives the kernel a route through that VM. It is seen, and
// ends no service.
func TestRouterAdvertisement(t *testing.T) {
	g := NewWithT(t)
	segment, _, w := watched(t, "192.168.100.4/24")
	s, _ := w.Current()
	g.Expect(s.Isolates()).To(Succeed(), "link-local addresses are no routes")
	pushed(t, w, advertise(t, segment), func(s Snapshot) bool { return len(s.IPv6Routes) > 0 })
	s, _ = w.Current()
	g.Expect(s.Isolates()).To(Succeed())
}

// TestRouterAdvertisementBelow: the device below the interface hears multicast, too. With CRI-O, nothing
// refuses advertisements there. The route is through the network, and the address is of the network.
func TestRouterAdvertisementBelow(t *testing.T) {
	g := NewWithT(t)
	segment, edge := netns.NewSegment(t), netns.New(t)
	edge.Sysctl(t, "net/ipv4/conf/all/forwarding", "0")
	edge.Sysctl(t, "net/ipv4/conf/default/forwarding", "0")
	segment.Attach(t, edge, wire.LinkDevice, "")
	edge.Run(t, "ip", "link", "add", "link", wire.LinkDevice, "name", wire.Device, "type", "macvlan", "mode", "passthru")
	edge.Sysctl(t, "net/ipv6/conf/"+wire.Device+"/accept_ra", "0")
	edge.Run(t, "ip", "link", "set", wire.Device, "up")
	edge.Address(t, wire.Device, "192.168.100.4/24")
	w := follow(t, edge, wire.Device)
	pushed(t, w, advertise(t, segment), func(Snapshot) bool {
		return strings.Contains(edge.Run(t, "ip", "-6", "address", "show", "dev", wire.LinkDevice, "scope", "global"), "2001:db8::")
	})
	pushed(t, w, func() {}, func(s Snapshot) bool { return len(s.IPv6Routes) > 0 })
	s, _ := w.Current()
	g.Expect(s.VerifiesIPv6Sources).To(BeTrue(), "the pod network has no IPv6")
	netns.NewSegment(t).Attach(t, edge, "eth0", "", "10.128.0.2/24")
	pushed(t, w, func() { edge.Run(t, "ip", "address", "add", "fd00:1::2/64", "dev", "eth0", "nodad") },
		func(s Snapshot) bool { return !s.VerifiesIPv6Sources })
}

// TestIPv6BelowTheInterface: packets arrive there, although the interface itself takes no IPv6.
func TestIPv6BelowTheInterface(t *testing.T) {
	segment, edge, w := watched(t, "192.168.100.4/24")
	edge.Sysctl(t, "net/ipv6/conf/net1/disable_ipv6", "1")
	netns.NewSegment(t).Attach(t, edge, "eth0", "", "10.128.0.2/24")
	edge.Run(t, "ip", "address", "add", "fd00:1::2/64", "dev", "eth0", "nodad")
	pushed(t, w, func() {}, func(s Snapshot) bool { return s.VerifiesIPv6Sources })
	pushed(t, w, func() { segment.Attach(t, edge, wire.LinkDevice, "") }, func(s Snapshot) bool { return !s.VerifiesIPv6Sources })
}

// advertise returns what sends the router advertisement of a VM on the segment.
func advertise(t *testing.T, segment *netns.Segment) func() {
	t.Helper()
	g, vm := NewWithT(t), netns.New(t)
	segment.Attach(t, vm, "eth0", "", "192.168.100.9/24")
	var port *hostile.Port
	vm.Do(t, func() {
		var err error
		port, err = hostile.Open("eth0")
		g.Expect(err).NotTo(HaveOccurred())
	})
	t.Cleanup(port.Close)
	advertisement := hostile.Advertisement(netip.MustParseAddr("fe80::1"), port.MAC(), netip.MustParsePrefix("2001:db8::/64"))
	return func() {
		g.Expect(port.Send(port.MAC(), net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1}, hostile.IPv6, advertisement)).To(Succeed())
	}
}

// TestIPv6SourcesAreNeverVerified: they matter where packets can leave through another interface.
func TestIPv6SourcesAreNeverVerified(t *testing.T) {
	g := NewWithT(t)
	segment, edge, w := watched(t, "192.168.100.4/24")
	netns.NewSegment(t).Attach(t, edge, "eth0", "", "10.128.0.2/24")
	s, _ := w.Current()
	g.Expect(s.VerifiesIPv6Sources).To(BeTrue(), "link-local addresses lead nowhere")
	pushed(t, w, func() { edge.Run(t, "ip", "address", "add", "fd00:1::2/64", "dev", "eth0", "nodad") },
		func(s Snapshot) bool { return !s.VerifiesIPv6Sources })
	pushed(t, w, func() { edge.Sysctl(t, "net/ipv6/conf/net1/disable_ipv6", "1"); segment.Pull(t, edge, "net1") },
		func(s Snapshot) bool { return s.VerifiesIPv6Sources })
}

// TestSourcesThatAreVerified: only strict rp_filter verifies them, and "all" may be larger.
func TestSourcesThatAreVerified(t *testing.T) {
	_, edge, w := watched(t, "192.168.100.4/24")
	for _, x := range []struct {
		all, own string
		verifies bool
	}{{"0", "1", true}, {"0", "0", false}, {"1", "0", true}, {"2", "1", false}, {"1", "1", true}, {"0", "2", false}} {
		pushed(t, w, func() {
			edge.Sysctl(t, "net/ipv4/conf/all/rp_filter", x.all)
			edge.Sysctl(t, "net/ipv4/conf/net1/rp_filter", x.own)
		}, func(s Snapshot) bool { return s.VerifiesSources == x.verifies })
	}
}

// TestVIPsOnAnotherDevice: the interface has them as its own, but the kernel does not send ARP
// requests from them. Addresses of other interfaces do not count.
func TestVIPsOnAnotherDevice(t *testing.T) {
	g := NewWithT(t)
	_, edge, w := watched(t, "192.168.100.4/24")
	vip := netip.MustParseAddr("192.168.100.3")
	edge.Address(t, "lo", "10.128.2.7/32")
	pushed(t, w, func() {
		edge.Run(t, "ip", "link", "add", wire.VIPDevice, "type", "veth", "peer", "name", "end")
		edge.Address(t, wire.VIPDevice, "192.168.100.3/32")
	}, func(s Snapshot) bool { return s.Has(vip) })
	s, _ := w.Current()
	g.Expect(s.OnVIPDevice(vip)).To(BeTrue())
	g.Expect(s.OnVIPDevice(s.First())).To(BeFalse())
	g.Expect(s.First()).To(Equal(netip.MustParseAddr("192.168.100.4")))
	g.Expect(s.Has(netip.MustParseAddr("10.128.2.7"))).To(BeFalse())
	pushed(t, w, func() { edge.Run(t, "ip", "link", "delete", wire.VIPDevice) }, func(s Snapshot) bool { return !s.Has(vip) })
}

func TestAddressesCarrierAndRoutesArePushed(t *testing.T) {
	segment, edge, w := watched(t, "192.168.100.2/32", "192.168.100.4/24")
	g := NewWithT(t)
	s, err := w.Current()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Carrier).To(BeTrue())
	g.Expect(s.Addresses).To(Equal([]netip.Prefix{netip.MustParsePrefix("192.168.100.2/32"), netip.MustParsePrefix("192.168.100.4/24")}), "in the order that they were given")
	g.Expect(s.First()).To(Equal(netip.MustParseAddr("192.168.100.2")))
	service := netip.MustParseAddr("192.168.100.3")
	pushed(t, w, func() { edge.Address(t, "net1", "192.168.100.3/32") }, func(s Snapshot) bool { return s.Has(service) })
	pushed(t, w, func() { edge.Run(t, "ip", "address", "delete", "192.168.100.3/32", "dev", "net1") }, func(s Snapshot) bool { return !s.Has(service) })
	pushed(t, w, func() { edge.Route(t, "10.96.0.0/12", "192.168.100.1") }, func(s Snapshot) bool {
		r, ok := s.RouteTo(netip.MustParseAddr("10.96.0.1"))
		return ok && r == Route{Device: "net1", To: netip.MustParsePrefix("10.96.0.0/12")}
	})
	pushed(t, w, func() { segment.Pull(t, edge, "net1") }, func(s Snapshot) bool { return !s.Carrier })
	pushed(t, w, func() { segment.Plug(t, edge, "net1") }, func(s Snapshot) bool { return s.Carrier })
}

// TestAnInterfaceThatIsReplaced: its settings are those of the new one.
func TestAnInterfaceThatIsReplaced(t *testing.T) {
	_, edge, w := watched(t, "192.168.100.4/24")
	edge.Run(t, "ip", "link", "delete", "net1")
	NewWithT(t).Eventually(func() error { _, err := w.Current(); return err }, "1m", "5ms").Should(MatchError("interface net1: no such network interface"))
	pushed(t, w, func() {
		edge.Sysctl(t, "net/ipv4/conf/default/forwarding", "1")
		netns.NewSegment(t).Attach(t, edge, "net1", "", "192.168.100.5/24")
	}, func(s Snapshot) bool {
		return s.Has(netip.MustParseAddr("192.168.100.5")) && s.Carrier && len(s.Forwarding) > 0
	})
}

// TestAReportThatIsLost: the snapshot is read every pollInterval, too.
func TestAReportThatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := &Watcher{}
		changed, began := w.Changed(), time.Now()
		go w.follow(ctx, pollInterval, func() (Snapshot, error) {
			return Snapshot{Name: "net1", Forwarding: []string{"net.ipv4.conf.net1.forwarding"}}, nil
		}, nil)
		<-changed
		g.Expect(time.Since(began)).To(Equal(pollInterval))
		s, err := w.Current()
		g.Expect(errors.Join(err, s.Isolates())).To(HaveOccurred())
	})
}

// TestARecreatedInterface is another one, whatever its addresses are.
func TestARecreatedInterface(t *testing.T) {
	g := NewWithT(t)
	edge := netns.New(t)
	read := func() (s Snapshot) {
		var err error
		edge.Do(t, func() { s, err = Read("net1") })
		g.Expect(err).NotTo(HaveOccurred())
		return s
	}
	create := func() {
		edge.Run(t, "ip", "link", "add", "net1", "type", "veth", "peer", "name", "other")
		edge.Run(t, "ip", "address", "add", "192.168.100.4/24", "dev", "net1")
	}
	create()
	before := read()
	g.Expect(read().Equal(before)).To(BeTrue())
	edge.Run(t, "ip", "link", "delete", "net1")
	create()
	g.Expect(read().Addresses).To(Equal(before.Addresses))
	g.Expect(read().Equal(before)).To(BeFalse())
}

func TestRouteTo(t *testing.T) {
	to := func(device, prefix string, metric int) Route {
		return Route{Device: device, To: netip.MustParsePrefix(prefix), Metric: metric}
	}
	s := Snapshot{Routes: []Route{to("eth0", "0.0.0.0/0", 100), to("net1", "0.0.0.0/0", 200), to("net1", "10.96.0.0/12", 5), to("eth0", "10.96.0.0/12", 1)}}
	for a, want := range map[string]Route{"192.0.2.1": s.Routes[0], "10.96.0.1": s.Routes[3]} {
		r, ok := s.RouteTo(netip.MustParseAddr(a))
		NewWithT(t).Expect(ok).To(BeTrue())
		NewWithT(t).Expect(r).To(Equal(want), a)
	}
	_, ok := Snapshot{}.RouteTo(netip.MustParseAddr("192.0.2.1"))
	NewWithT(t).Expect(ok).To(BeFalse())
}
