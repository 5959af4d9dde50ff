package dhcp_test

import (
	"net/netip"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/test/netns"
)

// TestUdhcpc: BusyBox's client gets an address and the routes. It keeps the address when
// it renews or restarts. Its RELEASE changes nothing.
func TestUdhcpc(t *testing.T) {
	t.Parallel()
	netns.Require(t, "udhcpc")
	w := NewWithT(t)
	s := serve(t, blue())
	one := s.guest(mac1)
	stop := one.start("udhcpc", one.udhcpc()...)
	w.Eventually(one.address).ShouldNot(BeEmpty())
	first := one.address()
	one.gets(first)
	w.Expect(one.got("bound")).To(And(
		HaveKeyWithValue("subnet", "255.255.255.0"),
		HaveKeyWithValue("dns", "192.168.100.3"),
		HaveKeyWithValue("hostname", "blue-worker-1"),
		HaveKeyWithValue("domain", "blue.example.com"),
		HaveKeyWithValue("search", "blue.example.com"),
		HaveKeyWithValue("mtu", "1400"),
		HaveKeyWithValue("ntpsrv", "192.0.2.123"),
		HaveKeyWithValue("lease", "600"),
		HaveKeyWithValue("staticroutes", "192.168.100.3/32 192.168.100.2 10.240.0.200/32 192.168.100.2 0.0.0.0/0 192.168.100.2"),
	))
	lease, _ := s.memory.At(netip.MustParseAddr(first))
	w.Expect(lease.MAC).To(Equal(mac1))

	stop(syscall.SIGUSR1)
	w.Eventually(func() map[string]string { return one.got("renew") }).Should(HaveKeyWithValue("ip", first))
	after, _ := s.memory.At(netip.MustParseAddr(first))
	w.Expect(after).To(Equal(lease), "a renewal within the slack writes nothing")
	stop(syscall.SIGTERM)

	// A VM that boots again without a memory; its client asks for nothing.
	two := s.guest(mac2)
	w.Expect(two.run("udhcpc", two.udhcpc("-n", "-q", "-t", "1", "-T", "60")...)).To(Succeed())
	w.Expect(two.address()).NotTo(Equal(first))
	again := s.guest(mac1)
	stop = again.start("udhcpc", again.udhcpc("-R")...)
	w.Eventually(again.address).Should(Equal(first))
	again.gets(first)
	stop(syscall.SIGTERM)
	w.Eventually(func() int { return s.said(release, reply.ReleaseIgnored) }).Should(Equal(1))
	held, _ := s.memory.At(netip.MustParseAddr(first))
	w.Expect(held.MAC).To(Equal(mac1), "a RELEASE ends no lease")
}

// TestDhclient: ISC's client boots, and boots again with its lease file (INIT-REBOOT). It
// gets a DHCPNAK for a wrong address. Its RELEASE changes nothing.
func TestDhclient(t *testing.T) {
	t.Parallel()
	netns.Require(t, "dhclient")
	w := NewWithT(t)
	s := serve(t, blue())
	one := s.guest(mac1)
	stop := one.start("dhclient", one.dhclient("-d")...)
	w.Eventually(func() map[string]string { return one.got("BOUND") }).Should(And(
		HaveKeyWithValue("new_dhcp_server_identifier", "192.168.100.3"),
		HaveKeyWithValue("new_host_name", "blue-worker-1"),
		HaveKeyWithValue("new_domain_search", "blue.example.com."),
		HaveKeyWithValue("new_interface_mtu", "1400"),
		HaveKeyWithValue("new_broadcast_address", "192.168.100.255"),
	))
	first := one.got("BOUND")["new_ip_address"]
	one.gets(first)
	lease, _ := s.memory.At(netip.MustParseAddr(first))
	w.Expect(lease.MAC).To(Equal(mac1))
	w.Eventually(func() string { return one.read("leases") }).Should(ContainSubstring("fixed-address " + first))
	stop(syscall.SIGKILL)

	again := s.guest(mac1)
	again.write("leases", one.read("leases"), 0o600)
	stop = again.start("dhclient", again.dhclient("-d")...)
	w.Eventually(func() string { return again.got("REBOOT")["new_ip_address"] }).Should(Equal(first))
	again.gets(first)
	stop(syscall.SIGKILL)

	for what, wrong := range map[string]string{"another network": "10.9.8.7", "another's address": "192.168.100.77"} {
		moved := s.guest(mac1)
		moved.write("leases", strings.ReplaceAll(one.read("leases"), "fixed-address "+first, "fixed-address "+wrong), 0o600)
		stop = moved.start("dhclient", moved.dhclient("-d")...)
		w.Eventually(func() string { return moved.got("BOUND")["new_ip_address"] }).Should(Equal(first), what)
		w.Expect(moved.got("REBOOT")).To(BeEmpty(), what)
		stop(syscall.SIGKILL)
	}

	last := s.guest(mac1)
	last.start("dhclient", last.dhclient("-d")...)
	w.Eventually(last.address).Should(Equal(first))
	last.gets(first)
	w.Expect(last.run("dhclient", last.dhclient("-r")...)).To(Succeed())
	w.Eventually(func() int { return s.said(release, reply.ReleaseIgnored) }).Should(Equal(1))
	held, _ := s.memory.At(netip.MustParseAddr(first))
	w.Expect(held.MAC).To(Equal(mac1), "a RELEASE ends no lease")
}
