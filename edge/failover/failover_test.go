package failover_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/netns"
	_ "github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// A site is two edges, as unprivileged processes, and two VMs on one segment: v sends to
// edge 1, w to edge 2.
type site struct {
	*testing.T
	g       *WithT
	segment *netns.Segment
	binary  string
	strict  bool
	// cidr makes the edges probe the VMs that they know while the peer is silent.
	cidr  netip.Prefix
	edges [3]*member // from 1
	v, w  *vm
}

// A member is one edge, its namespace and its process.
type member struct {
	ns   *netns.Namespace
	own  string
	log  *programs.Output
	kill func(syscall.Signal)
	gone chan struct{}
	pid  int
	// before counts its announcements before the test began, unheardBefore those against a peer that it did not hear.
	before, unheardBefore int
}

const announcements = `msg="failover announcement sent"`

// newSite starts a site. The edges' kernels send ARP requests from any source address
// (arp_announce=0). If strict they use the matching one (2); then the next-hop VIP is the
// first address of each edge.
func newSite(t *testing.T, strict bool) *site {
	netns.Require(t, "setpriv")
	s := &site{T: t, g: NewWithT(t), segment: netns.NewSegment(t), strict: strict}
	s.binary = readable(t)
	for i, own := range []string{"192.168.100.4", "192.168.100.5"} {
		s.edges[i+1] = &member{own: own, log: &programs.Output{}}
		s.attach(i + 1)
		s.run(i + 1)
	}
	s.v, s.w = s.vm("192.168.100.10"), s.vm("192.168.100.11")
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	t.Cleanup(func() { cancel(); done.Wait() })
	for _, i := range []int{1, 2} {
		s.g.Eventually(func() int { return s.edges[i].log.Count("peer=serving") }, "1m").Should(BeNumerically(">=", 1))
	}
	for live := false; ; {
		// What is announced from here on may move the VMs.
		for _, e := range s.edges[1:] {
			log := e.log.String()
			e.before, e.unheardBefore = strings.Count(log, announcements), unheard(log)
		}
		s.quiet(1)
		s.quiet(2)
		s.sendsTo(s.v, 1)
		s.sendsTo(s.w, 2)
		since := time.Now()
		if !live {
			s.v.live(ctx, t, &done)
			s.w.live(ctx, t, &done)
			live = true
		}
		settled := true
		for i, m := range []*vm{s.v, s.w} {
			echoed := m.echoed()
			// Wait for more than a second, in which kernels ignore further changes of an
			// entry.
			s.g.Eventually(func() int { return m.inARow(since) }, "1m").Should(BeNumerically(">", 24))
			// The second answer is for a message that was sent since.
			s.g.Eventually(m.echoed, "1m").Should(BeNumerically(">", echoed+1))
			settled = settled && m.edge(since) == i+1 && m.holds(time.Now()) == i+1
		}
		if settled && s.announcementsBy(1)+s.announcementsBy(2) == 0 {
			return s
		}
		// An edge stood still, and was announced against.
	}
}

// readable returns a copy of this binary that any user may run.
func readable(t *testing.T) string {
	g := NewWithT(t)
	self, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	b, err := os.ReadFile(self)
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	g.Expect(os.Chmod(dir, 0o755)).To(Succeed())
	g.Expect(os.Chmod(filepath.Dir(dir), 0o755)).To(Succeed())
	file := filepath.Join(dir, "edge")
	g.Expect(os.WriteFile(file, b, 0o755)).To(Succeed())
	return file
}

// attach creates the namespace of an edge as a CNI plugin does: its addresses are announced once
// the network carries them.
func (s *site) attach(i int) {
	e := s.edges[i]
	e.ns = netns.New(s.T)
	e.ns.Sysctl(s.T, "net/ipv4/conf/default/rp_filter", "1")
	addresses := []string{e.own + "/24", nextHop + "/32", service + "/32"}
	if s.strict {
		e.ns.Sysctl(s.T, "net/ipv4/conf/all/arp_announce", "2")
		addresses[0], addresses[1] = addresses[1], addresses[0]
	}
	s.segment.Attach(s.T, e.ns, "net1", "", addresses...)
	e.ns.Announce(s.T, "net1")
}

