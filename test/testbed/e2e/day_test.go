// This file plays days of a hosted cluster: every event happens, in random order, again and again. After each, VMs have
// lost no more than the event may cost, and nothing moves or stays behind.

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/test/measure"
	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/hypershift"
	"github.com/cldmnky/oooi/test/testbed/lease"
	"github.com/cldmnky/oooi/test/testbed/worker"
	"github.com/cldmnky/oooi/test/testbed/worker/machine"
)

const (
	// dayVariable says for how long events happen: `make soak`. Without it, each happens once.
	dayVariable = "OOOI_DAY"
	// otherVariable names a checkout of another version of oooi. Without it, no event installs another version.
	otherVariable = "OOOI_OTHER"
)

// events are the faults, and what users and administrators do on a usual day.
func events() []fault {
	all := append(faults(),
		fault{name: "nodes rebooted in turn", planned: true, cuts: 2, do: rebootNodes},
		fault{name: "one edge, then two", planned: true, cuts: 1, do: changeEdges},
		fault{name: "operator restarted", planned: true, do: restartOperator},
		fault{name: "API server away", planned: true, do: takeAPIServer},
		fault{name: "a machine boots", planned: true, do: bootMachine},
		fault{name: "a NodePool comes and goes", planned: true, do: changeNodePools},
	)
	if other := os.Getenv(otherVariable); other != "" {
		all = append(all, fault{name: "another version, and back", planned: true, cuts: 2, onLongest: true, do: changeVersion(other)})
	}
	return all
}

// testDay lets all events happen in random order until the day is over, and prints the worst row of each.
func testDay(t *testing.T, s *stage) {
	g := NewWithT(t)
	var long time.Duration
	if text := os.Getenv(dayVariable); text != "" {
		var err error
		long, err = time.ParseDuration(text)
		g.Expect(err).NotTo(HaveOccurred(), dayVariable)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s.whole(t)
	plan, err := s.hosted.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	owned, all, worst := s.ownedNames(t), events(), map[string]measure.Row{}
	s.measureQuiet(t)
	begin := time.Now()
	for round := 1; round == 1 || time.Since(begin) < long; round++ {
		for i, at := range random.Perm(len(all)) {
			f := all[at]
			t.Run(fmt.Sprintf("%d.%d %s", round, i+1, f.name), func(t *testing.T) { worst[f.name] = worst[f.name].Worse(judged(t, s, f)) })
		}
	}
	table := newTable(s)
	table.add(nothing().name, s.quiet)
	for _, f := range all {
		table.add(f.name, worst[f.name])
	}
	table.print(t)
	after, err := s.hosted.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lasting(t, after)).To(Equal(lasting(t, plan)), "the same plan as before")
	g.Expect(s.ownedNames(t)).To(Equal(owned), "nothing stays behind")
}

// rebootNodes updates one node after the other, as OpenShift's Machine Config Operator does: the node is drained, and
// reboots. The first node has the control plane, so it is only drained.
func rebootNodes(t *testing.T, s *stage, m *measure.Measurement, _ edgePod) {
	g := NewWithT(t)
	for _, edge := range s.pods(t) {
		s.drained(t, m, edge, func() {
			if edge.nodeNumber() == 1 {
				return
			}
			g.Expect(s.cluster.NodeDown(edge.nodeNumber())).To(Succeed())
			defer func() { _ = s.cluster.NodeUp(edge.nodeNumber()) }()
			quiet(t, m, 5*time.Second)
		})
	}
}

// changeEdges removes the second edge, and adds it again.
func changeEdges(t *testing.T, s *stage, m *measure.Measurement, _ edgePod) {
	g := NewWithT(t)
	g.Expect(s.hosted.Set(t.Context(), map[string]string{"edges": "1"})).To(Succeed())
	g.Eventually(func() ([]edgePod, error) { return edgePods(t.Context(), s.hosted, s.network.Name) }).WithPolling(200 * time.Millisecond).Should(HaveLen(1))
	quiet(t, m, 3*time.Second)
	g.Expect(s.hosted.Set(t.Context(), map[string]string{"edges": "2"})).To(Succeed())
	s.whole(t)
}

// restartOperator deletes the operator's pods, and waits until new ones have looked at the cluster.
func restartOperator(t *testing.T, s *stage, m *measure.Measurement, _ edgePod) {
	g := NewWithT(t)
	before := s.pods(t)
	g.Expect(s.hosted.Client.DeleteAllOf(t.Context(), &core.Pod{}, client.InNamespace(Namespace), client.MatchingLabels{"app.kubernetes.io/name": "oooi"})).To(Succeed())
	_, err := s.cluster.Kubectl(t.Context(), "-n", Namespace, "rollout", "status", "deployment/oooi", "--timeout="+await.Patience.String())
	g.Expect(err).NotTo(HaveOccurred())
	s.operated(t)
	quiet(t, m, 2*time.Second)
	g.Expect(names(s.pods(t))).To(Equal(names(before)), "no edge is recreated")
}

