// This file shows that users behind the gateway of a network reach what edges publish, by
// the annotation client-networks alone, and nothing else.

package e2e

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"
	core "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/worker"
)

// testOutside names the gateway of a cluster that runs, and the network behind it. A host
// there gets the names of the cluster and no others, uses the API server and opens the console.
func testOutside(t *testing.T, b bed, h Hosted, w *worker.Worker) {
	g := NewWithT(t)
	plan, err := h.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	n := networkOf(t, plan, w)
	outside, err := PlugOutsider(t.Context(), b.cluster, "gateway"+h.Name, n)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = lan.UnplugRouter(b.cluster.HostName("gateway" + h.Name)) })
	ask := func(name string, limit time.Duration) (addresses []netip.Addr, code int, err error) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return outside.Ask(ctx, name)
	}
	const unanswered = 2 * time.Second // No answer comes, or the question is asked again.
	published := recordOf(n)
	_, _, err = ask(published, unanswered)
	g.Expect(err).To(HaveOccurred(), "edges have no way back to a host that is not on the network")

	g.Expect(h.Set(t.Context(), outside.Settings())).To(Succeed())

	g.Eventually(func(g Gomega) {
		addresses, code, err := ask(published, unanswered)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(code).To(Equal(dns.RcodeSuccess))
		g.Expect(addresses).To(Equal([]netip.Addr{n.ServiceVIP}))
	}).WithPolling(time.Second).Should(Succeed(), published)
	g.Expect(h.WaitEdges(t.Context())).To(Succeed())
	g.Expect(h.WaitReady(t.Context())).To(Succeed())
	for _, name := range []string{"quay.io", "kubernetes.default.svc.cluster.local", "scan.invalid"} {
		_, code, err := ask(name, await.Patience)
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(code).To(BeElementOf(dns.RcodeRefused, dns.RcodeNameError), "%s: edges resolve no names for others than VMs", name)
	}
	guest, err := b.hypershift.GuestRESTConfig(t.Context(), h.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() ([]core.Node, error) { return outside.Nodes(t.Context(), guest) }).WithPolling(time.Second).
		Should(ContainElement(HaveField("Name", w.VM.Name)), "oc get nodes")
	router := testBalancedApps(t, b, h, []*worker.Worker{w})
	for _, scheme := range []string{"https", "http"} {
		g.Eventually(func() (string, error) { return router.AskFrom(t.Context(), outside, scheme) }).WithPolling(time.Second).
			Should(Equal(w.VM.Name), "a browser at %s", router.Console(scheme))
	}
	testScanned(t, b, h, outside)
}

// recordOf is a name that the network's VMs ask for.
func recordOf(n network.Network) string {
	for _, r := range n.DNS.Views[0].Records {
		if slices.Contains(r.Addresses, n.ServiceVIP) && r.Name[0] != '*' {
			return r.Name
		}
	}
	return ""
}

// testScanned scans from the host. Then its router is hostile too, and sends all it has to
// the edges.
func testScanned(t *testing.T, b bed, h Hosted, outside Outsider) {
	g := NewWithT(t)
	plan, err := h.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	n := plan.Networks[0]
	v := vantage{
		scan: Scan{NetNS: outside.HostNetNS, Patience: 2 * time.Second, Parallel: 256},
		hop:  station{outside.NetNS, lan.RouterInterface},
		udp:  []uint16{53}, // time is for the hosts of the network
		tcp:  Every(),
	}
	testPublished(t, n, v)
	g.Expect(lan.Route(outside.NetNS, netip.MustParsePrefix("0.0.0.0/0"), n.NextHopVIP)).To(Succeed())
	testHidden(t, b, h, v.scan, published(n))
	testPodAddresses(t, h, n, v)
}