// run starts the process of an edge as an unprivileged user, without capabilities.
func (s *site) run(i int) {
	s.Helper()
	e := s.edges[i]
	options, err := json.Marshal(edgeOptions{Edge: i, Address: netip.MustParseAddr(e.own), PeerAddress: netip.MustParseAddr(s.peerOf(i)), CIDR: s.cidr})
	s.g.Expect(err).NotTo(HaveOccurred())
	c := e.ns.Command(s.Context(), "setpriv", "--reuid", "65532", "--regid", "65532", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", s.binary)
	c.Env = append(os.Environ(), asEdge+"="+string(options))
	c.Stdout, c.Stderr = e.log, e.log
	s.g.Expect(c.Start()).To(Succeed())
	gone := make(chan struct{})
	kill := func(x syscall.Signal) { _ = c.Process.Signal(x) }
	e.pid, e.gone, e.kill = c.Process.Pid, gone, kill
	go func() { _ = c.Wait(); close(gone) }()
	s.Cleanup(func() {
		kill(syscall.SIGKILL)
		<-gone
		if s.Failed() {
			s.Logf("edge %d:\n%s", i, e.log.String())
		}
	})
}

// peerOf returns the edge address of the other edge.
func (s *site) peerOf(i int) string { return []string{"", "192.168.100.5", "192.168.100.4"}[i] }

func (s *site) vm(address string) *vm {
	m := newVM(s.T, s.segment, address)
	m.Route(s.T, "0.0.0.0/0", nextHop)
	m.Route(s.T, service+"/32", nextHop)
	return m
}

func (s *site) sendsTo(m *vm, edge int) {
	m.SetNeighbour(s.T, "eth0", nextHop, s.edges[edge].ns.MAC(s.T, "net1"), false)
}

// passes waits until edge to serves both VMs, and has v's long connection. See settles.
func (s *site) passes(what string, since time.Time, to int) {
	s.Helper()
	for _, m := range []*vm{s.v, s.w} {
		s.g.Eventually(func() int { return m.edge(since) }, "1m", "50ms").Should(Equal(to), what)
	}
	if s.v.holds(since) == to {
		s.Logf("%s: v was at edge %d before", what, to)
	}
	// The connection is reset when the VM's kernel sends again, which may take some
	// seconds.
	s.g.Eventually(func() int { return s.v.holds(time.Now()) }, "1m", "50ms").Should(Equal(to), what)
	s.settles(what, since)
}

// settles waits until new connections succeed, logs what a change cost each VM, and checks
// that no long connection was reset more than once, and once more for each announcement of edge 1.
func (s *site) settles(what string, since time.Time) {
	s.Helper()
	for name, m := range map[string]*vm{"v, by edge 1": s.v, "w, by edge 2": s.w} {
		settled := time.Now()
		s.g.Eventually(func() int { return m.inARow(settled) }, "1m", "50ms").Should(BeNumerically(">", 10), what)
		gap, failed := m.gap(since)
		cuts := m.cutSince(since)
		s.Logf("%-28s %s: longest gap %4d ms, %d new connections failed, %d long ones reset", what, name, gap.Milliseconds(), failed, len(cuts))
		s.g.Expect(len(cuts)).To(BeNumerically("<=", 1+s.announcementsBy(1)), what)
	}
}

func (s *site) announcementsBy(i int) int {
	return s.edges[i].log.Count(announcements) - s.edges[i].before
}

// stopsAnnouncing waits until edge i has announced as often as it does against a peer that is gone. Before, it may have announced once
// against a peer whose kernel still answered.
func (s *site) stopsAnnouncing(i int) {
	s.g.Eventually(func() int { return s.edges[i].log.Count(`cause="peer unreachable" count=4`) }, "1m").Should(BeNumerically(">=", 1), "it has stopped announcing")
}

// TestFailover covers the faults of an edge, with real kernels.
func TestFailover(t *testing.T) {
	t.Parallel()
	t.Run("process killed", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, false)
		caps, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.edges[1].pid), "status"))
		s.g.Expect(err).NotTo(HaveOccurred())
		s.g.Expect(string(caps)).To(And(ContainSubstring("CapEff:\t0000000000000000"), ContainSubstring("Uid:\t65532")))
		since := time.Now()
		s.edges[1].kill(syscall.SIGKILL)
		s.passes("process killed", since, 2)
		s.keepsW(since)
		again, served := time.Now(), s.edges[2].log.Count("peer=serving was=")
		s.run(1)
		s.g.Eventually(func() int { return s.edges[2].log.Count("peer=serving was=") }, "1m").Should(BeNumerically(">", served))
		announced := s.needlessBy(2)
		s.settles("process started again", again)
		s.g.Expect(s.needlessBy(2)).To(Equal(announced), "both serve")
		s.g.Expect(s.needlessBy(1)).To(BeZero())
		s.keepsConnections(again)
	})
	t.Run("server fails", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, false)
		since := time.Now()
		s.edges[1].kill(syscall.SIGUSR1)
		s.passes("server fails, agent lives", since, 2)
		s.keepsW(since)
		s.edges[1].kill(syscall.SIGUSR2)
		s.g.Eventually(func() int { return s.edges[2].log.Count("was=idle") }, "1m").Should(BeNumerically(">=", 1))
	})
	t.Run("link pulled", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, false)
		since := time.Now()
		s.segment.Pull(t, s.edges[1].ns, "net1")
		s.passes("link pulled", since, 2)
		s.keepsW(since)
		again := time.Now()
		s.segment.Plug(t, s.edges[1].ns, "net1")
		s.g.Eventually(func() int { return s.edges[2].log.Count("was=unreachable") }, "1m").Should(BeNumerically(">=", 1))
		s.g.Eventually(func() string { return s.edges[1].log.String() }, "1m").Should(MatchRegexp("(?s)level=nothing.*level=serves"))
		s.quiet(2)
		s.settles("link plugged in again", again)
		s.keepsConnections(again)
		s.g.Expect(s.needlessBy(1)).To(BeZero())
		_, unplugged, _ := strings.Cut(s.edges[1].log.String(), "level=nothing")
		unplugged, _, plugged := strings.Cut(unplugged, `msg="level changed"`)
		s.g.Expect(plugged).To(BeTrue())
		s.g.Expect(unplugged).NotTo(Or(ContainSubstring("peer=unreachable"), ContainSubstring(announcements)), "without a carrier nothing is heard")
	})
	t.Run("link pulled, arp_announce=2", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, true)
		since := time.Now()
		s.segment.Pull(t, s.edges[1].ns, "net1")
		s.passes("link pulled, arp_announce=2", since, 2)
	})
	t.Run("drains", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, false)
		since := time.Now()
		s.edges[1].kill(syscall.SIGTERM)
		handedOver := s.drains(since)
		s.passes("drains", since, 2)
		if handedOver && s.announcementsBy(1) == 0 {
			s.g.Expect(s.v.dark(since)).To(BeEmpty(), "it served until the VMs had moved")
		}
		s.g.Eventually(func() int { return s.announcementsBy(2) }, "1m").Should(BeNumerically(">=", 3), "until it serves")
		s.keepsW(since)
	})
}

