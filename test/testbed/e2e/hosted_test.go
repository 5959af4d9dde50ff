// This file shows the main job for every publishing strategy: a worker on the VLAN
// joins through the edge, finds what is published and nothing else, and all of it
// goes when it is no longer wanted.

package e2e

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/semaphore"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/testbed/hypershift"
	"github.com/cldmnky/oooi/test/testbed/worker"
)

// TestHostedClusters shares one testbed. Its hosted clusters are on VLANs of their own and live side by side, as many
// as `go test -parallel` allows, and no more than two: the API servers of three that start do not answer in time on two
// cores. What takes longest begins first.
func TestHostedClusters(t *testing.T) {
	b := newBed(t, bedOptions{nodes: 1})
	room := semaphore.NewWeighted(2)
	t.Run("clusters", func(t *testing.T) {
		sideBySide(t, "networks", room, 2, func(t *testing.T) { testNetworks(t, b) })
		for i, strategy := range hypershift.Strategies() {
			sideBySide(t, string(strategy), room, 1, func(t *testing.T) { testStrategy(t, b, strategy, 200+i) })
		}
		sideBySide(t, "wrong-annotation", room, 1, func(t *testing.T) { testDenied(t, b) })
		for _, r := range refusals(b) {
			sideBySide(t, r.name, room, 1, func(t *testing.T) { testRefused(t, b, r) })
		}
	})
	t.Run("deletion", func(t *testing.T) { testDeletions(t, b) })
}

// sideBySide runs a subtest in parallel with others of t, while room has space for its hosted clusters.
func sideBySide(t *testing.T, name string, room *semaphore.Weighted, clusters int64, do func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		NewWithT(t).Expect(room.Acquire(t.Context(), clusters)).To(Succeed())
		defer room.Release(clusters)
		do(t)
	})
}

func testStrategy(t *testing.T, b bed, strategy hypershift.Strategy, vlan int) {
	h, w := joined(t, b, hypershift.HostedClusterOptions{
		Name: strings.ReplaceAll(string(strategy), "-", ""), Strategy: strategy, VLAN: vlan, Annotations: map[string]string{Annotation: "auto"},
	})
	if strategy == hypershift.LoadBalancerName {
		t.Run("names for pods", func(t *testing.T) { testPodNames(t, b, h) }) // the VM then finds nothing of it
		// first: it is as isolated with clients beyond the network
		t.Run("clients beyond the network", func(t *testing.T) { testOutside(t, b, h, w) })
	}
	if strategy == hypershift.Route {
		t.Run("access", func(t *testing.T) { testAccess(t, b, h, w) })
	}
	if strategy == hypershift.NodePort {
		t.Run("status", func(t *testing.T) { testStatus(t, b, h, w) })
	}
	if strategy == hypershift.NodePort || strategy == hypershift.Route {
		t.Run("tried", func(t *testing.T) { testTried(t, b, h) })
	}
	t.Run("isolated", func(t *testing.T) { testIsolated(t, b, h, w, Some()) })
	switch strategy {
	case hypershift.LoadBalancerIP:
		t.Run("none", func(t *testing.T) { testWithdrawn(t, h, "none") })
		t.Run("auto again", func(t *testing.T) { testAgain(t, h) })
		t.Run("taken", func(t *testing.T) { testTaken(t, b, h, w) })
	case hypershift.Route:
		t.Run("no annotation", func(t *testing.T) { testAnnotationLost(t, h) })
	}
	b.destroy(h)
}

// joined creates a hosted cluster with one VM, and returns when that is a node. o says what differs from others.
func joined(t *testing.T, b bed, o hypershift.HostedClusterOptions) (Hosted, *worker.Worker) {
	t.Helper()
	g := NewWithT(t)
	o.BaseDomain, o.Replicas, o.MachineCIDR = "example.com", 1, netip.MustParsePrefix("192.168.100.0/24")
	h, _ := b.create(t, o)
	_, _, err := b.hypershift.WaitEndpoint(t.Context(), o.Name)
	g.Expect(err).NotTo(HaveOccurred())
	known := time.Now()
	g.Expect(h.WaitEdges(t.Context())).To(Succeed())
	t.Logf("%s: served %.1fs after its endpoint was known", o.Name, time.Since(known).Seconds())
	g.Expect(b.hypershift.BootstrapGuest(t.Context(), o.Name)).To(Succeed())
	g.Expect(b.hypershift.WaitAvailable(t.Context(), o.Name)).To(Succeed())
	g.Expect(h.WaitReady(t.Context())).To(Succeed())
	return h, testWorkers(t, b, h, 1)[0]
}

