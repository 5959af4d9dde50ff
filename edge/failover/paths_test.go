package failover_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/netns"
)

// A duo is two edges that serve, each with a pod address on a second segment, and two VMs
// that each edge knows.
type duo struct {
	*testing.T
	g          *WithT
	vlan, pods *netns.Segment
	edges      [3]*single // from 1
	vms        [2]*netns.Namespace
}

// A single is one edge of a duo. Its agent runs in this process.
type single struct {
	ns       *netns.Namespace
	own, pod string
	dir      string
	cancel   context.CancelFunc
	ended    chan error

	mu            sync.Mutex
	state         failover.State
	announcements int
	began         []string // the causes of failovers
}

func (e *single) seen() failover.State {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state
}

func (e *single) announced() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.announcements
}

func (e *single) failovers() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.began)
}

func newDuo(t *testing.T) *duo {
	t.Helper()
	p := &duo{T: t, g: NewWithT(t), vlan: netns.NewSegment(t), pods: netns.NewSegment(t)}
	for i, address := range []string{"192.168.100.10/24", "192.168.100.11/24"} {
		p.vms[i] = netns.New(t)
		p.vlan.Attach(t, p.vms[i], "eth0", "", address)
	}
	for i, last := range []string{"4", "5"} {
		e := &single{ns: netns.New(t), own: "192.168.100." + last, pod: "10.128.0." + last, dir: t.TempDir()}
		p.edges[i+1] = e
		e.ns.Sysctl(t, "net/ipv4/conf/default/arp_announce", "2")
		p.vlan.Attach(t, e.ns, "net1", "", nextHop+"/32", e.own+"/24", service+"/32")
		p.pods.Attach(t, e.ns, "eth0", "", e.pod+"/24")
		leases := `[{"address":"192.168.100.10","mac":"02:00:00:00:00:10","expires":"2999-01-01T00:00:00Z"},{"address":"192.168.100.11","mac":"02:00:00:00:00:11","expires":"2999-01-01T00:00:00Z"}]`
		p.g.Expect(os.WriteFile(filepath.Join(e.dir, wire.LeaseCache), []byte(leases), 0o600)).To(Succeed())
	}
	return p
}

// start starts the agents of both edges, waits until they hear each other over both paths,
// and counts announcements from then on.
func (p *duo) start() {
	p.Helper()
	for i := range []int{1, 2} {
		p.run(i + 1)
	}
	for i := range []int{1, 2} {
		p.g.Eventually(func() bool {
			s := p.edges[i+1].seen()
			return s.PeerState == failover.PeerServing && s.Heard(failover.VLAN) && s.Heard(failover.ClusterNetwork)
		}, "1m", "50ms").Should(BeTrue())
	}
	for _, e := range p.edges[1:] {
		e.mu.Lock()
		e.announcements, e.began = 0, nil // The first one to start announces until the other one runs.
		e.mu.Unlock()
	}
}

// run starts the agent of an edge, until the test or stop ends it.
func (p *duo) run(i int) {
	p.Helper()
	e, peer := p.edges[i], p.edges[3-i]
	ctx, cancel := context.WithCancelCause(p.Context())
	e.cancel, e.ended = func() { cancel(failover.ErrReplaced) }, make(chan error, 1)
	ended := e.ended
	go e.ns.Do(p.T, func() {
		ended <- runAgent(ctx, failover.Options{
			Device: "net1", ClusterDevice: "eth0", Dir: e.dir, LeaseCache: filepath.Join(e.dir, wire.LeaseCache), CIDR: netip.MustParsePrefix("192.168.100.0/24"),
			Edge: i, Address: netip.MustParseAddr(e.own), PeerAddress: netip.MustParseAddr(peer.own), NextHopVIP: netip.MustParseAddr(nextHop),
			Serving: func() error { return nil }, Log: slog.New(slog.NewTextHandler(p.Output(), nil)).With("edge", i),
			Changed: func(s failover.State) { e.mu.Lock(); e.state = s; e.mu.Unlock() },
			Announced: func(cause string, first bool, _ error) {
				e.mu.Lock()
				defer e.mu.Unlock()
				if e.announcements++; first {
					e.began = append(e.began, cause)
				}
			},
		})
	})
	p.Cleanup(func() { p.stop(i) })
}

// stop ends the agent of an edge as if it was killed. It may have ended.
func (p *duo) stop(i int) {
	p.Helper()
	e := p.edges[i]
	e.cancel()
	if e.ended != nil {
		p.g.Expect(<-e.ended).To(Succeed())
	}
	e.ended = nil
}

// TestOnlyHeartbeatsAreLost: the VLAN works and drops heartbeats. Both edges stay as they are.
func TestOnlyHeartbeatsAreLost(t *testing.T) {
	t.Parallel()
	netns.Require(t, "nft")
	p := newDuo(t)
	p.start()
	for _, e := range p.edges[1:] {
		e.ns.Run(t, "nft", "add table ip f; add chain ip f i { type filter hook input priority 0; }; add rule ip f i iifname net1 udp dport 7788 drop")
	}
	for _, e := range p.edges[1:] {
		p.g.Eventually(func() bool { return e.seen().Heard(failover.VLAN) }, "1m", "50ms").Should(BeFalse())
	}
	p.g.Consistently(func() int { return p.edges[1].announced() + p.edges[2].announced() }, "6s", "100ms").Should(BeZero())
	p.g.Expect(p.edges[1].seen().PeerState).To(Equal(failover.PeerServing))
}

