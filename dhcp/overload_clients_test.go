package dhcp_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
)

// TestOverloadOfClients: BusyBox's and ISC's clients read options in the fields file and
// sname, and search lists with pointers, in replies of 576 bytes.
func TestOverloadOfClients(t *testing.T) {
	t.Parallel()
	netns.Require(t, "udhcpc", "dhclient")
	n := blue()
	for i := range byte(26) {
		n.DHCP.Routes = append([]network.Route{{Destination: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, 0, i}), 32), Via: n.NextHopVIP}}, n.DHCP.Routes...)
	}
	n.DHCP.SearchDomains = []string{"blue.example.com", "apps.blue.example.com", "red.example.com", "a-rather-long-name-for-a-domain.example.com"}
	s := serve(t, n)

	w := NewWithT(t)
	one := s.guest(mac1)
	w.Expect(one.run("udhcpc", one.udhcpc("-n", "-q", "-t", "1", "-T", "60", "-O", "28")...)).To(Succeed())
	w.Expect(one.got("bound")).To(And(
		HaveKeyWithValue("search", "blue.example.com apps.blue.example.com red.example.com a-rather-long-name-for-a-domain.example.com"),
		HaveKeyWithValue("hostname", "blue-worker-1"), HaveKeyWithValue("domain", "blue.example.com"),
		HaveKeyWithValue("ntpsrv", "192.0.2.123"), HaveKeyWithValue("mtu", "1400"),
	))
	one.gets(one.address())

	two := s.guest(mac1)
	two.start("dhclient", two.dhclient("-d")...)
	w.Eventually(func() map[string]string { return two.got("BOUND") }).Should(And(
		HaveKeyWithValue("new_domain_search", "blue.example.com. apps.blue.example.com. red.example.com. a-rather-long-name-for-a-domain.example.com."),
		HaveKeyWithValue("new_host_name", "blue-worker-1"), HaveKeyWithValue("new_ntp_servers", "192.0.2.123"),
		HaveKeyWithValue("new_interface_mtu", "1400"),
	))
	two.gets(one.address())
}