// testWorkers boots the workers; what they assert themselves is said again here,
// where the tests are read.
func testWorkers(t *testing.T, b bed, h Hosted, want int) []*worker.Worker {
	t.Helper()
	g := NewWithT(t)
	o, err := worker.New(t.Context(), b.cluster, b.hypershift, h.Name, worker.Print(t.Output()))
	g.Expect(err).NotTo(HaveOccurred())
	workers, err := worker.BootAll(t.Context(), o, h.Namespace(), want)
	g.Expect(err).NotTo(HaveOccurred())
	plan, err := h.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	leases, err := h.Leases(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, l := range leases {
		names = append(names, l.Name)
	}
	guest, err := kubernetes.NewForConfig(o.Guest)
	g.Expect(err).NotTo(HaveOccurred())
	for _, w := range workers {
		n := networkOf(t, plan, w)
		g.Expect(n.DHCP.Range.Contains(w.Lease.Address.Addr())).To(BeTrue(), "%s is in %s", w.Lease.Address, n.DHCP.Range)
		g.Expect(w.Lease.Server).To(Equal(n.ServiceVIP), "every edge is the same DHCP server")
		g.Expect(w.Lease.HostName).To(Equal(w.VM.Name))
		g.Expect(w.Lease.NTP).To(Equal([]netip.Addr{n.ServiceVIP}), "edges tell the time")
		g.Expect(w.Time.Server).To(Equal(n.ServiceVIP), "ntpdig would follow it")
		g.Expect(w.Token.Status).To(Equal(200), "the whole configuration, by an edge")
		g.Expect(w.NoToken.Status).To(Equal(401))
		g.Expect(names).To(ContainElement(HaveSuffix("."+w.Lease.Address.Addr().String())), "a Lease for the address")
		testNode(t, guest, w)
	}
	g.Eventually(func() (string, error) {
		out, err := b.cluster.Kubectl(t.Context(), "-n", hypershift.Namespace, "get", "nodepools", h.Name,
			"-o", `jsonpath={.status.conditions[?(@.type=="ReachedIgnitionEndpoint")].status}`)
		return string(out), err
	}).WithPolling(time.Second).Should(Equal("True"), "HyperShift knows that VMs have their configuration")
	return workers
}

// networkOf is the network of the plan that the worker sits on.
func networkOf(t *testing.T, plan network.Plan, w *worker.Worker) network.Network {
	t.Helper()
	for _, n := range plan.Networks {
		if n.Attachment.String() == w.VM.Network {
			return n
		}
	}
	t.Fatalf("the plan has no network %s", w.VM.Network)
	return network.Network{}
}

// testNode expects a Ready node that its control plane reaches.
func testNode(t *testing.T, guest kubernetes.Interface, w *worker.Worker) {
	t.Helper()
	g := NewWithT(t)
	node, err := guest.CoreV1().Nodes().Get(t.Context(), w.VM.Name, meta.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(node.Status.Conditions).To(ContainElement(And(HaveField("Type", BeEquivalentTo("Ready")), HaveField("Status", BeEquivalentTo("True")))))
	g.Expect(node.Status.Addresses).To(ContainElement(HaveField("Address", w.Lease.Address.Addr().String())))
	call := worker.Call{Guest: guest, Node: node.Name}
	g.Expect(call.Healthz(t.Context())).To(Succeed(), "through konnectivity")
	_, lines, err := call.Logs(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lines).To(BeNumerically(">", 0), "kubectl logs")
}

// testWithdrawn opts out and expects that nothing of oooi is left, while HyperShift's
// own objects stay.
func testWithdrawn(t *testing.T, h Hosted, value string) {
	g := NewWithT(t)
	owned, err := h.Owned(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(owned).To(ContainElements(HavePrefix("configmap/"), HavePrefix("deployment.apps/"), HavePrefix("serviceaccount/"), HavePrefix("lease.coordination.k8s.io/")))

	g.Expect(h.Annotate(t.Context(), value)).To(Succeed())

	g.Eventually(func() ([]string, error) { return h.Owned(t.Context()) }).WithPolling(time.Second).Should(BeEmpty())
	g.Eventually(func() (meta.Condition, error) { return h.Condition(t.Context()) }).Should(BeZero(), "nothing is said any more")
	bindings, err := h.Cluster.Kubectl(t.Context(), "-n", h.Namespace(), "get", "rolebindings,networkpolicies,serviceaccounts", "-o", "name")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(bindings)).NotTo(ContainSubstring("oooi"), "nothing unlabelled either")
	g.Expect(string(bindings)).To(ContainSubstring("control-plane-operator"), "HyperShift's own stay")
}

// testAnnotationLost removes the annotation while a VM runs, and expects a warning and all edges.
// The warning offers to remove them now, and that does.
func testAnnotationLost(t *testing.T, h Hosted) {
	g := NewWithT(t)
	before, err := h.Owned(t.Context())
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(h.Annotate(t.Context(), "")).To(Succeed())

	g.Eventually(func() (meta.Condition, error) { return h.Condition(t.Context()) }).WithPolling(time.Second).
		Should(HaveField("Message", And(ContainSubstring("RemovalScheduled"), ContainSubstring("none"))))
	g.Expect(h.Owned(t.Context())).To(ContainElements(before), "a VM uses the network")
	testWithdrawn(t, h, "none")
}

// testAgain opts in a cluster that is there already, and says how long it takes
// from the annotation to an edge that serves.
func testAgain(t *testing.T, h Hosted) {
	g := NewWithT(t)
	g.Expect(h.Annotate(t.Context(), "auto")).To(Succeed())
	asked := time.Now()
	g.Expect(h.WaitEdges(t.Context())).To(Succeed())
	t.Logf("served %.1fs after the annotation", time.Since(asked).Seconds())
	g.Expect(h.WaitReady(t.Context())).To(Succeed())
}
