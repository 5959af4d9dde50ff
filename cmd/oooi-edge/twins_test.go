package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/agent"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
)

// newTwin returns the edges of one management cluster: both have the plan of the hosted cluster with this UID, and a
// cluster network of their own.
func newTwin(t *testing.T, segment *netns.Segment, uid string) (pair [2]*edgePod) {
	t.Helper()
	g, cluster, plan := NewWithT(t), netns.NewSegment(t), filepath.Join(t.TempDir(), "plan.json")
	writePlan(t, plan, 2)
	b, err := os.ReadFile(plan)
	g.Expect(err).NotTo(HaveOccurred())
	var p network.Plan
	g.Expect(json.Unmarshal(b, &p)).To(Succeed())
	p.Cluster.UID = uid
	g.Expect(os.WriteFile(plan, p.JSON(), 0o600)).To(Succeed())
	for i, own := range []string{blueOne, blueTwo} {
		e := newEdgePod(t, segment, fmt.Sprint(i+1), plan, own)
		cluster.Attach(t, e.ns, "eth0", "", fmt.Sprintf("10.9.0.%d/24", i+1))
		e.cluster = "eth0"
		pair[i] = e
	}
	return pair
}

// serves waits until both edges of a pair are ready.
func serves(t *testing.T, pair [2]*edgePod) {
	t.Helper()
	for _, e := range pair {
		NewWithT(t).Eventually(e.probed, patience.Limit, "200ms").Should(BeEmpty(), "edge %s", e.number)
	}
}

// yields waits until both edges of a pair name an edge of the other one, and then checks that they announced nothing,
// and that DHCP answers no client.
func yields(t *testing.T, pair, to [2]*edgePod) {
	t.Helper()
	g := NewWithT(t)
	for _, e := range pair {
		g.Eventually(e.probed, patience.Limit, "200ms").Should(And(ContainSubstring("edges of another management cluster serve this network"),
			Or(ContainSubstring(to[0].ns.MAC(t, "net1")), ContainSubstring(to[1].ns.MAC(t, "net1")))), "edge %s", e.number)
		var dhcp agent.Peer
		go dhcp.Watch(t.Context(), e.dir, slog.New(slog.NewTextHandler(t.Output(), nil)))
		g.Eventually(dhcp.Yields).Should(BeTrue(), "DHCP answers no client")
		g.Expect(e.program.Count("failover announcement sent")).To(BeZero(), "VMs stay with the others")
	}
}

// TestSecondManagementCluster: edges serve. Edges of a second management cluster with the same addresses start, as
// after a restore without address conflict detection. They serve nothing, and the first ones serve all the time. The
// same holds when an edge that serves is recreated, and when one that yields is.
func TestSecondManagementCluster(t *testing.T) {
	t.Parallel()
	g, segment := NewWithT(t), netns.NewSegment(t)
	first, second := newTwin(t, segment, "uid-of-the-first"), newTwin(t, segment, "a-uid-that-sorts-first")
	for _, e := range first {
		e.start()
	}
	serves(t, first)
	incumbents(t, first[:]...)
	vm := netns.New(t)
	segment.Attach(t, vm, "eth0", "", "192.168.100.20/24")
	vm.SetNeighbour(t, "eth0", blueNextHop, first[0].ns.MAC(t, "net1"), false)
	announced := first[0].program.Count("failover announcement sent") + first[1].program.Count("failover announcement sent")
	for _, e := range second {
		e.start()
	}
	yields(t, second, first)
	serves(t, first)
	g.Expect(first[0].program.String()+first[1].program.String()).NotTo(ContainSubstring("yields=true"), "a younger pod is not followed")
	g.Expect(first[0].program.Count("failover announcement sent")+first[1].program.Count("failover announcement sent")).To(Equal(announced), "no VM moved")
	g.Expect(vm.Neighbour(t, "eth0", blueNextHop)).To(Or(BeEmpty(), Equal(first[0].ns.MAC(t, "net1"))), "a kernel with many neighbors forgets some")

	g.Expect(first[0].command.Process.Kill()).To(Succeed())
	<-first[0].ended
	first[0].start()
	serves(t, first)
	yields(t, second, first)

	// The kernel of an edge that yields answers ARP requests.
	for _, e := range first {
		segment.Pull(t, e.ns, "net1")
	}
	vm.Run(t, "ip", "neighbour", "flush", "dev", "eth0")
	g.Eventually(func() string {
		vm.Do(t, func() {
			if c, err := net.Dial("udp4", net.JoinHostPort(blueNextHop, "9")); err == nil {
				_, _ = c.Write([]byte("x"))
				_ = c.Close()
			}
		})
		return vm.Neighbour(t, "eth0", blueNextHop)
	}, patience.Limit, "50ms").Should(Or(Equal(second[0].ns.MAC(t, "net1")), Equal(second[1].ns.MAC(t, "net1"))))
	g.Expect(second[0].probed()).To(ContainSubstring("edges of another management cluster serve this network"), "it yields for 30 s")
}

