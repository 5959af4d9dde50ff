package main

import (
	"net"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
)

// TestDHCPFollowsItsAddress: the plan moves the service VIP while the server runs. A VM then renews its lease at the
// new address, and the reply comes from there.
func TestDHCPFollowsItsAddress(t *testing.T) {
	netns.Require(t)
	t.Parallel()
	g := NewWithT(t)
	segment, e, vm := netns.NewSegment(t), netns.New(t), netns.New(t)
	segment.Attach(t, e, "net1", "", blueOne+"/24", blueNextHop+"/32", blueService+"/32", "192.168.100.7/32")
	segment.Attach(t, vm, "eth0", "02:00:00:00:00:01", "192.168.100.50/24")
	plan, dir := filepath.Join(t.TempDir(), "plan.json"), t.TempDir()
	writePlan(t, plan, 1)
	start(t, e, "dhcp", "--plan", plan, "--run-dir", dir)
	g.Eventually(func() error { return health.Serves(t.Context(), wire.Socket(dir, "dhcp")) }).Should(Succeed())
	var conn *net.UDPConn
	var err error
	vm.Do(t, func() { conn, err = socket.ListenPacket(t.Context(), "eth0", netip.MustParseAddrPort("0.0.0.0:68")) })
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = conn.Close() })
	// renews returns where the reply to a renewal at a server comes from.
	renews := func(server string) string {
		m, err := dhcpv4.New(dhcpv4.WithHwAddr(net.HardwareAddr{2, 0, 0, 0, 0, 1}), dhcpv4.WithMessageType(dhcpv4.MessageTypeRequest),
			dhcpv4.WithClientIP(net.IPv4(192, 168, 100, 50)))
		g.Expect(err).NotTo(HaveOccurred())
		_, _ = conn.WriteToUDPAddrPort(m.ToBytes(), netip.AddrPortFrom(netip.MustParseAddr(server), 67))
		_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond)) // It asks again.
		_, from, _ := conn.ReadFromUDPAddrPort(make([]byte, 2048))
		return from.Addr().String()
	}
	g.Eventually(func() string { return renews(blueService) }).Should(Equal(blueService))
	changePlan(t, plan, func(n *network.Network) {
		n.ServiceVIP, n.DHCP.ServerID = netip.MustParseAddr("192.168.100.7"), netip.MustParseAddr("192.168.100.7")
	})
	g.Eventually(func() string { return renews("192.168.100.7") }).Should(Equal("192.168.100.7"))
}

// TestDHCPStandAlone runs the command on a file, without a cluster. It is not ready
// without its address. Then a real client gets an address.
func TestDHCPStandAlone(t *testing.T) {
	netns.Require(t, "udhcpc")
	g := NewWithT(t)
	v := vlan{edge: netns.New(t), machine: netns.New(t)}
	segment := netns.NewSegment(t)
	segment.Attach(t, v.edge, "net1", "", "192.168.100.4/24", "192.168.100.2/32")
	segment.Attach(t, v.machine, "eth0", "02:00:00:00:00:01")
	plan := filepath.Join("..", "..", "test", "scenarios", "lb-ip", "plan.json")
	dir := t.TempDir()
	probe := func() string {
		out, _ := command(t, v.edge, "probe", "dhcp", "--run-dir", dir).CombinedOutput()
		return string(out)
	}
	start(t, v.edge, "dhcp", "--plan", plan, "--run-dir", dir)
	g.Eventually(probe).Should(ContainSubstring("waiting for 192.168.100.3 on interface net1"))
	v.edge.Address(t, "net1", "192.168.100.3/32")
	g.Eventually(probe).Should(BeEmpty())
	out := v.machine.Run(t, "udhcpc", "-f", "-n", "-q", "-t", "60", "-T", "1", "-i", "eth0", "-s", "/bin/true")
	g.Expect(out).To(MatchRegexp(`lease of \S+ obtained from 192\.168\.100\.3,`))
}
