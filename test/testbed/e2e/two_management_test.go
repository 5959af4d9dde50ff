// This file restores a hosted cluster on a second management cluster while the first one serves the same VLAN: the rows of
// docs/restore.md, "Two management clusters on one VLAN", that real clusters can show in any order of their clocks. A cable connects
// the VLANs of two testbeds. Each runs the operator and real edges.
//
// The second runs only what makes Services, Routes and status of a hosted cluster. So its API server does not answer, and no VM joins
// there. TestRestored shows how a VM joins after a restore. Not shown: edges that start at the same time, which package
// edge/failover/twins decides within seconds, and networks with one edge, which notice nothing.

package e2e

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/measure"
	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/hypershift"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/lease"
	"github.com/cldmnky/oooi/test/testbed/worker"
	"github.com/cldmnky/oooi/test/velero"
)

// A pair is a hosted cluster on two management clusters with one VLAN.
type pair struct {
	first, second *stage
	vlan          int
	// log has the Deployments of oooi on the second.
	log *deploymentLog
}

func TestTwoManagementClusters(t *testing.T) {
	first := newBed(t, bedOptions{nodes: 2})
	second := newBed(t, bedOptions{nodes: 2, twin: &first, mini: true})
	const vlan = 251
	h, w := joined(t, first, hypershift.HostedClusterOptions{
		Name: "moved", Strategy: hypershift.LoadBalancerName, VLAN: vlan, Flags: onFirstNode(),
		Annotations: map[string]string{Annotation: "auto", Prefix + "edges": "2"},
	})
	s := stageOf(t, first, h, w)
	p := pair{first: s, second: &stage{bed: second, hosted: second.hosted(t, h.Name), network: s.network, name: s.name}, vlan: vlan}
	s.whole(t)
	NewWithT(t).Expect(first.cluster.LAN().ConnectVLAN(t.Context(), second.cluster.LAN(), vlan)).To(Succeed())
	p.log = p.second.logDeployments(t)
	t.Run("the second starts", func(t *testing.T) { p.unharmed(t, p.testStarts) })
	t.Run("without an address check", func(t *testing.T) { p.unharmed(t, p.testUnchecked) })
	t.Run("split VLAN", p.testSplit)
	t.Run("deleted on the first", p.testDeleted)
}

