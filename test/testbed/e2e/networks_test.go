// This file shows networks that are not one to a hosted cluster: two NodePools on
// two VLANs, and two hosted clusters on one.

package e2e

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/testbed/hypershift"
	"github.com/cldmnky/oooi/test/testbed/worker"
	"github.com/cldmnky/oooi/test/testbed/worker/machine"
)

// The VLAN of both clusters, and the elder's second one.
const sharedVLAN, furtherVLAN = 210, 211

func sharedCIDR() netip.Prefix { return netip.MustParsePrefix("192.168.110.0/24") }

// The younger's part of the shared VLAN: what the elder leaves free.
func disjoint() map[string]string {
	return map[string]string{"edge-addresses": "192.168.110.200-192.168.110.203", "dhcp-range": "192.168.110.210-192.168.110.249"}
}

// testNetworks lets two hosted clusters live together: the elder, which takes its
// names from the management cluster and has two VLANs, and the younger on the first
// of these.
func testNetworks(t *testing.T, b bed) {
	g := NewWithT(t)
	g.Expect(b.hypershift.StartMirror(t.Context())).To(Succeed())
	elder, younger := createElder(t, b), createYounger(t, b)
	g.Expect(elder.WaitEdges(t.Context())).To(Succeed())

	t.Run("shared", func(t *testing.T) { testShared(t, elder, younger) })
	bootstrapping, ctx := errgroup.WithContext(t.Context())
	for _, h := range []Hosted{elder, younger} {
		bootstrapping.Go(func() error {
			if err := b.hypershift.BootstrapGuest(ctx, h.Name); err != nil {
				return err
			}
			return b.hypershift.WaitAvailable(ctx, h.Name)
		})
	}
	t.Run("disjoint", func(t *testing.T) { testDisjoint(t, elder, younger) })
	g.Expect(bootstrapping.Wait()).To(Succeed())

	workers := testWorkers(t, b, elder, 2)
	g.Expect(workers[0].VM.Network).NotTo(Equal(workers[1].VM.Network), "a worker on each VLAN")
	youngers := testWorkers(t, b, younger, 1)
	t.Run("own machines only", func(t *testing.T) { testOwnMachines(t, elder, younger, workers, youngers) })
	t.Run("apps", func(t *testing.T) { testBalancedApps(t, b, younger, youngers) })
	t.Run("load balancers", func(t *testing.T) { testLoadBalancers(t, b, younger, youngers) })
	t.Run("apps by passthrough", func(t *testing.T) { testPassthroughApps(t, b, elder, workers) })
	t.Run("the wildcard Route", func(t *testing.T) { testWildcardRoute(t, b, elder, workers) })
	t.Run("publish", func(t *testing.T) { testPublish(t, b, elder, workers) })
	t.Run("mirror", func(t *testing.T) { testMirror(t, b, elder, workers[0]) })
	t.Run("management cluster", func(t *testing.T) { testManagementCluster(t, elder, workers[0]) })

	t.Run("steady", func(t *testing.T) { testSteady(t, younger) })
	b.destroy(elder)
	t.Run("left alone", func(t *testing.T) { testLeftAlone(t, younger) })
	b.destroy(younger)
}

// createElder asks for a cluster without a base domain, with a mirror of its images,
// and for a second NodePool on a VLAN of its own.
func createElder(t *testing.T, b bed) Hosted {
	t.Helper()
	g := NewWithT(t)
	mirrors := filepath.Join(t.TempDir(), "mirrors.yaml")
	content := fmt.Appendf(nil, "- source: registry.example.com/ocp\n  mirrors: [%s/ocp]\n", hypershift.MirrorHost)
	g.Expect(os.WriteFile(mirrors, content, 0o644)).To(Succeed())
	shared, err := b.hypershift.MakeNetwork(t.Context(), "default", sharedVLAN)
	g.Expect(err).NotTo(HaveOccurred())
	further, err := b.hypershift.MakeNetwork(t.Context(), "default", furtherVLAN)
	g.Expect(err).NotTo(HaveOccurred())
	h, isNew := b.create(t, hypershift.HostedClusterOptions{
		Name: "elder", Networks: []string{shared}, MachineCIDR: sharedCIDR(), Replicas: 1, Flags: []string{"--image-content-sources", mirrors},
		Annotations: map[string]string{Annotation: "auto", Prefix + "cidr.elder-further": "192.168.111.0/24", Prefix + "allowed-hosts": "auto," + evilService + "," + evilNode},
	})
	if isNew {
		g.Expect(b.hypershift.CreateNodePool(t.Context(), "elder", "elder-further", further, 1)).To(Succeed())
		// what it leaves to others on the shared VLAN, which is its first NodePool's
		_, err = b.cluster.Kubectl(t.Context(), "-n", hypershift.Namespace, "annotate", "nodepool", "elder", Prefix+"dhcp-range=192.168.110.10-192.168.110.99")
		g.Expect(err).NotTo(HaveOccurred())
	}
	_, _, err = b.hypershift.WaitEndpoint(t.Context(), h.Name)
	g.Expect(err).NotTo(HaveOccurred())
	return h
}

// createYounger asks for a cluster on the same VLAN, by a definition of its own, that
// wants the default addresses.
func createYounger(t *testing.T, b bed) Hosted {
	t.Helper()
	h, _ := b.create(t, hypershift.HostedClusterOptions{
		Name: "younger", BaseDomain: "example.com", VLAN: sharedVLAN, MachineCIDR: sharedCIDR(), Replicas: 1,
		Annotations: map[string]string{Annotation: "auto"},
	})
	return h
}

