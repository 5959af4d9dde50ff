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
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

const (
	blueNextHop = "192.168.100.2"
	blueOne     = "192.168.100.4"
	blueTwo     = "192.168.100.5"
)

// writePlan replaces the plan in file with one that has this many edges.
func writePlan(t *testing.T, file string, edges int) {
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

// An edgePod is one edge on the VLAN: the health of its servers, and its failover agent,
// which is `oooi-edge failover` itself.
type edgePod struct {
	*testing.T
	ns        *netns.Namespace
	number    string
	plan, dir string
	// cluster is the device on the cluster network. Empty: none.
	cluster   string
	dhcp, dns *fakes.Server
	program   *programs.Output
	command   *exec.Cmd
	ended     chan error
}

func newEdgePod(t *testing.T, segment *netns.Segment, number, plan, own string) *edgePod {
	t.Helper()
	e := &edgePod{T: t, ns: netns.New(t), number: number, plan: plan, dir: fakes.RunDir(t)}
	segment.Attach(t, e.ns, "net1", "", own+"/24", blueNextHop+"/32", blueService+"/32")
	e.dhcp, e.dns = fakes.NewServer(t, e.dir, "dhcp"), fakes.NewServer(t, e.dir, "dns")
	return e
}

// newEdgePods returns the pods of two edges on one segment, and the file of their plan.
func newEdgePods(t *testing.T) (segment *netns.Segment, plan string, one, two *edgePod) {
	t.Helper()
	segment, plan = netns.NewSegment(t), filepath.Join(t.TempDir(), "plan.json")
	writePlan(t, plan, 2)
	return segment, plan, newEdgePod(t, segment, "1", plan, blueOne), newEdgePod(t, segment, "2", plan, blueTwo)
}

func (e *edgePod) start() {
	e.Helper()
	e.program = &programs.Output{}
	args := []string{"failover", "--plan", e.plan, "--edge", e.number, "--run-dir", e.dir}
	if e.cluster != "" {
		args = append(args, "--cluster-interface", e.cluster)
	}
	e.command = command(e.T, e.ns, args...)
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
			e.Logf("failover agent of edge %s said:\n%s", e.number, e.program)
		}
	})
}

// probed returns why the edge is not ready, empty if it is.
func (e *edgePod) probed() string {
	out, _ := command(e.T, e.ns, "probe", "failover", "--run-dir", e.dir).CombinedOutput()
	return strings.TrimSpace(string(out))
}

func (e *edgePod) metrics() string { return scraped(e.T, wire.Socket(e.dir, wire.Failover)) }

