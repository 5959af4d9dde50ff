package failover_test

import (
	"bytes"
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
)

// A site is two edges, as processes without any privilege, and two machines on
// one segment: v sends to edge 1, w to edge 2.
type site struct {
	*testing.T
	g       *WithT
	segment *netns.Segment
	binary  string
	strict  bool
	edges   [3]*member // from 1
	v, w    *machine
}

// A member is one edge, its namespace and its process.
type member struct {
	ns   *netns.Namespace
	own  string
	log  *journal
	kill func(syscall.Signal)
	gone chan struct{}
	pid  int
	// before is how many claims it had made when the test began.
	before int
}

// A journal is what a process wrote.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(b)
}

func (j *journal) count(what string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.b.String(), what)
}

const claims = `msg="failover announcement sent"`

// newSite has the kernels of edges ask in the name of whatever they send from
// (arp_announce=0), or where strict (2), of the address that fits; then edges
// have the next hop as their first address.
func newSite(t *testing.T, strict bool) *site {
	netns.Require(t, "setpriv")
	s := &site{T: t, g: NewWithT(t), segment: netns.NewSegment(t), strict: strict}
	s.binary = readable(t)
	for i, own := range []string{"192.168.100.4", "192.168.100.5"} {
		s.edges[i+1] = &member{own: own, log: &journal{}}
		s.birth(i + 1)
		s.run(i + 1)
	}
	s.v, s.w = s.machine("192.168.100.10"), s.machine("192.168.100.11")
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	t.Cleanup(func() { cancel(); done.Wait() })
	for _, i := range []int{1, 2} {
		s.g.Eventually(func() int { return s.edges[i].log.count("peer=serving") }, "10s").Should(Equal(1))
	}
	for _, i := range []int{1, 2} {
		s.quiet(i)
		s.edges[i].before = s.edges[i].log.count(claims)
	}
	s.sendsTo(s.v, 1)
	s.sendsTo(s.w, 2)
	s.v.live(ctx, t, &done)
	s.w.live(ctx, t, &done)
	for edge, m := range map[int]*machine{1: s.v, 2: s.w} {
		// For more than a second, in which kernels ignore that an entry changes again.
		s.g.Eventually(m.tried, "10s").Should(BeNumerically(">", 24))
		s.g.Expect(m.edge(time.Time{})).To(Equal(edge))
	}
	return s
}

// quiet waits until the kernel of an edge asks for nobody any longer, which it
// does for two seconds after a claim.
func (s *site) quiet(i int) {
	s.g.Eventually(func() string {
		return s.edges[i].ns.Run(s.T, "ip", "neigh", "show", "nud", "incomplete", "to", "169.254.0.0/16")
	}, "10s", "50ms").Should(BeEmpty())
}

// readable is a copy of this binary that any user may run.
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

// birth makes the namespace of an edge as a CNI plugin does: the addresses are
// announced when the device comes up.
func (s *site) birth(i int) {
	e := s.edges[i]
	e.ns = netns.New(s.T)
	e.ns.Sysctl(s.T, "net/ipv4/conf/default/arp_notify", "1")
	e.ns.Sysctl(s.T, "net/ipv4/conf/default/rp_filter", "1")
	addresses := []string{e.own + "/24", nextHop + "/32", service + "/32"}
	if s.strict {
		e.ns.Sysctl(s.T, "net/ipv4/conf/all/arp_announce", "2")
		addresses[0], addresses[1] = addresses[1], addresses[0]
	}
	s.segment.Attach(s.T, e.ns, "net1", "", addresses...)
}

// run starts the process of an edge as nobody, without a capability.
func (s *site) run(i int) {
	s.Helper()
	e := s.edges[i]
	options, err := json.Marshal(edgeOptions{Edge: i, Address: netip.MustParseAddr(e.own), PeerAddress: netip.MustParseAddr(s.siblingOf(i))})
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
			s.Logf("edge %d:\n%s", i, e.log.b.String())
		}
	})
}

// siblingOf is the own address of the other edge than i.
func (s *site) siblingOf(i int) string { return []string{"", "192.168.100.5", "192.168.100.4"}[i] }

func (s *site) machine(address string) *machine {
	m := &machine{Namespace: netns.New(s.T), address: address}
	s.segment.Attach(s.T, m.Namespace, "eth0", "", address+"/24")
	m.Route(s.T, "0.0.0.0/0", nextHop)
	m.Route(s.T, service+"/32", nextHop)
	return m
}

