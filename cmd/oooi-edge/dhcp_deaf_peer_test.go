package main

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
)

// macsOfEdge are n MACs whose broadcasts this edge answers while both edges serve, for clients that
// identify themselves by their MAC.
func macsOfEdge(number, n int) []string {
	two := network.Network{Edges: []network.Edge{{Number: 1}, {Number: 2}}}
	var out []string
	for i := byte(1); len(out) < n; i++ {
		mac := []byte{2, 0, 0, 0, 0x44, i}
		m := &dhcpv4.DHCPv4{ClientHWAddr: mac, Options: dhcpv4.Options{61: append([]byte{1}, mac...), 53: {1}}}
		if reply.Defers(two, 3-number, m, reply.Sent{PeerServes: true}) {
			out = append(out, m.ClientHWAddr.String())
		}
	}
	return out
}

// TestForeignClientsOfADeafPeer: the frames of clients do not reach an edge whose failover agent is
// well, so that the other edge believes that it answers its share. That one answers the second try of
// each client, whether it has a new transaction or not, and then leaves it nothing more.
func TestForeignClientsOfADeafPeer(t *testing.T) {
	netns.Require(t, "nft", "udhcpc", "dhclient")
	t.Parallel()
	segment, plan, one, two := newEdgePods(t)
	var shares []func() int
	changePlan(t, plan, func(n *network.Network) { n.DHCP.LeaseTime = network.DefaultLeaseTime })
	g := NewWithT(t)
	for _, e := range []*edgePod{one, two} {
		e.dhcp.End()
		said := start(t, e.ns, "dhcp", "--plan", plan, "--edge", e.number, "--run-dir", e.dir)
		e.start()
		defer func() { g.Expect(said.Count("peer serves")).To(Equal(1), "edge %s believes so to the end", e.number) }()
		shares = append(shares, func() int { return said.Count("peer serves, sharing broadcasts") })
	}
	for _, does := range shares {
		g.Eventually(does).Should(Equal(1))
	}
	segment.DropTo(t, one.ns, "net1", "udp dport 67")
	count := func(kind, outcome string) int {
		found := regexp.MustCompile(fmt.Sprintf(`outcome=%q,type=%q\} (\d+)`, outcome, kind)).FindStringSubmatch(scraped(t, wire.Socket(two.dir, "dhcp")))
		if found == nil {
			return 0
		}
		n, err := strconv.Atoi(found[1])
		g.Expect(err).NotTo(HaveOccurred())
		return n
	}
	all := append(dhcpClients(),
		dhcpClient{"udhcpc", func(*testing.T, *netns.Namespace, string) []string {
			return []string{"udhcpc", "-f", "-i", "eth0", "-s", "/bin/true"}
		}},
		dhcpClient{"dhclient", func(t *testing.T, _ *netns.Namespace, dir string) []string {
			config := configFile(t, dir, "dhclient.conf", "send dhcp-client-identifier = hardware;", "initial-interval 3;")
			return []string{"dhclient", "-4", "-d", "-cf", config, "-lf", dir + "/leases", "-pf", dir + "/pid", "-sf", "/bin/true", "eth0"}
		}})
	macs := macsOfEdge(1, len(all))
	for i, client := range all {
		t.Run(client.name, func(t *testing.T) {
			g := NewWithT(t)
			vm := netns.New(t)
			segment.Attach(t, vm, "eth0", macs[i])
			args := client.command(t, vm, t.TempDir())
			left, leftRequests, granted, begin := count("DISCOVER", "left-to-peer"), count("REQUEST", "left-to-peer"), count("REQUEST", "granted"), time.Now()
			followProgram(t, vm, args...)
			g.Eventually(func() int { return count("REQUEST", "granted") }).Should(Equal(granted + 1))
			t.Logf("a lease %.1f s after the client was started", time.Since(begin).Seconds())
			g.Expect(count("DISCOVER", "left-to-peer")).To(Equal(left+1), "its second try is answered")
			g.Expect(count("REQUEST", "left-to-peer")).To(Equal(leftRequests), "so is what it asks for then")
		})
	}
}