// TestReplacedNode: a node is lost, and the new pod of its edge does not serve yet.
func TestReplacedNode(t *testing.T) {
	t.Parallel()
	s := newSite(t, false)
	since := time.Now()
	s.segment.Pull(t, s.edges[1].ns, "net1")
	s.edges[1].kill(syscall.SIGKILL)
	s.passes("node lost", since, 2)
	s.stopsAnnouncing(2)
	born := time.Now()
	s.attach(1) // It announces itself, so both VMs send to it.
	s.g.Eventually(func() int { return len(s.v.cutSince(born)) }, "1m", "50ms").Should(BeNumerically(">=", 1), "the new pod has no such connection")
	s.passes("new pod does not serve yet", born, 2)
	known := [3]int{}
	for i, e := range s.edges[1:] {
		known[i+1] = e.log.Count("peer=serving was=")
	}
	s.run(1)
	for i, e := range s.edges[1:] {
		s.g.Eventually(func() int { return e.log.Count("peer=serving was=") }, "1m").Should(BeNumerically(">", known[i+1]))
	}
	s.quiet(2)
	late, needless := s.announcementsBy(2), s.needlessBy(2)
	s.sendsTo(s.v, 1)
	again := time.Now()
	s.g.Eventually(func() int { return s.v.inARow(again) }, "1m").Should(BeNumerically(">", 10))
	if used := s.v.edge(again); s.announcementsBy(2) == late {
		s.g.Expect(used).To(Equal(1), "it serves")
	}
	s.g.Expect(s.needlessBy(2)).To(Equal(needless), "the peer does not announce")
	s.g.Expect(s.needlessBy(1)).To(BeZero())
}