// testShared expects that the younger is told of the elder, and that the elder does
// not notice.
func testShared(t *testing.T, elder, younger Hosted) {
	g := NewWithT(t)
	before := servedOn(t, elder)
	g.Expect(younger.WaitReason(t.Context(), meta.ConditionFalse, "NetworkShared")).To(Succeed())
	c, err := younger.Condition(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	t.Log(c.Message)
	for _, word := range []string{hypershift.Namespace + "/elder", "edge-addresses", "dhcp-range"} {
		g.Expect(c.Message).To(ContainSubstring(word))
	}
	g.Expect(younger.Owned(t.Context())).To(BeEmpty(), "nothing is applied")
	g.Expect(servedOn(t, elder)).To(Equal(before))
}

// servedOn is what machines of the plan's networks depend on.
func servedOn(t *testing.T, h Hosted) []network.Network {
	t.Helper()
	plan, err := h.Plan(t.Context())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for i := range plan.Networks {
		// unknown clients depend on them, VMs do not
		plan.Networks[i].DHCP.IgnoreUnknownClients, plan.Networks[i].DHCP.ReservedForVMs = false, 0
		// what HyperShift publishes later follows
		n := &plan.Networks[i]
		n.Listeners, n.Backends, n.DNS.Views, n.ReservedDestinations = nil, nil, nil, nil
	}
	return plan.Networks
}

// testDisjoint gives the younger addresses of its own. It is served once the elder's user agrees, and not before: unknown
// clients of the elder lose their server then.
func testDisjoint(t *testing.T, elder, younger Hosted) {
	g := NewWithT(t)
	before := servedOn(t, elder)
	g.Expect(younger.Set(t.Context(), disjoint())).To(Succeed())
	g.Eventually(func(g Gomega) {
		c, err := younger.Condition(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(c.Message).To(ContainSubstring("Set annotation unknown-clients to ignore on " + hypershift.Namespace + "/elder"))
	}).WithPolling(time.Second).Should(Succeed(), "its API server is published, too")
	g.Expect(younger.Owned(t.Context())).To(BeEmpty(), "nothing is applied")
	plan, err := elder.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	for _, n := range plan.Networks {
		g.Expect(n.DHCP.IgnoreUnknownClients).To(BeFalse(), "the elder serves all clients on %s", n.Name)
	}
	g.Expect(elder.Set(t.Context(), map[string]string{"unknown-clients": "ignore"})).To(Succeed())
	g.Expect(younger.WaitEdges(t.Context())).To(Succeed())
	after := servedOn(t, elder)
	if d := cmp.Diff(before, after, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); d != "" {
		t.Errorf("the elder's networks (-before +after):\n%s", d)
	}
}

// testOwnMachines expects that only its own cluster offers a VM an address, and that unknown clients get no offer.
func testOwnMachines(t *testing.T, elder, younger Hosted, elders, youngers []*worker.Worker) {
	g := NewWithT(t)
	shared := elders[0]
	if shared.VM.VLAN != sharedVLAN {
		shared = elders[1]
	}
	for h, w := range map[Hosted]*worker.Worker{elder: shared, younger: youngers[0]} {
		plan, err := h.Plan(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		servers, err := Offers(t.Context(), w.Machine.NetNS(), machine.Interface, w.VM.MAC, 3*time.Second)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(servers).To(Equal([]netip.Addr{networkOf(t, plan, w).ServiceVIP}), "who offers %s's machine an address", h.Name)
	}
	stranger := net.HardwareAddr{0x02, 0xff, 0, 0, 0, 1}
	g.Expect(Offers(t.Context(), shared.Machine.NetNS(), machine.Interface, stranger, 3*time.Second)).To(BeEmpty(), "an unknown client on a shared VLAN")
}

// testSteady takes the younger's own addresses away while a machine is on them:
// nothing moves, and its user is told what keeps them.
func testSteady(t *testing.T, younger Hosted) {
	g := NewWithT(t)
	g.Expect(younger.WaitReady(t.Context())).To(Succeed())
	before := servedOn(t, younger)
	none := map[string]string{}
	for key := range disjoint() {
		none[key] = ""
	}
	g.Expect(younger.Set(t.Context(), none)).To(Succeed())
	g.Eventually(func(g Gomega) {
		c, err := younger.Condition(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(c.Status).To(Equal(meta.ConditionTrue))
		for _, word := range []string{"its addresses cannot change", "edge-addresses", "192.168.110.200"} {
			g.Expect(c.Message).To(ContainSubstring(word))
		}
	}).WithPolling(time.Second).Should(Succeed())
	g.Expect(servedOn(t, younger)).To(Equal(before))
}

// testLeftAlone expects that the younger's VM keeps its addresses when the elder, which had the default ones, is
// deleted, and that unknown clients are served again.
func testLeftAlone(t *testing.T, younger Hosted) {
	g := NewWithT(t)
	before := servedOn(t, younger)
	g.Eventually(func(g Gomega) {
		plan, err := younger.Plan(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(plan.Networks[0].DHCP.IgnoreUnknownClients).To(BeFalse(), "the VLAN is not shared any more")
	}).WithPolling(time.Second).Should(Succeed())
	g.Expect(younger.WaitReady(t.Context())).To(Succeed())
	g.Expect(servedOn(t, younger)).To(Equal(before))
}