// takeAPIServer takes the API server away for ten seconds.
func takeAPIServer(t *testing.T, s *stage, m *measure.Measurement, _ edgePod) {
	g := NewWithT(t)
	g.Expect(s.cluster.StopAPIServer(t.Context())).To(Succeed())
	defer func() { _ = s.cluster.StartAPIServer(s.ctx) }()
	quiet(t, m, 10*time.Second)
	g.Expect(s.cluster.StartAPIServer(t.Context())).To(Succeed())
	s.whole(t)
	s.held(t)
}

// bootMachine lets a machine get an address that no other has, and go.
func bootMachine(t *testing.T, s *stage, m *measure.Measurement, _ edgePod) {
	g := NewWithT(t)
	at := s.plug(t, "new"+s.hosted.Name, s.worker.VM.VLAN)
	dir := filepath.Join(t.TempDir(), "lease")
	g.Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	c, err := lease.NewClient(t.Context(), at.netNS, at.card, dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.network.DHCP.Range.Contains(c.Address)).To(BeTrue(), "%s", c.Address)
	g.Expect(c.Address).NotTo(BeElementOf([]netip.Addr{s.worker.Lease.Address.Addr(), s.client.Address}))
	quiet(t, m, 2*time.Second)
}

// changeNodePools adds a NodePool, boots its VM until it is a node, and deletes it: as an autoscaler does, or an upgrade that
// replaces nodes.
func changeNodePools(t *testing.T, s *stage, m *measure.Measurement, _ edgePod) {
	g := NewWithT(t)
	const pool = "spare"
	a := s.network.Attachment
	g.Expect(s.hypershift.CreateNodePool(t.Context(), s.hosted.Name, pool, a.Namespace+"/"+a.Name, 1)).To(Succeed())
	remove := func(ctx context.Context) error {
		_, err := s.cluster.Kubectl(ctx, "-n", hypershift.Namespace, "delete", "nodepool", pool, "--ignore-not-found", "--timeout="+await.Patience.String())
		return err
	}
	t.Cleanup(func() { _ = remove(s.ctx) })
	o, err := worker.New(t.Context(), s.cluster, s.hypershift, s.hosted.Name, worker.Print(t.Output()))
	g.Expect(err).NotTo(HaveOccurred())
	var vms []worker.VM
	there := func() (int, error) {
		all, _, err := worker.VMs(t.Context(), o.Management, s.hosted.Namespace())
		vms = slices.DeleteFunc(all, func(vm worker.VM) bool { return vm.Name == s.worker.VM.Name })
		return len(vms), err
	}
	g.Eventually(there).WithPolling(time.Second).Should(Equal(1))
	node, err := worker.Boot(t.Context(), o, vms[0])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.network.DHCP.Range.Contains(node.Lease.Address.Addr())).To(BeTrue())
	g.Expect(node.Lease.Address.Addr()).NotTo(BeElementOf([]netip.Addr{s.worker.Lease.Address.Addr(), s.client.Address}))
	g.Expect(remove(t.Context())).To(Succeed())
	g.Eventually(there).WithPolling(time.Second).Should(Equal(0))
	g.Expect(machine.SwitchOff(t.Context(), node.Machine.Name, node.Machine.Dir)).To(Succeed())
	quiet(t, m, 2*time.Second)
}

// changeVersion installs the version of oooi that the checkout in dir has, as an upgrade or a downgrade does, and then this one again. The
// edges follow both times, one after the other, and each version reads what the other wrote.
func changeVersion(dir string) func(*testing.T, *stage, *measure.Measurement, edgePod) {
	return func(t *testing.T, s *stage, m *measure.Measurement, edge edgePod) {
		g := NewWithT(t)
		load := exec.CommandContext(t.Context(), "go", "run", "./cmd/testbed", "--name", s.cluster.Name, "load", "oooi", "oooi-edge")
		load.Dir = filepath.Join(dir, "test", "testbed")
		out, err := load.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s", out)
		manifest, err := Manifests(filepath.Join(dir, "config", "default"))
		g.Expect(err).NotTo(HaveOccurred())
		other := strings.NewReplacer(cluster.OooiImage, cluster.OooiImage+"-other", cluster.EdgeImage, cluster.EdgeImage+"-other")
		for _, image := range []string{cluster.OooiImage, cluster.EdgeImage} {
			g.Expect(s.cluster.TagImage(t.Context(), image, other.Replace(image))).To(Succeed())
		}
		g.Expect(s.cluster.Apply(t.Context(), []byte(other.Replace(string(manifest))))).To(Succeed())
		s.rolled(t, edge, other.Replace(cluster.EdgeImage))
		s.operated(t)
		bootMachine(t, s, m, edge)
		next := s.chosen(t, fault{onLongest: true})
		g.Expect(InstallOperator(t.Context(), s.cluster)).To(Succeed())
		s.rolled(t, next, cluster.EdgeImage)
		s.operated(t)
	}
}