// TestPartitionWithRealKernels: after twelve seconds the VMs stay where they are.
func TestPartitionWithRealKernels(t *testing.T) {
	t.Parallel()
	s := newSite(t, false)
	since := time.Now()
	for _, i := range []int{1, 2} {
		s.edges[i].ns.SetNeighbour(t, "net1", s.peerOf(i), "02:00:00:00:00:99", true)
	}
	for _, i := range []int{1, 2} {
		s.stopsAnnouncing(i)
	}
	announced := s.announcementsBy(1) + s.announcementsBy(2)
	s.quiet(1)
	s.quiet(2)
	gap, failed := s.v.gap(since)
	t.Logf("partition: longest gap %d ms, %d new connections failed, %d and %d long ones reset", gap.Milliseconds(), failed, len(s.v.cutSince(since)), len(s.w.cutSince(since)))
	// A long connection that its VM took along is reset at its next message.
	for _, m := range []*vm{s.v, s.w} {
		echoed := m.echoed()
		s.g.Eventually(m.echoed, "1m").Should(BeNumerically(">", echoed+10))
	}
	quiet := time.Now()
	s.g.Consistently(func() int { return s.announcementsBy(1) + s.announcementsBy(2) }, "5s").Should(Equal(announced))
	s.g.Expect(append(s.v.cutSince(quiet), s.w.cutSince(quiet)...)).To(BeEmpty())
}

// TestVMDialsTheNextHop: a VM dials the next-hop VIP from addresses that are new to the edge. The edge's kernel sends an ARP request for
// each, with the next-hop VIP as its source, which moves the other VMs to this edge. With arp_announce=2, no VM moves.
func TestVMDialsTheNextHop(t *testing.T) {
	t.Parallel()
	const rounds = 6
	for name, strict := range map[string]bool{"arp_announce=0": false, "arp_announce=2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, strict)
			hostile := s.vm("192.168.100.50")
			since, dials := time.Now(), 0
			dial := func() {
				dials++
				from := fmt.Sprintf("192.168.100.%d", 50+dials)
				hostile.Address(t, "eth0", from+"/24")
				hostile.Do(t, func() {
					d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: unanswered}
					_, err := d.Dial("tcp4", net.JoinHostPort(nextHop, port))
					s.g.Expect(err).To(MatchError(syscall.ECONNREFUSED), "no process listens")
				})
			}
			known := func() [2]string {
				return [2]string{s.v.Neighbour(t, "eth0", nextHop), s.w.Neighbour(t, "eth0", nextHop)}
			}
			before := known()
			for i := range rounds {
				to := s.edges[1+i%2].ns.MAC(t, "net1")
				hostile.SetNeighbour(t, "eth0", nextHop, to, true)
				if dial(); strict {
					continue
				}
				// A kernel ignores changes within a second after the last one.
				s.g.Eventually(func() [2]string { dial(); return known() }, "1m", "250ms").Should(Equal([2]string{to, to}))
			}
			settled := time.Now()
			s.g.Eventually(func() int { return s.v.inARow(settled) }, "1m").Should(BeNumerically(">", 10))
			_, failed := s.v.gap(since)
			v, w := len(s.v.cutSince(since)), len(s.w.cutSince(since))
			t.Logf("%s: after %d dials of the next-hop VIP in %.1f s %d new connections failed, %d and %d long ones were reset", name, dials, time.Since(since).Seconds(), failed, v, w)
			s.g.Expect(s.v.dark(since)).To(BeEmpty(), "both edges serve: only connections in progress fail while a VM moves")
			s.g.Expect(s.needlessBy(1) + s.needlessBy(2)).To(BeZero())
			after, announced := known(), s.announcementsBy(1)+s.announcementsBy(2)
			if strict && announced == 0 {
				s.g.Expect(after).To(Equal(before))
				s.g.Expect(v + w).To(BeZero())
			}
			s.g.Expect(max(v, w)).To(BeNumerically("<=", rounds+2*announced))
		})
	}
}
