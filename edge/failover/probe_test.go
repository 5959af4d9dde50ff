package failover

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/netns"
)

var cidr = netip.MustParsePrefix("192.168.100.0/24")

// TestProbedVMs: an edge probes each known VM in turn, and never edges. A VM with many addresses does not displace VMs with a lease.
func TestProbedVMs(t *testing.T) {
	g := NewWithT(t)
	at := func(from, to int) (out []netip.Addr) {
		for i := from; i <= to; i++ {
			out = append(out, netip.AddrFrom4([4]byte{192, 168, 100, byte(i)}))
		}
		return out
	}
	c := census{cidr: cidr, edges: at(2, 5), leased: at(10, 21), neighbors: append(at(4, 250), netip.MustParseAddr("192.0.2.1"))}
	asked := map[netip.Addr]int{}
	for n := range 12 {
		once := c.probed(n)
		g.Expect(once).To(HaveLen(probedAtOnce))
		for _, a := range once {
			asked[a]++
			g.Expect(c.edges).NotTo(ContainElement(a))
			g.Expect(cidr.Contains(a)).To(BeTrue())
		}
	}
	for _, a := range c.leased {
		g.Expect(asked[a]).To(Equal(4), "every third time")
	}
	c.neighbors = nil
	g.Expect(c.probed(0)).To(ConsistOf(at(10, 17)))
	c.leased, c.neighbors = at(10, 10), at(10, 12)
	g.Expect(c.probed(5)).To(ConsistOf(at(10, 12)), "each once")
	g.Expect(census{}.probed(0)).To(BeEmpty())

	c = census{cidr: netip.MustParsePrefix("192.168.100.0/29"), edges: at(1, 3), leased: at(4, 4), neighbors: at(5, 5)}
	a, ok := c.unused(7)
	g.Expect(ok).To(BeTrue())
	g.Expect(a).To(Equal(at(6, 6)[0]), "neither the network's address nor its broadcast address")
	c.edges = append(c.edges, a)
	_, ok = c.unused(0)
	g.Expect(ok).To(BeFalse())
}

// TestProbe: a port that a kernel refuses, a reject of a firewall, and a confirmed neighbor count as answers. An ICMP error of the edge's
// own kernel about an absent host does not.
func TestProbe(t *testing.T) {
	t.Parallel()
	netns.Require(t, "nft")
	g := NewWithT(t)
	segment, e := netns.NewSegment(t), netns.New(t)
	segment.Attach(t, e, "net1", "", nextHop+"/32", own+"/24")
	vm := func(address, firewall string) netip.Addr {
		n := netns.New(t)
		segment.Attach(t, n, "eth0", "", address+"/24")
		if firewall != "" {
			n.Run(t, "nft", "add table ip f; add chain ip f i { type filter hook input priority 0; }; add rule ip f i udp dport 9 "+firewall)
		}
		return netip.MustParseAddr(address)
	}
	refuses, rejects, drops := vm("192.168.100.10", ""), vm("192.168.100.11", "reject with icmp type admin-prohibited"), vm("192.168.100.12", "drop")
	peer, absent := vm("192.168.100.5", ""), netip.MustParseAddr("192.168.100.13")
	var p *prober
	var err error
	e.Do(t, func() { p, err = newProber(t.Context(), "net1", netip.MustParseAddr(own)) })
	g.Expect(err).NotTo(HaveOccurred())
	defer p.close()
	answers := func() [2]uint64 { p.collect(peer); return [2]uint64{p.answers, p.peerAnswers} }

	p.probe(peer, nil)
	g.Eventually(answers, "1m", "10ms").Should(Equal([2]uint64{0, 1}))
	p.probe(netip.Addr{}, []netip.Addr{refuses})
	g.Eventually(answers, "1m", "10ms").Should(Equal([2]uint64{1, 1}))
	p.probe(netip.Addr{}, []netip.Addr{rejects})
	g.Eventually(answers, "1m", "10ms").Should(Equal([2]uint64{2, 1}))
	p.probe(netip.Addr{}, []netip.Addr{drops, absent})
	// The kernel has sent all its requests. It may forget an entry that failed.
	g.Eventually(func() string { return e.Run(t, "ip", "neigh", "show", "nud", "incomplete") }, "1m", "50ms").ShouldNot(ContainSubstring(absent.String()))
	g.Expect(answers()).To(Equal([2]uint64{2, 1}))

	e.ForgetNeighbour(t, "net1", drops.String())
	_, err = p.neighbors(census{cidr: cidr}, time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	before := p.answers
	p.probe(netip.Addr{}, []netip.Addr{drops})
	g.Eventually(func() uint64 {
		found, err := p.neighbors(census{cidr: cidr, edges: []netip.Addr{peer, refuses, rejects}}, time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(slices.Contains(found, absent)).To(BeFalse())
		return p.answers - before
	}, "1m", "10ms").Should(BeNumerically(">=", 1), "it answers ARP")
}

// TestMemory: the memory of an agent survives a restart of its container. If it cannot be read, a new one begins.
func TestMemory(t *testing.T) {
	g := NewWithT(t)
	dir, now := t.TempDir(), time.UnixMilli(1_800_000_000_123)
	m, err := recall(dir, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m).To(Equal(memory{Generation: 1_800_000_000_123}))
	m.PeerAddress = netip.MustParseAddr("10.128.0.5")
	g.Expect(m.store(dir)).To(Succeed())
	g.Expect(recall(dir, now.Add(time.Hour))).To(Equal(m))
	g.Expect(m.store("")).To(Succeed())
	g.Expect(recall("", now)).To(Equal(memory{Generation: 1_800_000_000_123}))
	for _, garbage := range []string{"", "{", `{"generation":"x"}`, `{"generation":-1}`, `{}`, `{"generation":1,"peerAddress":"x"}`} {
		g.Expect(os.WriteFile(filepath.Join(dir, memoryFile), []byte(garbage), 0o600)).To(Succeed())
		m, err := recall(dir, now)
		g.Expect(err).To(MatchError(HavePrefix("remembered generation: ")), garbage)
		g.Expect(m).To(Equal(memory{Generation: 1_800_000_000_123}))
	}
}
