package main

import (
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp/reply"
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
	changePlan(t, plan, func(n *network.Network) { n.DHCP.LeaseTime = network.DefaultLeaseTime })
	first, second := one.startDHCP(), two.startDHCP()
	one.start()
	two.start()
	first.believes(sharing)
	second.believes(sharing)
	segment.DropTo(t, one.ns, "net1", "udp dport 67")
	all := append(dhcpClients(),
		dhcpClient{"udhcpc", func(*testing.T, *netns.Namespace, string) []string {
			return []string{"udhcpc", "-f", "-i", "eth0", "-s", "/bin/true"}
		}},
		dhcpClient{"dhclient", func(t *testing.T, _ *netns.Namespace, dir string) []string {
			config := configFile(t, dir, "dhclient.conf", "send dhcp-client-identifier = hardware;", "initial-interval 3;")
			return []string{"dhclient", "-4", "-d", "-cf", config, "-lf", dir + "/leases", "-pf", dir + "/pid", "-sf", "/bin/true", "eth0"}
		}})
	macs := macsOfEdge(1, 10*len(all))
	for _, client := range all {
		t.Run(client.name, func(t *testing.T) {
			second := second
			second.T = t
			second.deals(sharing, func() bool {
				vm := netns.New(t)
				segment.Attach(t, vm, "eth0", macs[0])
				macs = macs[1:]
				granted, begin := second.count("REQUEST", "granted"), time.Now()
				followProgram(t, vm, client.command(t, vm, t.TempDir())...)
				NewWithT(t).Eventually(func() int { return second.count("REQUEST", "granted") }).Should(BeNumerically(">", granted))
				t.Logf("a lease %.1f s after the client was started", time.Since(begin).Seconds())
				return true
			}, dealt{"DISCOVER", "left-to-peer", 1}, // Its second try is answered,
				dealt{"REQUEST", "left-to-peer", 0}) // and so is what it asks for then.
		})
	}
}