// unharmed expects that the first cluster serves its VMs all the time while do runs: no long connection is cut, and VMs still send to
// its edges.
func (p pair) unharmed(t *testing.T, do func(*testing.T)) {
	g, s := NewWithT(t), p.first
	host, port, err := net.SplitHostPort(s.api)
	g.Expect(err).NotTo(HaveOccurred())
	number, err := strconv.Atoi(port)
	g.Expect(err).NotTo(HaveOccurred())
	before := names(s.pods(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	at := func(port int) string { return netip.AddrPortFrom(s.network.ServiceVIP, uint16(port)).String() }
	m := measure.Start(ctx, measure.Options{
		Dial: lan.DialNetNS(s.worker.Machine.NetNS()), API: at(number), ServerName: host, Long: 4,
		DNS: at(53), Question: s.name, NTP: at(123), Renew: s.client.Renew, InTurn: true,
	})
	g.Expect(measure.AwaitAnswers(t.Context(), m)).To(Succeed())

	do(t)

	g.Expect(measure.AwaitAnswers(t.Context(), m)).To(Succeed())
	cancel()
	report := m.Wait()
	t.Logf("VMs of the first cluster: %+v", report)
	g.Expect(report.Long).To(HaveEach(HaveField("Cuts", BeEmpty())))
	g.Expect(report.DHCP.Addresses).To(Equal([]netip.Addr{s.client.Address}))
	for _, station := range s.stations {
		g.Expect(station.heading(t.Context(), s.network.NextHopVIP)).To(BeElementOf(s.macs(t)))
	}
	g.Expect(names(s.pods(t))).To(Equal(before), "no edge is recreated")
	c, err := s.hosted.Condition(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("the first cluster: %s", c.Message)
	g.Expect(c.Status).To(Equal(meta.ConditionTrue))
}

// macs are those of the edges that run.
func (s *stage) macs(t *testing.T) (all []string) {
	t.Helper()
	for _, p := range s.pods(t) {
		all = append(all, p.mac)
	}
	return all
}

// testStarts restores the hosted cluster on the second. Its operator creates no edge.
func (p pair) testStarts(t *testing.T) {
	g, h := NewWithT(t), p.second.hosted
	saved, err := velero.Save(t.Context(), p.first.hosted.Client, hypershift.Namespace, h.Namespace())
	g.Expect(err).NotTo(HaveOccurred())
	for _, u := range saved {
		g.Expect(velero.Restore(t.Context(), h.Client, u)).To(Succeed(), "%s %s", u.GetKind(), u.GetName())
	}
	_, err = p.second.hypershift.MakeNetwork(t.Context(), h.Namespace(), p.vlan)
	g.Expect(err).NotTo(HaveOccurred())
	p.conflicts(t)
	g.Expect(p.log.read()).To(Equal([]string{"new " + wire.ACDDeploymentName(p.second.network)}))
	p.checksAgain(t)
}

// conflicts waits until the second cluster names the next-hop VIP and an edge of the first, and has no edge.
func (p pair) conflicts(t *testing.T) {
	t.Helper()
	g, h := NewWithT(t), p.second.hosted
	g.Expect(h.WaitReason(t.Context(), meta.ConditionFalse, "AddressInUse")).To(Succeed())
	c, err := h.Condition(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("the second cluster: %s", c.Message)
	var named []gomegatypes.GomegaMatcher
	for _, mac := range p.first.macs(t) {
		named = append(named, ContainSubstring("MAC %s", mac))
	}
	g.Expect(c.Message).To(And(ContainSubstring("next-hop VIP %s", p.second.network.NextHopVIP), Or(named...)))
	g.Expect(h.Edges(t.Context())).To(BeEmpty())
}

// checksAgain waits for a minute, in which the address check of the second runs several times. Its pod has the address of edge 2, so
// edge 1 of the first may report that pod. It reports no other host.
func (p pair) checksAgain(t *testing.T) {
	t.Helper()
	g, s := NewWithT(t), p.first
	var pods core.PodList
	g.Expect(p.second.hosted.Client.List(t.Context(), &pods, client.InNamespace(s.hosted.Namespace()), ourOwn("oooi-acd"))).To(Succeed())
	g.Expect(pods.Items).To(HaveLen(1))
	check, err := vlanMAC(pods.Items[0])
	g.Expect(err).NotTo(HaveOccurred())
	select {
	case <-t.Context().Done():
	case <-time.After(time.Minute):
	}
	said, err := reports(t.Context(), s.hosted, s.network.Name)
	g.Expect(err).NotTo(HaveOccurred())
	for _, r := range said {
		t.Logf("edge %d of the first: peer %s, silent on the VLAN: %t, hosts with its address: %v", r.Edge, r.Peer, r.PeerSilent, r.PeerHosts)
		for _, host := range r.PeerHosts {
			g.Expect(host.MAC).To(Equal(check))
		}
		g.Expect(r.VIPHosts).To(BeEmpty())
	}
	s.whole(t)
}

// testUnchecked lets the check of the second pass while its VLAN is disconnected, and connects the VLAN before its edges run. They
// yield until the operator removes them.
func (p pair) testUnchecked(t *testing.T) {
	g, h, n := NewWithT(t), p.second.hosted, p.second.network
	p.join(t, false)
	g.Eventually(p.log.read).WithPolling(10 * time.Millisecond).Should(ContainElement("new " + wire.EdgeDeploymentName(n, n.Edges[0])))
	p.join(t, true)
	for _, e := range n.Edges {
		g.Eventually(p.log.read).Should(ContainElement("new " + wire.EdgeDeploymentName(n, e)))
	}
	p.second.scaleOperator(t, 0)
	yields := And(HaveField("Yields", true), HaveField("Level", reported.LevelNothing),
		HaveField("AddressesInUse", ConsistOf(And(HaveField("Address", n.NextHopVIP), HaveField("MAC", BeElementOf(p.first.macs(t)))))))
	g.Eventually(func() (map[int]reported.EdgeReport, error) { return reports(t.Context(), h, n.Name) }).WithPolling(time.Second).
		Should(And(HaveKeyWithValue(1, yields), HaveKeyWithValue(2, yields)))
	g.Expect(p.second.pods(t)).To(And(HaveLen(2), HaveEach(Not(Satisfy(edgePod.ready)))))

	c := p.newcomer(t, "unchecked")
	g.Expect(p.first.hosted.Leases(t.Context())).To(ContainElement(HaveField("Name", HaveSuffix("."+c.Address.String()))))
	g.Expect(h.Leases(t.Context())).To(BeEmpty(), "edges of the second answer no broadcast")
	for _, e := range n.Edges {
		g.Expect(p.log.read()).NotTo(ContainElement("available " + wire.EdgeDeploymentName(n, e)))
	}

	p.second.scaleOperator(t, 2)
	g.Eventually(func() (int, error) { edges, err := h.Edges(t.Context()); return len(edges), err }).WithPolling(time.Second).Should(BeZero())
	p.conflicts(t)
}

// join connects the VLAN, or disconnects it.
func (p pair) join(t *testing.T, in bool) {
	t.Helper()
	NewWithT(t).Expect(p.second.cluster.LAN().JoinVLAN(p.vlan, in)).To(Succeed())
	t.Logf("%s the VLAN is connected: %t", time.Now().Format(time.TimeOnly), in)
}

// newcomer attaches a DHCP client to the VLAN, at the second cluster.
func (p pair) newcomer(t *testing.T, name string) *lease.Client {
	t.Helper()
	g, dir := NewWithT(t), filepath.Join(p.second.cluster.Dir, name)
	g.Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	at := p.second.plug(t, name, p.vlan)
	c, err := lease.NewClient(t.Context(), at.netNS, at.card, dir)
	g.Expect(err).NotTo(HaveOccurred())
	p.second.stations = append(p.second.stations, at)
	return c
}

// scaleOperator waits until so many pods of the operator run.
func (s *stage) scaleOperator(t *testing.T, replicas int) {
	t.Helper()
	g := NewWithT(t)
	_, err := s.cluster.Kubectl(t.Context(), "-n", Namespace, "scale", "deployment/oooi", "--replicas="+strconv.Itoa(replicas))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = s.cluster.Kubectl(t.Context(), "-n", Namespace, "rollout", "status", "deployment/oooi", "--timeout="+await.Patience.String())
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() (int, error) {
		var pods core.PodList
		err := s.hosted.Client.List(t.Context(), &pods, client.InNamespace(Namespace))
		return len(pods.Items), err
	}).WithPolling(time.Second).Should(Equal(replicas))
}

// testSplit lets edges of both serve while the VLAN is disconnected. Connected, both continue, and both clusters name an edge of the
// other one. The second is then withdrawn, as the warning says.
func (p pair) testSplit(t *testing.T) {
	g := NewWithT(t)
	p.join(t, false)
	g.Expect(p.second.hosted.WaitEdges(t.Context())).To(Succeed())
	p.second.whole(t)
	both := []*stage{p.first, p.second}
	before := [][]string{names(p.first.pods(t)), names(p.second.pods(t))}
	p.join(t, true)
	for i, s := range both {
		var named []gomegatypes.GomegaMatcher
		for _, mac := range both[1-i].macs(t) {
			named = append(named, MatchRegexp("Another host answers for edge address .* Its MAC %s is that of", mac))
		}
		g.Eventually(func() (string, error) {
			c, err := s.hosted.Condition(t.Context())
			return c.Message, err
		}).WithPolling(time.Second).Should(And(ContainSubstring("AddressInUse"), Or(named...)))
		c, err := s.hosted.Condition(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		t.Log(c.Message)
	}
	for i, s := range both {
		g.Expect(s.pods(t)).To(And(HaveLen(2), HaveEach(Satisfy(edgePod.ready))))
		g.Expect(names(s.pods(t))).To(Equal(before[i]))
	}
	testWithdrawn(t, p.second.hosted, "none")
	g.Expect(p.second.hosted.Annotate(t.Context(), "auto")).To(Succeed())
	p.conflicts(t)
}

// testDeleted deletes the hosted cluster on the first. The second then serves the hosts on the VLAN.
func (p pair) testDeleted(t *testing.T) {
	g, s, h := NewWithT(t), p.first, p.second.hosted
	m := s.servers(t)
	log := p.second.logDeployments(t)
	deleted := make(chan error, 1)
	go func() { deleted <- s.hypershift.Destroy(s.ctx, s.hosted.Name) }()
	g.Eventually(func() (int, error) {
		edges, err := edgePods(t.Context(), s.hosted, s.network.Name)
		return len(edges), err
	}).
		WithPolling(100 * time.Millisecond).Should(BeZero())
	gone := time.Now()
	g.Eventually(func() (int, error) { edges, err := h.Edges(t.Context()); return len(edges), err }).
		WithPolling(100 * time.Millisecond).Should(Equal(len(s.network.Edges)))
	t.Logf("the second cluster created its edges %.0f s after those of the first were gone", time.Since(gone).Seconds())
	g.Expect(h.WaitEdges(t.Context())).To(Succeed())
	p.second.whole(t)
	t.Logf("they serve %.0f s after those of the first were gone", time.Since(gone).Seconds())
	log.checkedFirst(t, p.second.network)
	g.Expect(measure.AwaitAnswers(t.Context(), m)).To(Succeed())
	report := m.Report()
	t.Logf("a host on the VLAN: %+v", report)
	g.Expect(report.DHCP.Addresses).To(Equal([]netip.Addr{s.client.Address}), "it keeps its address")
	c := p.newcomer(t, "after")
	g.Expect(h.Leases(t.Context())).To(ContainElements(HaveField("Name", HaveSuffix("."+c.Address.String())), HaveField("Name", HaveSuffix("."+s.client.Address.String()))))
	now := p.second.macs(t)
	g.Expect(s.stations[1].heading(t.Context(), s.network.NextHopVIP)).To(BeElementOf(now))
	g.Expect(<-deleted).To(Succeed(), "HyperShift's own deletion")
	g.Expect(worker.Down(t.Context(), s.cluster, s.hosted.Namespace())).To(Succeed())
	condition, err := h.Condition(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("the second cluster: %s %s", condition.Reason, condition.Message)
}