// TestTwoEdges: the first edge waits for the second, a server fails, and an edge drains.
func TestTwoEdges(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	segment, _, one, two := newEdgePods(t)
	vm := netns.New(t)
	segment.Attach(t, vm, "eth0", "", "192.168.100.20/24")
	next := func() string { return vm.Neighbour(t, "eth0", blueNextHop) }
	first, second := one.ns.MAC(t, "net1"), two.ns.MAC(t, "net1")

	one.dns.Say(errors.New("waiting for 192.168.100.3 on interface net1"))
	one.start()
	g.Eventually(one.probed).Should(Equal("oooi-edge: failover: not ready: dns: does not serve: waiting for 192.168.100.3 on interface net1"))
	one.dns.Say(nil)
	g.Eventually(one.probed).Should(Equal("oooi-edge: failover: not ready: " + agent.ErrUnseen.Error()))
	two.start()
	g.Eventually(two.probed).Should(BeEmpty())
	g.Eventually(one.probed).Should(BeEmpty())
	g.Eventually(one.metrics).Should(And(ContainSubstring(`oooi_failover_peer{state="serving"} 1`), ContainSubstring(`oooi_failover_phase{phase="serving"} 1`),
		ContainSubstring(`oooi_failover_level{level="serves"} 1`), ContainSubstring(`oooi_failover_path{path="vlan"} 1`), ContainSubstring(`oooi_failover_path{path="cluster"} 0`),
		ContainSubstring(`oooi_failover_duplicated{edge="own"} 0`), ContainSubstring("oooi_failover_ready 1"), ContainSubstring("oooi_failover_degraded 0")))

	vm.SetNeighbour(t, "eth0", blueNextHop, first, false)
	one.dns.End()
	g.Eventually(next, patience.Limit, "50ms").Should(Equal(second), "a server of the first is gone")
	g.Eventually(one.probed).Should(HavePrefix("oooi-edge: failover: not ready: dns: "))
	g.Eventually(two.metrics).Should(And(ContainSubstring(`oooi_failover_peer{state="idle"} 1`), MatchRegexp(`oooi_failover_announcements_total\{result="sent"\} [1-9]`)))
	g.Expect(two.probed()).To(BeEmpty())
	one.dns.Start()
	g.Eventually(one.probed).Should(BeEmpty())

	g.Eventually(two.metrics).Should(ContainSubstring(`oooi_failover_peer{state="serving"} 1`))
	g.Eventually(func() string {
		return two.ns.Run(t, "ip", "neigh", "show", "nud", "incomplete", "to", "169.254.0.0/16")
	}, patience.Limit, "50ms").Should(BeEmpty(), "its last announcement has ended")
	vm.SetNeighbour(t, "eth0", blueNextHop, first, false)
	g.Expect(one.command.Process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Eventually(one.ended).Should(Receive(Not(HaveOccurred())))
	g.Eventually(next).Should(Equal(second))
}

// TestFailoverFollowsThePlan from one edge to two and back, without draining.
func TestFailoverFollowsThePlan(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	segment := netns.NewSegment(t)
	plan, both := filepath.Join(t.TempDir(), "plan.json"), filepath.Join(t.TempDir(), "plan.json")
	writePlan(t, plan, 1)
	writePlan(t, both, 2)
	one, two := newEdgePod(t, segment, "1", plan, blueOne), newEdgePod(t, segment, "2", both, blueTwo)
	one.start()
	g.Eventually(one.probed).Should(BeEmpty(), "there is no peer")
	g.Eventually(one.metrics).Should(ContainSubstring(`oooi_failover_peer{state="alone"} 1`))
	two.start()
	writePlan(t, plan, 2)
	g.Eventually(one.metrics).Should(ContainSubstring(`oooi_failover_peer{state="serving"} 1`))
	g.Eventually(two.probed).Should(BeEmpty())
	g.Expect(one.probed()).To(BeEmpty())
	writePlan(t, plan, 1)
	g.Eventually(one.metrics).Should(ContainSubstring(`oooi_failover_peer{state="alone"} 1`))
	g.Eventually(two.metrics).Should(ContainSubstring(`oooi_failover_peer{state="idle"} 1`), "its kernel refuses what is not listened for")
	g.Expect(one.program.String()).NotTo(ContainSubstring("phase=leaving"))
	g.Expect(one.command.Process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Eventually(one.ended).Should(Receive(Not(HaveOccurred())))
}

// TestRemovedEdge leaves the VMs to the remaining edge, and takes over while that one is
// unreachable.
func TestRemovedEdge(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	segment, plan, one, two := newEdgePods(t)
	vm := netns.New(t)
	segment.Attach(t, vm, "eth0", "", "192.168.100.20/24")
	next := func() string { return vm.Neighbour(t, "eth0", blueNextHop) }
	one.start()
	two.start()
	g.Eventually(two.probed).Should(BeEmpty())
	writePlan(t, plan, 1)
	g.Eventually(one.metrics).Should(ContainSubstring(`oooi_failover_peer{state="alone"} 1`))
	g.Eventually(two.program.String).Should(And(ContainSubstring("edge removed from the plan"), ContainSubstring("removed=true")))
	g.Eventually(two.metrics).Should(ContainSubstring(`oooi_failover_peer{state="idle"} 1`))
	g.Eventually(two.probed).Should(BeEmpty(), "it still serves")
	announcements := regexp.MustCompile(`announcements_total\{result="sent"\} \d+`)
	made := announcements.FindString(two.metrics())
	g.Consistently(func() string { return announcements.FindString(two.metrics()) }, "3s").Should(Equal(made))
	vm.SetNeighbour(t, "eth0", blueNextHop, one.ns.MAC(t, "net1"), false) // A kernel with many neighbors forgets some.
	segment.Pull(t, one.ns, "net1")
	g.Eventually(next, patience.Limit, "50ms").Should(Equal(two.ns.MAC(t, "net1")))
	writePlan(t, plan, 2)
	g.Eventually(two.program.String).Should(ContainSubstring(`removed=false`))
}

// TestAddressesOfTheNextPod: a plan that assigns addresses which this pod lacks is for the
// next pod.
func TestAddressesOfTheNextPod(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	segment, plan, one, two := newEdgePods(t)
	one.start()
	two.start()
	g.Eventually(one.probed).Should(BeEmpty())
	b, err := os.ReadFile(plan)
	g.Expect(err).NotTo(HaveOccurred())
	moved := strings.NewReplacer(blueNextHop+`"`, `192.168.100.7"`, blueOne+`"`, `192.168.100.8"`, blueTwo+`"`, `192.168.100.9"`).Replace(string(b))
	g.Expect(os.WriteFile(plan+".new", []byte(moved), 0o600)).To(Succeed())
	g.Expect(os.Rename(plan+".new", plan)).To(Succeed())
	for _, e := range []*edgePod{one, two} {
		g.Eventually(e.program.String).Should(ContainSubstring("plan changed"))
	}
	segment.Pull(t, two.ns, "net1")
	g.Eventually(two.probed).Should(Equal("oooi-edge: failover: not ready: interface net1 has no carrier"))
	segment.Plug(t, two.ns, "net1")
	g.Eventually(two.probed).Should(BeEmpty())
	g.Eventually(one.metrics).Should(ContainSubstring(`oooi_failover_peer{state="serving"} 1`))
	for _, e := range []*edgePod{one, two} {
		g.Expect(e.program.String()).NotTo(ContainSubstring("failover assignment changed"))
	}
	for _, a := range []string{"192.168.100.7/32", "192.168.100.8/24"} {
		one.ns.Address(t, "net1", a)
	}
	g.Eventually(one.program.String).Should(And(ContainSubstring("failover assignment changed"), ContainSubstring("address=192.168.100.8")))
}
