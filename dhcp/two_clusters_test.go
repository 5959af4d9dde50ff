package dhcp_test

import (
	"net/netip"
	"syscall"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
)

// otherNetwork returns the network of another hosted cluster on the same VLAN.
func otherNetwork() network.Network {
	n := blue()
	n.NextHopVIP, n.ServiceVIP = at("130"), at("131")
	n.Edges, n.ReservedAddresses = []network.Edge{{Number: 1, Address: at("132")}}, []netip.Addr{at("133")}
	n.DHCP.ServerID, n.DHCP.Router, n.DHCP.DNSServers = n.ServiceVIP, n.NextHopVIP, []netip.Addr{n.ServiceVIP}
	n.DHCP.Routes = []network.Route{{Destination: netip.MustParsePrefix("0.0.0.0/0"), Via: n.NextHopVIP}}
	n.DHCP.Range = network.Range{First: at("140"), Last: at("253")}
	n.DHCP.IgnoreUnknownClients = true
	return n
}

// TestTwoClustersOnOneVLAN: each VM is answered by its own cluster's server only.
func TestTwoClustersOnOneVLAN(t *testing.T) {
	t.Parallel()
	netns.Require(t, "dhclient", "udhcpc")
	w := NewWithT(t)
	const neighbour, another = "192.168.100.131", "02:00:00:00:00:88"
	first, second := blue(), otherNetwork()
	first.DHCP.Range, first.DHCP.IgnoreUnknownClients = network.Range{First: at("10"), Last: at("120")}, true
	s := serveFrom(t, first, &leases.Memory{})
	serveOn(t, s.segment, second, &leases.Memory{}, func(s *dhcp.Server) { s.VMs = vms{mac2: "green-worker-1", another: "green-worker-2"} })
	given := map[string]string{}
	for mac, server := range map[string]string{mac1: us, mac2: neighbour} {
		m := s.guest(mac)
		stop := m.start("dhclient", m.dhclient("-d")...)
		w.Eventually(func() map[string]string { return m.got("BOUND") }).Should(HaveKeyWithValue("new_dhcp_server_identifier", server))
		given[mac] = m.got("BOUND")["new_ip_address"]
		stop(syscall.SIGKILL)
	}
	w.Expect(first.DHCP.Range.Contains(netip.MustParseAddr(given[mac1]))).To(BeTrue())
	w.Expect(second.DHCP.Range.Contains(netip.MustParseAddr(given[mac2]))).To(BeTrue())
	// One that remembers what the other cluster's had, as after it was moved.
	moved := s.guest(mac2)
	w.Expect(moved.run("udhcpc", moved.udhcpc("-n", "-q", "-t", "1", "-T", "60", "-r", given[mac1])...)).To(Succeed())
	w.Expect(moved.address()).To(Equal(given[mac2]))

	station := s.station("192.168.100.200/24")
	const stranger = "02:00:00:00:00:99"
	for _, c := range []struct {
		what    string
		message *dhcpv4.DHCPv4
		answer  dhcpv4.MessageType
		from    string
	}{
		{"SELECTING the other's server", message(request, mac2, server(us), asks(given[mac1])), none, ""},
		{"SELECTING the other's server, its own address", message(request, mac2, server(us), asks(given[mac2])), none, ""},
		{"SELECTING its own", message(request, mac2, server(neighbour), asks(given[mac2])), ack, neighbour},
		{"SELECTING its own, the other's address", message(request, mac2, server(neighbour), asks(given[mac1])), nak, neighbour},
		{"INIT-REBOOT", message(request, mac2, asks(given[mac2])), ack, neighbour},
		{"INIT-REBOOT of the first's machine", message(request, mac1, asks(given[mac1])), ack, us},
		{"REBINDING, the other's address", message(request, mac2, has(given[mac1])), nak, neighbour},
		{"INIT-REBOOT, nobody's machine", message(request, stranger, asks(given[mac1])), none, ""},
		{"INIT-REBOOT, nobody's machine, another network", message(request, stranger, asks("10.9.8.7")), none, ""},
		{"REBINDING, nobody's machine", message(request, stranger, has(given[mac2])), none, ""},
		{"DISCOVER, nobody's machine", message(discover, stranger), none, ""},
	} {
		station.send(c.message, everybody)
		// Both have dealt with it when both have answered what comes after.
		station.send(message(discover, mac1), everybody)
		station.send(message(discover, another), everybody)
		var heard []*dhcpv4.DHCPv4
		for offers := 0; offers < 2 || c.answer != none && len(heard) == 0; {
			m, _ := station.hears(patience.Limit)
			w.Expect(m).NotTo(BeNil(), c.what)
			if m.MessageType() == offer {
				offers++
			} else {
				heard = append(heard, m)
			}
		}
		if c.answer == none {
			w.Expect(heard).To(BeEmpty(), c.what)
			continue
		}
		w.Expect(heard).To(HaveLen(1), c.what)
		w.Expect(heard[0].MessageType()).To(Equal(c.answer), c.what)
		w.Expect(heard[0].ServerIdentifier().String()).To(Equal(c.from), c.what)
	}
}
