// This file shows that the machine applies what a DHCP server says: address,
// classless routes, resolver, time server, MTU and host name.

package machine

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/server4"
	"github.com/insomniacslk/dhcp/rfc1035label"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/lan"
)

func TestParseLease(t *testing.T) {
	g := NewWithT(t)
	l, err := parseLease("event=bound\nip=192.168.100.10\nmask=24\nrouter=192.168.100.2\nstaticroutes=0.0.0.0/0 192.168.100.2 10.240.0.200/32 192.168.100.2\n" +
		"dns=192.168.100.3\nntpsrv=192.168.100.3 192.168.100.9\ndomain=blue.example.com\nsearch=\nmtu=1400\nhostname=blue-x7k2p\nserverid=192.168.100.3\nlease=3600\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(l).To(Equal(Lease{
		Address: netip.MustParsePrefix("192.168.100.10/24"), Router: netip.MustParseAddr("192.168.100.2"),
		Routes: []Route{{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParseAddr("192.168.100.2")}, {netip.MustParsePrefix("10.240.0.200/32"), netip.MustParseAddr("192.168.100.2")}},
		DNS:    []netip.Addr{netip.MustParseAddr("192.168.100.3")},
		NTP:    []netip.Addr{netip.MustParseAddr("192.168.100.3"), netip.MustParseAddr("192.168.100.9")}, Search: []string{"blue.example.com"},
		MTU: 1400, HostName: "blue-x7k2p", Server: netip.MustParseAddr("192.168.100.3"), Duration: time.Hour,
	}))
	_, err = parseLease("ip=192.168.100.10\nmask=24\n")
	g.Expect(err).To(MatchError(HavePrefix("lease: server")))
}

// plugTestWire gives the machine its card; the other end is srv0 in a namespace of
// its own, whose path is returned.
func plugTestWire(t *testing.T, m *Machine) string {
	t.Helper()
	g := NewWithT(t)
	name := fmt.Sprintf("oooi-t%d-server", os.Getpid())
	g.Expect(lan.NewNetNS(name)).To(Succeed())
	t.Cleanup(func() { _ = removeNetNS(name) })
	g.Expect(lan.Cable(lan.End{NetNS: lan.NetNSPath(name), Interface: "srv0", Addresses: []netip.Prefix{netip.MustParsePrefix("192.168.77.3/24")}},
		lan.End{NetNS: m.NetNS(), Interface: Interface})).To(Succeed())
	return lan.NetNSPath(name)
}

// serveOneLease answers every client with the same lease until the test ends.
func serveOneLease(t *testing.T, path string) {
	t.Helper()
	g := NewWithT(t)
	ip := func(s string) net.IP { return net.ParseIP(s).To4() }
	answer := func(conn net.PacketConn, _ net.Addr, m *dhcpv4.DHCPv4) {
		kind := dhcpv4.MessageTypeOffer
		if m.MessageType() == dhcpv4.MessageTypeRequest {
			kind = dhcpv4.MessageTypeAck
		}
		_, all, _ := net.ParseCIDR("0.0.0.0/0")
		_, published, _ := net.ParseCIDR("10.240.0.200/32")
		reply, err := dhcpv4.NewReplyFromRequest(m, dhcpv4.WithMessageType(kind), dhcpv4.WithYourIP(ip("192.168.77.10")),
			dhcpv4.WithServerIP(ip("192.168.77.3")), dhcpv4.WithOption(dhcpv4.OptServerIdentifier(ip("192.168.77.3"))),
			dhcpv4.WithNetmask(net.CIDRMask(24, 32)), dhcpv4.WithRouter(ip("192.168.77.99")), dhcpv4.WithDNS(ip("192.168.77.3")),
			dhcpv4.WithOption(dhcpv4.OptNTPServers(ip("192.168.77.3"))),
			dhcpv4.WithLeaseTime(3600), dhcpv4.WithOption(dhcpv4.OptHostName("blue-x7k2p")),
			dhcpv4.WithOption(dhcpv4.OptDomainSearch(&rfc1035label.Labels{Labels: []string{"blue.example.com"}})),
			dhcpv4.WithGeneric(dhcpv4.OptionInterfaceMTU, []byte{0x05, 0x78}),
			dhcpv4.WithOption(dhcpv4.OptClasslessStaticRoute(&dhcpv4.Route{Dest: all, Router: ip("192.168.77.2")}, &dhcpv4.Route{Dest: published, Router: ip("192.168.77.2")})))
		if err == nil {
			_, _ = conn.WriteTo(reply.ToBytes(), &net.UDPAddr{IP: net.IPv4bcast, Port: dhcpv4.ClientPort})
		}
	}
	g.Expect(lan.InNetNS(path, func() error {
		server, err := server4.NewServer("srv0", nil, answer)
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = server.Close() })
		go func() { _ = server.Serve() }()
		return nil
	})).To(Succeed())
}

func TestLeaseIsApplied(t *testing.T) {
	g := NewWithT(t)
	m := testMachine(t, "dhcp")
	serveOneLease(t, plugTestWire(t, m))

	lease, err := m.AskDHCP(t.Context(), await.Patience)

	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lease.Address).To(Equal(netip.MustParsePrefix("192.168.77.10/24")))
	g.Expect(lease.HostName).To(Equal("blue-x7k2p"))
	g.Expect(lease.Search).To(Equal([]string{"blue.example.com"}))
	g.Expect(lease.NTP).To(Equal([]netip.Addr{netip.MustParseAddr("192.168.77.3")}))
	out, err := m.Output(t.Context(), "sh", "-c", "hostname; cat /etc/resolv.conf; ip -4 -o addr show dev "+Interface+"; ip -o link show dev "+Interface+"; ip route")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(out)).To(And(
		HavePrefix("blue-x7k2p\nsearch blue.example.com\nnameserver 192.168.77.3\n"),
		ContainSubstring("inet 192.168.77.10/24"), ContainSubstring("mtu 1400"),
		ContainSubstring("default via 192.168.77.2 dev"), ContainSubstring("10.240.0.200 via 192.168.77.2 dev"),
		Not(ContainSubstring("192.168.77.99")), // option 3 is ignored when option 121 is present
	))
}

func TestNoServerIsSaid(t *testing.T) {
	g := NewWithT(t)
	m := testMachine(t, "silence")
	plugTestWire(t, m)
	_, err := m.AskDHCP(t.Context(), 300*time.Millisecond)
	g.Expect(err).To(MatchError("no DHCP server gave a lease in 300ms"))
}
