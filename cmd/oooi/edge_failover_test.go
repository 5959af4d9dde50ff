package main

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/agent"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/netns"
)

const (
	blueNextHop = "192.168.100.2"
	blueOne     = "192.168.100.4"
	blueTwo     = "192.168.100.5"
)

// edged writes a plan whole that has so many edges.
func edged(t *testing.T, file string, edges int) {
	t.Helper()
	all := []network.Edge{{Number: 1, Address: netip.MustParseAddr(blueOne)}, {Number: 2, Address: netip.MustParseAddr(blueTwo)}}
	n := network.Network{
		Name: "clusters.vlan100", Primary: true,
		Services:   []network.Service{network.ServiceDHCP, network.ServiceDNS},
		CIDR:       netip.MustParsePrefix("192.168.100.0/24"),
		NextHopVIP: netip.MustParseAddr(blueNextHop), ServiceVIP: netip.MustParseAddr(blueService),
		Edges: all[:edges],
		DHCP: network.DHCP{
			Range:    network.Range{First: netip.MustParseAddr("192.168.100.10"), Last: netip.MustParseAddr("192.168.100.253")},
			ServerID: netip.MustParseAddr(blueService),
		},
	}
	for _, e := range all[edges:] {
		n.ReservedAddresses = append(n.ReservedAddresses, e.Address)
	}
	p := network.Plan{Cluster: network.Cluster{Namespace: "clusters", Name: "blue"}, Networks: []network.Network{n}}
	if err := os.WriteFile(file+".new", p.JSON(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// A guarded is one edge on the VLAN: its servers' health, and its guard, which is
// `oooi edge failover` itself.
type guarded struct {
	*testing.T
	ns        *netns.Namespace
	number    string
	plan, dir string
	dhcp, dns *fakes.Server
	program   *program
	command   *exec.Cmd
	ended     chan error
}

func newGuarded(t *testing.T, segment *netns.Segment, number, plan, own string) *guarded {
	t.Helper()
	e := &guarded{T: t, ns: netns.New(t), number: number, plan: plan, dir: fakes.RunDir(t)}
	segment.Attach(t, e.ns, "net1", "", own+"/24", blueNextHop+"/32", blueService+"/32")
	e.dhcp, e.dns = fakes.NewServer(t, e.dir, "dhcp"), fakes.NewServer(t, e.dir, "dns")
	return e
}

func (e *guarded) start() {
	e.Helper()
	e.program = &program{}
	e.command = command(e.T, e.ns, "edge", "failover", "--plan", e.plan, "--edge", e.number, "--run-dir", e.dir)
	e.command.Stdout, e.command.Stderr = e.program, e.program
	if err := e.command.Start(); err != nil {
		e.Fatal(err)
	}
	ended := make(chan error, 1)
	e.ended = ended
	go func(c *exec.Cmd) { ended <- c.Wait(); close(ended) }(e.command)
	e.Cleanup(func() {
		_ = e.command.Process.Kill()
		<-ended
		if e.Failed() {
			e.Logf("guard of edge %s said:\n%s", e.number, e.program.said())
		}
	})
}

// probed is why the edge is not ready, empty where it is.
func (e *guarded) probed() string {
	out, _ := command(e.T, e.ns, "edge", "probe", "failover", "--run-dir", e.dir).CombinedOutput()
	return strings.TrimSpace(string(out))
}

func (e *guarded) metrics() string { return scraped(e.T, wire.Socket(e.dir, wire.Failover)) }

// TestTwoGuards: from the first that waits for the second, by a server that fails,
// to one that leaves when the machines have moved.
func TestTwoGuards(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	segment := netns.NewSegment(t)
	plan := filepath.Join(t.TempDir(), "plan.json")
	edged(t, plan, 2)
	one, two := newGuarded(t, segment, "1", plan, blueOne), newGuarded(t, segment, "2", plan, blueTwo)
	machine := netns.New(t)
	segment.Attach(t, machine, "eth0", "", "192.168.100.20/24")
	next := func() string { return machine.Neighbour(t, "eth0", blueNextHop) }
	first, second := one.ns.MAC(t, "net1"), two.ns.MAC(t, "net1")

	one.dns.Say(errors.New("waiting for 192.168.100.3 on interface net1"))
	one.start()
	g.Eventually(one.probed, "20s").Should(Equal("oooi: failover: not ready: dns: does not serve: waiting for 192.168.100.3 on interface net1"))
	one.dns.Say(nil)
	g.Eventually(one.probed, "20s").Should(Equal("oooi: failover: not ready: " + agent.ErrUnseen.Error()))
	two.start()
	g.Eventually(two.probed, "20s").Should(BeEmpty())
	g.Eventually(one.probed, "20s").Should(BeEmpty())
	g.Eventually(one.metrics, "10s").Should(And(ContainSubstring(`oooi_failover_peer{state="serving"} 1`), ContainSubstring(`oooi_failover_phase{phase="serving"} 1`),
		ContainSubstring("oooi_failover_ready 1"), ContainSubstring("oooi_failover_degraded 0")))

	machine.SetNeighbour(t, "eth0", blueNextHop, first, false)
	one.dns.End()
	g.Eventually(next, "10s", "50ms").Should(Equal(second), "a server of the first is gone")
	g.Eventually(one.probed, "10s").Should(HavePrefix("oooi: failover: not ready: dns: "))
	g.Eventually(two.metrics, "10s").Should(And(ContainSubstring(`oooi_failover_peer{state="idle"} 1`), MatchRegexp(`oooi_failover_announcements_total\{result="sent"\} [1-9]`)))
	g.Expect(two.probed()).To(BeEmpty())
	one.dns.Start()
	g.Eventually(one.probed, "10s").Should(BeEmpty())

	g.Eventually(two.metrics, "10s").Should(ContainSubstring(`oooi_failover_peer{state="serving"} 1`))
	g.Eventually(func() string {
		return two.ns.Run(t, "ip", "neigh", "show", "nud", "incomplete", "to", "169.254.0.0/16")
	}, "10s", "50ms").Should(BeEmpty(), "its last claim is done with")
	machine.SetNeighbour(t, "eth0", blueNextHop, first, false)
	g.Expect(one.command.Process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Eventually(one.ended, "10s").Should(Receive(Not(HaveOccurred())))
	g.Expect(next()).To(Equal(second), "it ended when the machines had moved")
}

// TestGuardFollowsThePlan: from one edge to two and back, without saying that it
// leaves.
func TestGuardFollowsThePlan(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	segment := netns.NewSegment(t)
	plan, both := filepath.Join(t.TempDir(), "plan.json"), filepath.Join(t.TempDir(), "plan.json")
	edged(t, plan, 1)
	edged(t, both, 2)
	one, two := newGuarded(t, segment, "1", plan, blueOne), newGuarded(t, segment, "2", both, blueTwo)
	one.start()
	g.Eventually(one.probed, "20s").Should(BeEmpty(), "there is nobody to be seen by")
	g.Eventually(one.metrics, "10s").Should(ContainSubstring(`oooi_failover_peer{state="alone"} 1`))
	two.start()
	edged(t, plan, 2)
	g.Eventually(one.metrics, "20s").Should(ContainSubstring(`oooi_failover_peer{state="serving"} 1`))
	g.Eventually(two.probed, "20s").Should(BeEmpty())
	g.Expect(one.probed()).To(BeEmpty())
	edged(t, plan, 1)
	g.Eventually(one.metrics, "20s").Should(ContainSubstring(`oooi_failover_peer{state="alone"} 1`))
	g.Eventually(two.metrics, "20s").Should(ContainSubstring(`oooi_failover_peer{state="idle"} 1`), "its kernel refuses what is not listened for")
	g.Expect(one.program.said()).NotTo(ContainSubstring("phase=leaving"))
	g.Expect(one.command.Process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Eventually(one.ended, "5s").Should(Receive(Not(HaveOccurred())))
}

// TestTheEdgeThatGoes from a plan leaves the machines to the one that stays, and
// has them while that one is away.
func TestTheEdgeThatGoes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	segment := netns.NewSegment(t)
	plan := filepath.Join(t.TempDir(), "plan.json")
	edged(t, plan, 2)
	one, two := newGuarded(t, segment, "1", plan, blueOne), newGuarded(t, segment, "2", plan, blueTwo)
	machine := netns.New(t)
	segment.Attach(t, machine, "eth0", "", "192.168.100.20/24")
	next := func() string { return machine.Neighbour(t, "eth0", blueNextHop) }
	one.start()
	two.start()
	g.Eventually(two.probed, "20s").Should(BeEmpty())
	edged(t, plan, 1)
	g.Eventually(one.metrics, "20s").Should(ContainSubstring(`oooi_failover_peer{state="alone"} 1`))
	g.Eventually(two.program.said, "20s").Should(And(ContainSubstring("edge removed from the plan"), ContainSubstring("removed=true")))
	g.Eventually(two.metrics, "20s").Should(ContainSubstring(`oooi_failover_peer{state="idle"} 1`))
	g.Eventually(two.probed, "20s").Should(BeEmpty(), "it serves on")
	machine.SetNeighbour(t, "eth0", blueNextHop, one.ns.MAC(t, "net1"), false)
	announcements := regexp.MustCompile(`announcements_total\{result="sent"\} \d+`)
	made := announcements.FindString(two.metrics())
	g.Consistently(func() string { return announcements.FindString(two.metrics()) }, "3s").Should(Equal(made))
	g.Expect(next()).To(Equal(one.ns.MAC(t, "net1")))
	segment.Pull(t, one.ns, "net1")
	g.Eventually(next, "10s", "50ms").Should(Equal(two.ns.MAC(t, "net1")))
	edged(t, plan, 2)
	g.Eventually(two.program.said, "10s").Should(ContainSubstring(`removed=false`))
}

// TestGuardKeepsWhatItHas: a plan that moves addresses which this pod does not
// have is for the next pod.
func TestGuardKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	segment := netns.NewSegment(t)
	plan := filepath.Join(t.TempDir(), "plan.json")
	edged(t, plan, 2)
	one, two := newGuarded(t, segment, "1", plan, blueOne), newGuarded(t, segment, "2", plan, blueTwo)
	one.start()
	two.start()
	g.Eventually(one.probed, "20s").Should(BeEmpty())
	b, err := os.ReadFile(plan)
	g.Expect(err).NotTo(HaveOccurred())
	moved := strings.NewReplacer(blueNextHop+`"`, `192.168.100.7"`, blueOne+`"`, `192.168.100.8"`, blueTwo+`"`, `192.168.100.9"`).Replace(string(b))
	g.Expect(os.WriteFile(plan+".new", []byte(moved), 0o600)).To(Succeed())
	g.Expect(os.Rename(plan+".new", plan)).To(Succeed())
	for _, e := range []*guarded{one, two} {
		g.Eventually(e.program.said, "10s").Should(ContainSubstring("plan changed"))
	}
	g.Consistently(one.metrics, "3s").Should(ContainSubstring(`oooi_failover_peer{state="serving"} 1`))
	segment.Pull(t, two.ns, "net1")
	g.Eventually(two.probed, "10s").Should(Equal("oooi: failover: not ready: interface net1 has no carrier"))
	segment.Plug(t, two.ns, "net1")
	g.Eventually(two.probed, "10s").Should(BeEmpty())
	for _, a := range []string{"192.168.100.7/32", "192.168.100.8/24"} {
		one.ns.Address(t, "net1", a)
	}
	g.Eventually(one.program.said, "10s").Should(And(ContainSubstring("failover assignment changed"), ContainSubstring("address=192.168.100.8")))
}
