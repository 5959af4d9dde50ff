package failover_test

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/failover"
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
		p.g.Expect(os.WriteFile(filepath.Join(e.dir, "leases.json"), []byte(leases), 0o600)).To(Succeed())
	}
	return p
}

// start starts the agents of both edges, and waits until they hear each other on both paths
// and have not announced for a while.
func (p *duo) start() {
	p.Helper()
	for i := range []int{1, 2} {
		p.run(i + 1)
	}
	for i := range []int{1, 2} {
		p.g.Eventually(func() bool {
			s := p.edges[i+1].seen()
			return s.PeerState == failover.PeerServing && s.Heard(failover.VLAN) && s.Heard(failover.ClusterNetwork)
		}, "10s", "50ms").Should(BeTrue())
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
		ended <- failover.Run(ctx, failover.Options{
			Device: "net1", ClusterDevice: "eth0", RunDir: e.dir, CIDR: netip.MustParsePrefix("192.168.100.0/24"),
			Edge: i, Address: netip.MustParseAddr(e.own), PeerAddress: netip.MustParseAddr(peer.own), NextHopVIP: netip.MustParseAddr(nextHop),
			Serving: func() error { return nil }, Log: slog.New(slog.NewTextHandler(p.Output(), nil)).With("edge", i),
			Changed:   func(s failover.State) { e.mu.Lock(); e.state = s; e.mu.Unlock() },
			Announced: func(error) { e.mu.Lock(); e.announcements++; e.mu.Unlock() },
		})
	})
	p.Cleanup(func() { e.cancel(); <-ended; close(ended) })
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
		p.g.Eventually(func() bool { return e.seen().Heard(failover.VLAN) }, "10s", "50ms").Should(BeFalse())
	}
	p.g.Consistently(func() int { return p.edges[1].announced() + p.edges[2].announced() }, "6s", "100ms").Should(BeZero())
	p.g.Expect(p.edges[1].seen().PeerState).To(Equal(failover.PeerServing))
}
