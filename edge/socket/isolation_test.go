package socket_test

import (
	"net"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/test/netns"
	_ "github.com/cldmnky/oooi/test/patience"
)

// TestSocketsAreBoundToTheirDevice: a VM that routes through the edge cannot reach
// listeners on the pod network, though they are on the same host.
func TestSocketsAreBoundToTheirDevice(t *testing.T) {
	g := NewWithT(t)
	vlan, pods := netns.NewSegment(t), netns.NewSegment(t)
	e, vm, pod := netns.New(t), netns.New(t), netns.New(t)
	vlan.Attach(t, e, "net1", "", "192.0.2.1/24")
	pods.Attach(t, e, "eth0", "", "10.128.0.2/24")
	vlan.Attach(t, vm, "net1", "", "192.0.2.9/24")
	pods.Attach(t, pod, "eth0", "", "10.128.0.9/24")
	vm.Route(t, "0.0.0.0/0", "192.0.2.1")
	e.Sysctl(t, "net/ipv4/conf/net1/forwarding", "0")
	for _, device := range []string{"eth0", ""} {
		var l net.Listener
		var err error
		e.Do(t, func() { l, err = socket.Listen(t.Context(), device, netip.MustParseAddrPort("10.128.0.2:80")) })
		g.Expect(err).NotTo(HaveOccurred())
		dial := func(from *netns.Namespace) (err error) {
			from.Do(t, func() {
				var c net.Conn
				if c, err = socket.Dialer("").DialContext(t.Context(), "tcp", "10.128.0.2:80"); err == nil {
					_ = c.Close()
				}
			})
			return err
		}
		g.Expect(dial(pod)).To(Succeed())
		if device == "" {
			g.Expect(dial(vm)).To(Succeed(), "the weak host model, which makes the binding necessary")
		} else {
			g.Expect(dial(vm)).NotTo(Succeed())
		}
		g.Expect(l.Close()).To(Succeed())
	}
	vm.Do(t, func() {
		_, err := socket.Dialer("no-such-device").DialContext(t.Context(), "tcp", "192.0.2.1:80")
		g.Expect(err).To(MatchError(ContainSubstring("bind socket to no-such-device")))
	})
}

// TestSharedAddresses: sockets that were opened together share one port and all receive broadcasts. No other
// process of the pod gets a share later.
func TestSharedAddresses(t *testing.T) {
	g := NewWithT(t)
	segment := netns.NewSegment(t)
	e, vm := netns.New(t), netns.New(t)
	segment.Attach(t, e, "net1", "", "192.0.2.1/24")
	segment.Attach(t, vm, "net1", "", "192.0.2.9/24")
	own, all := netip.MustParseAddrPort("192.0.2.1:67"), netip.MustParseAddrPort("0.0.0.0:67")
	e.Do(t, func() {
		conns, err := socket.ListenPackets(t.Context(), "net1", own, all, all)
		g.Expect(err).NotTo(HaveOccurred())
		for _, at := range []netip.AddrPort{own, all} {
			_, err = socket.ListenPackets(t.Context(), "net1", at)
			g.Expect(err).To(MatchError(ContainSubstring("address already in use")), "%s", at)
		}
		var sender *net.UDPConn
		vm.Do(t, func() { sender, err = socket.ListenPacket(t.Context(), "net1", netip.MustParseAddrPort("0.0.0.0:68")) })
		g.Expect(err).NotTo(HaveOccurred())
		for _, to := range []string{"255.255.255.255:67", "192.0.2.1:67"} {
			_, err = sender.WriteToUDPAddrPort([]byte(to), netip.MustParseAddrPort(to))
			g.Expect(err).NotTo(HaveOccurred())
		}
		for i, want := range []string{"192.0.2.1:67", "255.255.255.255:67", "255.255.255.255:67"} {
			b := make([]byte, 100)
			n, err := conns[i].Read(b)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(b[:n])).To(Equal(want))
			g.Expect(conns[i].Close()).To(Succeed())
		}
	})
}