func (s *site) sendsTo(m *machine, edge int) {
	m.SetNeighbour(s.T, "eth0", nextHop, s.edges[edge].ns.MAC(s.T, "net1"), false)
}

// passes waits until both machines are served by edge to, and v's long connection
// has been cut; see peace for what it tells and checks.
func (s *site) passes(what string, since time.Time, to int) {
	s.Helper()
	for _, m := range []*machine{s.v, s.w} {
		s.g.Eventually(func() int { return m.edge(since) }, "20s", "50ms").Should(Equal(to), what)
	}
	// Its connection is reset when its kernel next sends again, which may take some
	// seconds more.
	s.g.Eventually(func() int { return len(s.v.cutSince(since)) }, "20s", "50ms").Should(Equal(1), what)
	s.peace(what, since)
}

// peace waits until new connections are made again, tells what a change cost each
// machine, and checks that no long connection was cut more than once.
func (s *site) peace(what string, since time.Time) {
	s.Helper()
	for name, m := range map[string]*machine{"v, by edge 1": s.v, "w, by edge 2": s.w} {
		tried := m.tried()
		s.g.Eventually(func() int { return m.tried() - tried }, "10s").Should(BeNumerically(">", 10), what)
		s.g.Eventually(func() int { _, failed := m.gap(time.Now().Add(-time.Second)); return failed }, "20s", "100ms").Should(BeZero(), what)
		gap, failed := m.gap(since)
		cuts := m.cutSince(since)
		s.Logf("%-28s %s: longest gap %4d ms, %d new connections failed, %d long ones cut", what, name, gap.Milliseconds(), failed, len(cuts))
		s.g.Expect(len(cuts)).To(BeNumerically("<=", 1), what)
		s.g.Expect(failed).To(BeNumerically("<", 100), what)
	}
}

func (s *site) claimsBy(i int) int { return s.edges[i].log.count(claims) - s.edges[i].before }

// TestTakeOver runs through what can happen to an edge, with real kernels.
func TestTakeOver(t *testing.T) {
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
		s.g.Expect(s.w.cutSince(since)).To(BeEmpty(), "w sent to the edge that lives")
		again := time.Now()
		s.run(1)
		s.g.Eventually(func() int { return s.edges[2].log.count("was=idle") }, "10s").Should(BeNumerically(">=", 1))
		claimed := s.claimsBy(2)
		s.peace("process started again", again)
		s.g.Expect(s.claimsBy(2)).To(Equal(claimed), "both serve")
		s.g.Expect(append(s.v.cutSince(again), s.w.cutSince(again)...)).To(BeEmpty())
	})
	t.Run("server fails", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, false)
		since := time.Now()
		s.edges[1].kill(syscall.SIGUSR1)
		s.passes("server fails, agent lives", since, 2)
		s.g.Expect(s.w.cutSince(since)).To(BeEmpty())
		s.edges[1].kill(syscall.SIGUSR2)
		s.g.Eventually(func() int { return s.edges[2].log.count("was=idle") }, "10s").Should(BeNumerically(">=", 1))
	})
	t.Run("link pulled", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, false)
		since := time.Now()
		s.segment.Pull(t, s.edges[1].ns, "net1")
		s.passes("link pulled", since, 2)
		s.g.Expect(s.w.cutSince(since)).To(BeEmpty())
		again := time.Now()
		s.segment.Plug(t, s.edges[1].ns, "net1")
		s.g.Eventually(func() int { return s.edges[2].log.count("was=unreachable") }, "20s").Should(Equal(1))
		s.quiet(2)
		s.peace("link plugged in again", again)
		s.g.Expect(append(s.v.cutSince(again), s.w.cutSince(again)...)).To(BeEmpty(), "both serve again, and nobody claims")
		s.g.Expect(s.claimsBy(1)).To(BeZero(), "it heard nothing because it could not")
	})
	t.Run("link pulled, arp_announce=2", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, true)
		since := time.Now()
		s.segment.Pull(t, s.edges[1].ns, "net1")
		s.passes("link pulled, arp_announce=2", since, 2)
	})
	t.Run("leaves", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, false)
		since := time.Now()
		s.edges[1].kill(syscall.SIGTERM)
		s.g.Eventually(s.edges[1].gone, "10s").Should(BeClosed())
		s.g.Expect(s.claimsBy(2)).To(BeNumerically(">=", 3), "before it closed")
		s.passes("leaves", since, 2)
		_, failed := s.v.gap(since)
		s.g.Expect(failed).To(BeZero(), "it served until the machines had moved")
		s.g.Expect(s.w.cutSince(since)).To(BeEmpty())
	})
}

