package device_test

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/test/netns"
	_ "github.com/cldmnky/oooi/test/patience"
)

// TestClients: connections of both directions, and the MACs of hosts that are there.
func TestClients(t *testing.T) {
	g := NewWithT(t)
	vlan := netns.NewSegment(t)
	e, vm := netns.New(t), netns.New(t)
	vlan.Attach(t, e, "net1", "", "192.0.2.1/24")
	vlan.Attach(t, vm, "eth0", "", "192.0.2.9/24")
	var clients *device.Clients
	var l net.Listener
	var c net.Conn
	var err error
	e.Do(t, func() {
		if clients, err = device.OpenClients("net1"); err == nil {
			l, err = net.Listen("tcp4", "192.0.2.1:6443")
		}
	})
	g.Expect(err).NotTo(HaveOccurred())
	defer clients.Close()
	defer func() { _ = l.Close() }()
	vm.Do(t, func() { c, err = net.DialTimeout("tcp4", "192.0.2.1:6443", time.Minute) })
	g.Expect(err).NotTo(HaveOccurred())
	all := func() (out [][2]netip.AddrPort) {
		g.Expect(clients.Each(func(local, remote netip.AddrPort) { out = append(out, [2]netip.AddrPort{local, remote}) })).To(Succeed())
		return out
	}
	// The client is connected before its last packet has arrived.
	g.Eventually(all).Should(Equal([][2]netip.AddrPort{{netip.MustParseAddrPort("192.0.2.1:6443"), netip.MustParseAddrPort(c.LocalAddr().String())}}))
	g.Expect(clients.Sockets()).To(Equal(2), "one listens, and one is not accepted yet")
	g.Expect(clients.MACOf(netip.MustParseAddr("192.0.2.9"))).To(Equal(vm.MAC(t, "eth0")))
	g.Expect(clients.MACOf(netip.MustParseAddr("192.0.2.10"))).To(BeEmpty())
	accepted, err := l.Accept()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(accepted.(*net.TCPConn).CloseWrite()).To(Succeed())
	g.Expect(c.Read(make([]byte, 1))).Error().To(Equal(io.EOF))
	g.Consistently(all, "200ms").Should(HaveLen(1), "the peer may still send")
	g.Expect(accepted.Close()).To(Succeed())
	g.Expect(c.Close()).To(Succeed())
	g.Eventually(all, "1m").Should(BeEmpty())
	g.Eventually(clients.Sockets, "1m").Should(Equal(1))
}
