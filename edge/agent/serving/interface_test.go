package serving

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/netns"
	_ "github.com/cldmnky/oooi/test/patience"
)

// TestVIPThatTheKernelAnswersFor: VIPs on another interface are served only where clients get
// an ARP reply for them.
func TestVIPThatTheKernelAnswersFor(t *testing.T) {
	const own, vip = "192.168.100.4", "192.168.100.3"
	for name, c := range map[string]struct {
		all, device string
		answers     bool
	}{
		"arp_ignore is 0":             {"0", "0", true},
		"the node's strictARP":        {"1", "0", false},
		"arp_ignore of the interface": {"0", "2", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			segment, e, client := netns.NewSegment(t), netns.New(t), netns.New(t)
			segment.Attach(t, e, "net1", "", own+"/24")
			segment.Attach(t, client, "eth0", "", "192.168.100.10/24")
			e.Sysctl(t, "net/ipv4/conf/net1/forwarding", "0")
			e.Run(t, "ip", "link", "add", wire.VIPDevice, "type", "veth", "peer", "name", "end")
			e.Address(t, wire.VIPDevice, vip+"/32")
			e.Sysctl(t, "net/ipv4/conf/all/arp_ignore", c.all)
			e.Sysctl(t, "net/ipv4/conf/net1/arp_ignore", c.device)
			i := Interface{Name: "net1", InPod: true}
			var ownErr, vipErr error
			e.Do(t, func() {
				ownErr, vipErr = i.Admissible(netip.MustParseAddr(own)), i.Admissible(netip.MustParseAddr(vip))
			})
			g.Expect(ownErr).NotTo(HaveOccurred())
			client.Do(t, func() {
				// A datagram makes the client's kernel ask for the VIP.
				conn, err := net.Dial("udp4", net.JoinHostPort(vip, "9"))
				g.Expect(err).NotTo(HaveOccurred())
				_, _ = conn.Write([]byte{0})
				_ = conn.Close()
			})
			if c.answers {
				g.Expect(vipErr).NotTo(HaveOccurred())
				g.Eventually(func() string { return client.Neighbour(t, "eth0", vip) }, "1m").Should(Equal(e.MAC(t, "net1")))
				return
			}
			g.Expect(vipErr).To(MatchError(And(ContainSubstring("does not answer for "+vip), ContainSubstring("net.ipv4.conf.all.arp_ignore=0"))))
			g.Consistently(func() string { return client.Neighbour(t, "eth0", vip) }, "1s").Should(BeEmpty())
		})
	}
}

// TestRoutesToClientNetworks: an edge without such a route reports it, and asks no DNS server there:
// any VM could answer for its address.
func TestRoutesToClientNetworks(t *testing.T) {
	g := NewWithT(t)
	e := fakes.NewEdge(t)
	office, here := netip.MustParseAddrPort("10.9.0.53:53"), netip.MustParseAddrPort("192.168.100.53:53")
	n := network.Network{Name: "blue", CIDR: netip.MustParsePrefix("192.168.100.0/24"), ClientNetworks: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}}
	n.DNS.Upstreams = network.Upstreams{Mode: network.UpstreamServers, Servers: []netip.AddrPort{office, here}}
	on := Interface{Name: "net1", InPod: true}
	now := func() (lacks bool, lost []netip.AddrPort) {
		e.Do(t, func() {
			lacks = slices.Contains(on.Believes(n), problem.EdgeLacksClientRoutes)
			lost = on.Lost(n)
		})
		return lacks, lost
	}
	lacks, lost := now()
	g.Expect(lacks).To(BeTrue())
	g.Expect(lost).To(HaveExactElements(office))
	e.Run(t, "ip", "route", "add", "10.9.0.0/16", "dev", "eth0")
	lacks, lost = now()
	g.Expect(lacks).To(BeTrue(), "the pod network does not lead there")
	g.Expect(lost).To(HaveExactElements(office))
	e.Run(t, "ip", "route", "replace", "10.9.0.0/16", "dev", "net1")
	lacks, lost = now()
	g.Expect(lacks).To(BeFalse())
	g.Expect(lost).To(BeEmpty())
	on.InPod = false
	e.Run(t, "ip", "route", "del", "10.9.0.0/16")
	lacks, lost = now()
	g.Expect(lacks).To(BeFalse(), "a host's routes are not ours")
	g.Expect(lost).To(BeEmpty())
}

// TestAnInterfaceThatIsGoneIsKnown: its listeners close, since sockets do not follow to the next one.
func TestAnInterfaceThatIsGoneIsKnown(t *testing.T) {
	g := NewWithT(t)
	_, err := Interface{Name: "none", InPod: true}.Routes()
	g.Expect(err).To(MatchError(ContainSubstring("no such network interface")))
	g.Expect(errors.As(err, new(Unread))).To(BeFalse())
}