// incumbents waits until each edge has sent 7 more heartbeats over both networks, and some probes. After 6 it yields to no
// other management cluster.
func incumbents(t *testing.T, edges ...*edgePod) {
	t.Helper()
	sent := func(e *edgePod) int {
		udp := strings.Fields(e.ns.Run(t, "grep", "^Udp: [0-9]", "/proc/net/snmp"))
		n, _ := strconv.Atoi(udp[4])
		return n
	}
	before := map[*edgePod]int{}
	for _, e := range edges {
		before[e] = sent(e)
	}
	for _, e := range edges {
		NewWithT(t).Eventually(sent, patience.Limit, "200ms").WithArguments(e).Should(BeNumerically(">=", before[e]+2*7+4))
	}
}

// TestManagementClustersThatStartTogether: one pair serves, the other one yields. Which one is decided by the UIDs of
// their HostedClusters.
func TestManagementClustersThatStartTogether(t *testing.T) {
	t.Parallel()
	segment := netns.NewSegment(t)
	last, first := newTwin(t, segment, "z"), newTwin(t, segment, "a")
	for i := range last {
		first[i].start()
		last[i].start()
	}
	serves(t, first)
	yields(t, last, first)
}

// TestACDBesideEdges: the address conflict detection of a second management cluster finds edges that serve, and does
// not disturb them: no edge announces, and no VM moves.
func TestACDBesideEdges(t *testing.T) {
	t.Parallel()
	g, segment := NewWithT(t), netns.NewSegment(t)
	pair := newTwin(t, segment, "a")
	for _, e := range pair {
		e.start()
	}
	serves(t, pair)
	count := func(what string) int { return pair[0].program.Count(what) + pair[1].program.Count(what) }
	g.Eventually(func() string {
		return pair[0].ns.Run(t, "ip", "neigh", "show", "nud", "incomplete", "to", "169.254.0.0/16") + pair[1].ns.Run(t, "ip", "neigh", "show", "nud", "incomplete", "to", "169.254.0.0/16")
	}, patience.Limit, "50ms").Should(BeEmpty(), "the last announcement has ended")
	announced, changed := count("failover announcement sent"), count("peer state changed")
	checks := netns.New(t)
	segment.Attach(t, checks, "net1", "", blueTwo+"/24")
	dir := fakes.RunDir(t)
	p := start(t, checks, "acd", "--plan", pair[0].plan, "--edge", "0", "--run-dir", dir)
	g.Eventually(p.String, patience.Limit, "100ms").Should(ContainSubstring(blueNextHop + " by MAC "))
	incumbents(t, pair[:]...)
	g.Expect(count("failover announcement sent")).To(Equal(announced))
	g.Expect(count("peer state changed")).To(Equal(changed), "each heard the other all the time")
	serves(t, pair)
}

// TestManagementClustersThatMeet: two pairs serve on a VLAN that is cut between them. When it is whole again, no pair
// yields, and each notices the other.
func TestManagementClustersThatMeet(t *testing.T) {
	t.Parallel()
	netns.Require(t, "nft")
	g, segment := NewWithT(t), netns.NewSegment(t)
	one, two := newTwin(t, segment, "a"), newTwin(t, segment, "z")
	var ends []func()
	for i, pair := range [][2]*edgePod{one, two} {
		others := [][2]*edgePod{two, one}[i]
		for _, e := range pair {
			ends = append(ends, segment.DropTo(t, e.ns, "net1", "ether saddr { "+others[0].ns.MAC(t, "net1")+", "+others[1].ns.MAC(t, "net1")+" }"))
			e.start()
		}
	}
	serves(t, one)
	serves(t, two)
	all := append(one[:], two[:]...)
	incumbents(t, all...)
	for _, end := range ends {
		end()
	}
	// Two kernels send to the other pair, as after a request for the peer's address that both pairs answered.
	one[0].ns.SetNeighbour(t, "net1", blueTwo, two[1].ns.MAC(t, "net1"), false)
	two[0].ns.SetNeighbour(t, "net1", blueTwo, one[1].ns.MAC(t, "net1"), false)
	for _, pair := range [][2]*edgePod{one, two} {
		g.Eventually(func() int {
			return pair[0].program.Count("edges of another management cluster") + pair[1].program.Count("edges of another management cluster")
		}, patience.Limit, "200ms").Should(BeNumerically(">", 0))
	}
	incumbents(t, all...)
	for _, e := range all {
		g.Expect(e.program.String()).NotTo(ContainSubstring("yields=true"))
	}
}

// TestSameEdgeOfTwoManagementClusters: two edges with one number do not notice each other. Their kernels drop packets from
// their own address.
func TestSameEdgeOfTwoManagementClusters(t *testing.T) {
	t.Parallel()
	segment := netns.NewSegment(t)
	one, two := newTwin(t, segment, "a"), newTwin(t, segment, "z")
	for _, e := range []*edgePod{one[1], two[1]} {
		segment.Pull(t, e.ns, "net1")
	}
	same := []*edgePod{one[0], two[0]}
	for _, e := range same {
		e.start()
	}
	incumbents(t, same...)
	for _, e := range same {
		NewWithT(t).Expect(e.program.String()).NotTo(ContainSubstring("another management cluster"))
	}
}
