package main

import (
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// routerOf runs a router of the VLAN that advertises 2001:db8:100::/64 there, until the test ends. It returns its link-local address.
func routerOf(t *testing.T, segment *netns.Segment) string {
	t.Helper()
	radvd := programs.RequireUnpacked(t, "radvd", "usr/sbin/radvd", "sbin/radvd")
	router := netns.New(t)
	segment.Attach(t, router, "eth0", "")
	router.Run(t, "ip", "address", "add", "2001:db8:100::1/64", "dev", "eth0", "nodad")
	router.Sysctl(t, "net/ipv6/conf/all/forwarding", "1")
	config := configFile(t, t.TempDir(), "radvd.conf", "interface eth0 {", "  AdvSendAdvert on; MinRtrAdvInterval 3; MaxRtrAdvInterval 4;", "  prefix 2001:db8:100::/64 {};", "};")
	followProgram(t, router, inMounts("exec "+radvd+" --nodaemon --logmethod stderr --config "+config)...)
	return linkLocal(t, router, "eth0")
}

// linkLocal returns the link-local address of a device.
func linkLocal(t *testing.T, n *netns.Namespace, device string) (address string) {
	t.Helper()
	NewWithT(t).Eventually(func() string {
		fields := strings.Fields(n.Run(t, "ip", "-6", "-o", "address", "show", "dev", device, "scope", "link", "-tentative"))
		for _, f := range fields {
			if p, err := netip.ParsePrefix(f); err == nil {
				address = p.Addr().String()
			}
		}
		return address
	}).ShouldNot(BeEmpty())
	return address
}

// icmpv6From returns a function that returns the types of ICMPv6 messages that arrived at n from a MAC address until then.
func icmpv6From(t *testing.T, n *netns.Namespace, mac string) func() []byte {
	t.Helper()
	hardware, err := net.ParseMAC(mac)
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	var fd int
	n.Do(t, func() {
		const inNetworkOrder = unix.ETH_P_IPV6>>8 | unix.ETH_P_IPV6&0xff<<8
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, inNetworkOrder)
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = unix.Close(fd) })
	const nextHeader, icmp = 14 + 6, 14 + 40 // Offsets in a frame: Ethernet has 14 bytes, IPv6 has 40 (RFC 8200).
	return func() (types []byte) {
		for frame := make([]byte, 1<<16); ; {
			length, err := unix.Read(fd, frame)
			if err != nil {
				g.Expect(err).To(MatchError(unix.EAGAIN))
				return types
			}
			if length > icmp && slices.Equal(frame[6:12], hardware) && frame[nextHeader] == unix.IPPROTO_ICMPV6 {
				types = append(types, frame[icmp])
			}
		}
	}
}

// TestDualStackNetwork: on a VLAN with an IPv6 router, a VM has the IPv6 address and the route of that router, and the IPv4 address, the routes and the
// names of edges. An edge takes part in neither: it has no IPv6 route, advertises no router, redirects nothing, answers for no neighbor, and no server of it
// answers over IPv6. It is so where the kernel refuses IPv6 on the VLAN, and where it only follows no advertisement, as OpenShift permits.
func TestDualStackNetwork(t *testing.T) {
	for name, setting := range map[string]string{"without IPv6": "disable_ipv6=1", "without advertisements": "accept_ra=0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			v := vlan{edge: netns.New(t), machine: netns.New(t)}
			segment := netns.NewSegment(t)
			key, value, _ := strings.Cut(setting, "=")
			v.edge.Sysctl(t, "net/ipv6/conf/default/"+key, value)
			segment.Attach(t, v.edge, "net1", "", "192.168.100.4/24", "192.168.100.2/32", "192.168.100.3/32")
			segment.Attach(t, v.machine, "eth0", "02:00:00:00:00:01")
			fromEdge := icmpv6From(t, v.machine, v.edge.MAC(t, "net1"))
			router := routerOf(t, segment)

			plan := filepath.Join("..", "..", "test", "scenarios", "lb-ip", "plan.json")
			run := t.TempDir()
			for _, server := range []string{"dhcp", "dns"} {
				start(t, v.edge, server, "--plan", plan, "--run-dir", run)
				g.Eventually(func() error { return command(t, v.edge, "probe", server, "--run-dir", run).Run() }).Should(Succeed())
			}
			followProgram(t, v.machine, dhcpcd(t, v.machine, t.TempDir())...)
			g.Eventually(func() string {
				return v.machine.Run(t, "ip", "-o", "address", "show", "dev", "eth0", "scope", "global")
			}).Should(And(
				MatchRegexp(`inet 192\.168\.100\.\d+/24 `), ContainSubstring("inet6 2001:db8:100::ff:fe00:1/64 ")))
			g.Eventually(func() string { return v.machine.Run(t, "ip", "route") }).Should(ContainSubstring("default via 192.168.100.2 "))
			g.Eventually(func() (err error) {
				v.machine.Do(t, func() { _, err = net.Dial("tcp6", "[2001:db8:100::1]:1") })
				return err
			}).Should(MatchError(syscall.ECONNREFUSED), "the router replies")
			defaults := strings.Split(strings.TrimSpace(v.machine.Run(t, "ip", "-6", "route", "show", "default")), "\n")
			g.Expect(defaults).To(HaveExactElements(ContainSubstring("via " + router + " ")))

			dig := func(args ...string) string {
				return v.machine.Run(t, "dig", append([]string{"@192.168.100.3"}, args...)...)
			}
			const name = "oauth-clusters-blue.apps.mgmt.example.com"
			served := strings.TrimSpace(dig("+short", name))
			g.Expect(served).NotTo(BeEmpty())
			g.Expect(dig(name, "AAAA")).To(And(ContainSubstring("status: NOERROR"), ContainSubstring("ANSWER: 0, AUTHORITY: 1"), MatchRegexp(`\sIN\s+SOA\s`)))

			const unknown = "registry.example.org"
			g.Expect(dig(unknown)).To(ContainSubstring("status: NXDOMAIN"))
			g.Expect(dig(unknown, "AAAA")).To(ContainSubstring("status: NXDOMAIN"), "as for A")

			const routerAdvertisement, neighborAdvertisement, redirect = 134, 136, 137 // RFC 4861
			g.Expect(fromEdge()).NotTo(ContainElement(BeElementOf(byte(routerAdvertisement), byte(neighborAdvertisement), byte(redirect))))
			g.Expect(v.edge.Run(t, "ip", "-6", "route", "show", "dev", "net1", "default")).To(BeEmpty(), "edges follow no router")
			g.Expect(v.edge.Run(t, "ip", "-6", "address", "show", "dev", "net1", "scope", "global")).To(BeEmpty())
			if key == "disable_ipv6" {
				g.Expect(v.edge.Run(t, "ip", "-6", "address", "show", "dev", "net1")).To(BeEmpty())
				return
			}
			out, err := v.machine.Command(t.Context(), "dig", "+tries=1", "+time=60", "@"+linkLocal(t, v.edge, "net1")+"%eth0", name).CombinedOutput()
			g.Expect(err).To(HaveOccurred(), "%s", out)
			g.Expect(string(out)).To(ContainSubstring("connection refused"))
		})
	}
}