// TestBirth: a node is lost, and a pod born in its place that does not serve yet.
func TestBirth(t *testing.T) {
	t.Parallel()
	s := newSite(t, false)
	since := time.Now()
	s.segment.Pull(t, s.edges[1].ns, "net1")
	s.edges[1].kill(syscall.SIGKILL)
	s.passes("node lost", since, 2)
	s.g.Eventually(func() int { return s.claimsBy(2) }, "20s").Should(Equal(4), "it has given up")
	s.birth(1)
	s.sendsTo(s.v, 1) // as its announcement does, where the port forwards already
	born := time.Now()
	s.passes("born, serves nothing yet", born, 2)
	late := s.claimsBy(2)
	s.run(1)
	s.g.Eventually(func() int { return s.edges[1].log.count("peer=serving") }, "10s").Should(Equal(2))
	s.quiet(2)
	s.sendsTo(s.v, 1)
	s.g.Eventually(func() int { return s.v.edge(born) }, "10s").Should(Equal(1), "it serves now, and nobody claims")
	s.g.Expect(s.claimsBy(2)).To(BeNumerically(">=", late))
	s.g.Expect(s.claimsBy(1)).To(BeZero())
}

// TestTwoEdgesThatDontSeeEachOther, with real kernels: after twelve seconds the
// machines stay where they are.
func TestTwoEdgesThatDontSeeEachOther(t *testing.T) {
	t.Parallel()
	s := newSite(t, false)
	since := time.Now()
	for _, i := range []int{1, 2} {
		s.edges[i].ns.SetNeighbour(t, "net1", s.siblingOf(i), "02:00:00:00:00:99", true)
	}
	for _, i := range []int{1, 2} {
		s.g.Eventually(func() int { return s.claimsBy(i) }, "30s").Should(Equal(4))
	}
	s.quiet(1)
	s.quiet(2)
	gap, failed := s.v.gap(since)
	t.Logf("two that don't see each other: longest gap %d ms, %d new connections failed, %d and %d long ones cut", gap.Milliseconds(), failed, len(s.v.cutSince(since)), len(s.w.cutSince(since)))
	quiet := time.Now().Add(patience) // for a cut that is under way
	s.g.Consistently(func() int { return s.claimsBy(1) + s.claimsBy(2) }, "5s").Should(Equal(8))
	s.g.Expect(append(s.v.cutSince(quiet), s.w.cutSince(quiet)...)).To(BeEmpty())
}

// TestAMachineDialsTheNextHop, from addresses that the edge has not heard of:
// its kernel asks for each in the name of the next hop, which moves the others to
// it. Where kernels ask in the name of the address that fits, nothing moves.
func TestAMachineDialsTheNextHop(t *testing.T) {
	t.Parallel()
	const rounds = 6
	for name, strict := range map[string]bool{"arp_announce=0": false, "arp_announce=2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, strict)
			hostile := s.machine("192.168.100.50")
			since, dials := time.Now(), 0
			dial := func() {
				dials++
				from := fmt.Sprintf("192.168.100.%d", 50+dials)
				hostile.Address(t, "eth0", from+"/24")
				hostile.Do(t, func() {
					d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 5 * time.Second}
					_, err := d.Dial("tcp4", net.JoinHostPort(nextHop, port))
					s.g.Expect(err).To(MatchError(syscall.ECONNREFUSED), "nothing serves there")
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
				// A kernel ignores what comes in the first second after the last change.
				s.g.Eventually(func() [2]string { dial(); return known() }, "10s", "250ms").Should(Equal([2]string{to, to}))
			}
			s.g.Eventually(func() int { _, failed := s.v.gap(time.Now().Add(-time.Second)); return failed }, "10s").Should(BeZero())
			_, failed := s.v.gap(since)
			v, w := len(s.v.cutSince(since)), len(s.w.cutSince(since))
			t.Logf("%s: after %d dials of the next hop in %.1f s %d new connections failed, %d and %d long ones were cut", name, dials, time.Since(since).Seconds(), failed, v, w)
			// Both serve: only what is being made when a machine moves is cut, as others are.
			s.g.Expect(failed).To(BeNumerically("<=", rounds))
			s.g.Expect(s.claimsBy(1) + s.claimsBy(2)).To(BeZero())
			if strict {
				s.g.Expect(known()).To(Equal(before))
				s.g.Expect(v + w).To(BeZero())
			}
			s.g.Expect(max(v, w)).To(BeNumerically("<=", rounds))
		})
	}
}