// TestDeafEdge: an edge that receives nothing, or only broadcasts, sends no announcement. Its peer takes over the VMs.
func TestDeafEdge(t *testing.T) {
	t.Parallel()
	netns.Require(t, "nft")
	for name, only := range map[string]bool{"receives nothing": false, "receives broadcasts only": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newDuo(t)
			p.start()
			one, two := p.edges[1], p.edges[2]
			match := ""
			if only {
				match = "ether daddr " + two.ns.MAC(t, "net1")
			}
			hear := p.vlan.DropTo(t, two.ns, "net1", match)
			p.g.Eventually(func() failover.Level { return two.seen().Self.Level }, "1m", "50ms").Should(Equal(failover.LevelNothing))
			p.g.Eventually(func() failover.PeerState { return one.seen().PeerState }, "1m", "50ms").Should(Equal(failover.PeerImpaired))
			p.g.Eventually(one.announced, "1m", "50ms").Should(BeNumerically(">=", 1))
			p.g.Expect(one.failovers()).To(ContainElement("peer impaired"))
			p.g.Eventually(func() bool { return one.announced() > len(one.failovers()) }, "1m", "50ms").Should(BeTrue(), "several announcements are one failover")
			hear()
			p.g.Eventually(func() bool {
				return one.seen().PeerState == failover.PeerServing && two.seen().PeerState == failover.PeerServing && two.seen().Heard(failover.VLAN)
			}, "1m", "50ms").Should(BeTrue())
			p.g.Expect(two.announced()).To(BeZero())
		})
	}
}

// TestPartitionedVLAN: the edges hear each other only over the cluster network, and neither kernel reaches the other over the VLAN. Each
// edge announces itself to the VMs on its side.
func TestPartitionedVLAN(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	p.start()
	for i, e := range p.edges[1:] {
		e.ns.SetNeighbour(t, "net1", p.edges[2-i].own, "02:00:00:00:00:99", true)
	}
	for _, e := range p.edges[1:] {
		p.g.Eventually(e.announced, "1m", "50ms").Should(BeNumerically(">=", 1))
	}
}

// TestSecondPathAfterARestart: the agent's container restarts in the same pod while the VLAN drops heartbeats. It finds its peer over the
// cluster network.
func TestSecondPathAfterARestart(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	p.start()
	one := p.edges[1]
	before := one.seen().Self
	p.stop(1)
	for _, e := range p.edges[1:] {
		e.ns.Run(t, "nft", "add table ip f; add chain ip f i { type filter hook input priority 0; }; add rule ip f i iifname net1 udp dport 7788 drop")
	}
	p.run(1)
	p.g.Eventually(func() bool {
		s := one.seen()
		return s.Self.Instance != before.Instance && s.Heard(failover.ClusterNetwork)
	}, "1m", "50ms").Should(BeTrue())
	p.g.Expect(one.seen().Self.Generation).To(Equal(before.Generation))
	p.g.Expect(one.seen().Heard(failover.VLAN)).To(BeFalse())
}

// TestOtherPodsOnTheClusterNetwork: an edge ignores messages of other pods than its peer's, and those of a VM that sends through the edge
// with the address of the peer's pod.
func TestOtherPodsOnTheClusterNetwork(t *testing.T) {
	t.Parallel()
	p := newDuo(t)
	p.start()
	one, two := p.edges[1], p.edges[2]
	one.ns.Sysctl(t, "net/ipv4/conf/all/rp_filter", "0")
	one.ns.Sysctl(t, "net/ipv4/conf/net1/rp_filter", "0")
	other := netns.New(t)
	p.pods.Attach(t, other, "eth0", "", "10.128.0.9/24")
	p.vms[0].Address(t, "eth0", two.pod+"/32")
	p.vms[0].Route(t, one.pod+"/32", one.own)
	p.stop(2)
	p.g.Eventually(func() bool { return one.seen().Heard(failover.ClusterNetwork) }, "1m", "50ms").Should(BeFalse())
	seen := one.seen()
	number := seen.Peer.Number
	// says sends a message of the peer.
	says := func(n *netns.Namespace, from, named string) {
		number++
		m := fmt.Sprintf(`{"phase":"draining","edge":2,"instance":%q,"number":%d,"peer":%q,"address":%q}`, seen.Peer.Instance, number, seen.Self.Instance, named)
		n.Do(t, func() {
			d := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.MustParseAddrPort(from + ":7788"))}
			c, err := d.Dial("udp4", one.pod+":7788")
			p.g.Expect(err).NotTo(HaveOccurred())
			_, err = c.Write([]byte(m))
			p.g.Expect(err).NotTo(HaveOccurred())
			p.g.Expect(c.Close()).To(Succeed())
		})
	}
	heard := func() bool { return one.seen().Heard(failover.ClusterNetwork) }
	p.g.Consistently(func() bool {
		says(other, "10.128.0.9", two.pod)
		says(p.vms[0], two.pod, two.pod)
		says(two.ns, two.pod, "10.128.0.9")
		return heard()
	}, "2s", "100ms").Should(BeFalse())
	p.g.Eventually(func() bool { says(two.ns, two.pod, two.pod); return heard() }, "1m", "100ms").Should(BeTrue(), "the same message from the peer's pod")
}
