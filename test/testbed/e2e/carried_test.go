// This file shows what machines reach beyond their control plane: the guest's own
// ingress by its names, Services that a user publishes, and a mirror of images.

package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/testbed/hypershift"
	"github.com/cldmnky/oooi/test/testbed/ocp"
	"github.com/cldmnky/oooi/test/testbed/worker"
	"github.com/cldmnky/oooi/test/testbed/worker/machine"
)

// testPassthroughApps plays the guest's router on each worker, at the node port that HyperShift passes
// connections on to, and expects the console's name to reach it. Nothing says where HTTP would.
func testPassthroughApps(t *testing.T, b bed, h Hosted, workers []*worker.Worker) {
	router := startRouters(t, b, h, "router-nodeport-default", workers)
	for _, w := range workers {
		// the VLANs do not meet: who answers is the only machine of the one that asked
		testConsole(t, h, router, w, "https")
	}
}

// testBalancedApps publishes the guest's router by a load balancer, as a cluster with a base domain does,
// and expects the console's name to reach the worker on both ports. The hint that it does not is gone.
func testBalancedApps(t *testing.T, b bed, h Hosted, workers []*worker.Worker) GuestRouter {
	g := NewWithT(t)
	message := func() (string, error) {
		c, err := h.Condition(t.Context())
		return c.Message, err
	}
	_, err := b.hypershift.BalanceIngress(t.Context(), h.Name)
	g.Expect(err).NotTo(HaveOccurred())
	router := startRouters(t, b, h, "router-default", workers)
	for _, w := range workers {
		testConsole(t, h, router, w, "https")
		testConsole(t, h, router, w, "http")
	}
	g.Eventually(message).WithPolling(time.Second).ShouldNot(ContainSubstring("AppsUnreachable"))
	return router
}

// startRouters starts the guest's router behind that Service on each worker.
func startRouters(t *testing.T, b bed, h Hosted, service string, workers []*worker.Worker) GuestRouter {
	t.Helper()
	g := NewWithT(t)
	router, err := ReadGuestRouter(t.Context(), b.hypershift, h, service)
	g.Expect(err).NotTo(HaveOccurred())
	for _, w := range workers {
		g.Expect(router.Start(w)).To(Succeed())
	}
	return router
}

// testConsole expects that the console's name leads from the worker to the router on it.
func testConsole(t *testing.T, h Hosted, router GuestRouter, w *worker.Worker, scheme string) {
	t.Helper()
	g := NewWithT(t)
	plan, err := h.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() (machine.Answer, error) { return router.Ask(t.Context(), w.Machine, scheme) }).
		WithPolling(time.Second).Should(And(
		HaveField("Status", 200), HaveField("Body", w.VM.Name), HaveField("Server", networkOf(t, plan, w).ServiceVIP)), router.Console(scheme))
}

// publishedPod is a user's own server in the control plane namespace: any that talks
// TLS will do.
const publishedPod = `
apiVersion: v1
kind: Pod
metadata: {name: extra, namespace: %[1]s, labels: {example.com/server: extra}}
spec:
  securityContext: {runAsUser: 1001} # as OpenShift fills it in
  containers:
  - {name: extra, image: "%[2]s", imagePullPolicy: Never, args: [virt-api]}
---
apiVersion: v1
kind: Service
metadata:
  name: extra
  namespace: %[1]s
  annotations: {%[3]spublish: "extra.example.net:443,extra.example.net:9443"}
spec:
  selector: {example.com/server: extra}
  ports: [{port: 443, targetPort: 8443}]
`

// testPublish expects a Service with the annotation to be reached by its name, on
// every network.
func testPublish(t *testing.T, b bed, h Hosted, workers []*worker.Worker) {
	g := NewWithT(t)
	manifest := fmt.Appendf(nil, publishedPod, h.Namespace(), ocp.ShimImage, Prefix)
	g.Expect(b.cluster.Apply(t.Context(), manifest)).To(Succeed())
	for _, w := range workers {
		for _, url := range []string{"https://extra.example.net/apis", "https://extra.example.net:9443/apis"} {
			g.Eventually(func() (string, error) { return askAnyone(t.Context(), w.Machine, url) }).
				WithPolling(time.Second).Should(ContainSubstring("APIGroupList"), url)
		}
	}
}

// askAnyone gets url without asking whose certificate it is.
func askAnyone(ctx context.Context, m *machine.Machine, url string, more ...string) (string, error) {
	// A question to a lost node is asked again.
	out, err := m.Output(ctx, "curl", append([]string{"--disable", "--silent", "--show-error", "--noproxy", "*", "--insecure", "--max-time", "10", url}, more...)...)
	return string(out), err
}

// testMirror expects that a machine pulls an image from the mirror that the cluster
// names, and reaches no other host outside: neither by name nor by a TLS server name.
func testMirror(t *testing.T, b bed, h Hosted, w *worker.Worker) {
	g := NewWithT(t)
	plan, err := h.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	service := networkOf(t, plan, w).ServiceVIP
	g.Eventually(func() (machine.Answer, error) {
		return w.Machine.Ask(t.Context(), "https://"+hypershift.MirrorHost+"/v2/", nil, b.hypershift.CA())
	}).WithPolling(time.Second).Should(And(HaveField("Status", 200), HaveField("Server", service)))
	g.Expect(w.Machine.Pull(t.Context(), b.cluster.Bin("ctr"), hypershift.MirrorImage, b.hypershift.CA())).To(Succeed(), "containerd, by the machine's own DNS")

	_, err = w.Machine.Output(t.Context(), "getent", "ahostsv4", "quay.io")
	g.Expect(err).To(HaveOccurred(), "a name that is not published")
	for _, name := range []string{"quay.io", "registry.example.net", "kubernetes.default.svc"} {
		refused(t, w.Machine, service, name)
	}
}

// Names of external hosts that a tenant asks for. They resolve to the API server's Service and to a
// node of the management cluster.
const (
	evilService = "service.evil.example.net"
	evilNode    = "node.evil.example.net"
)

// testManagementCluster expects that a machine reaches nothing inside the management cluster by
// the name of an external host, and that the condition says so.
func testManagementCluster(t *testing.T, h Hosted, w *worker.Worker) {
	g := NewWithT(t)
	plan, err := h.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	service := networkOf(t, plan, w).ServiceVIP
	g.Eventually(func() (string, error) {
		c, err := h.Condition(t.Context())
		return c.Message, err
	}).WithPolling(time.Second).Should(And(ContainSubstring("NotPermitted"), ContainSubstring(evilService+":443"), ContainSubstring(evilNode+":443")))
	for _, name := range []string{evilService, evilNode} {
		out, err := w.Machine.Output(t.Context(), "getent", "ahostsv4", name)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(out)).To(ContainSubstring(service.String()))
		refused(t, w.Machine, service, name)
	}
}

// refused expects that a connection to the service address for name is closed before
// TLS stands.
func refused(t *testing.T, m *machine.Machine, service netip.Addr, name string) {
	t.Helper()
	g := NewWithT(t)
	out, err := askAnyone(t.Context(), m, "https://"+name+"/", "--resolve", name+":443:"+service.String(), "--max-time", "60")
	g.Expect(err).To(HaveOccurred(), "%s: %s", name, out)
	g.Expect(err.Error()).To(ContainSubstring("curl: (35)"), "connected, and closed in the middle of TLS") // CURLE_SSL_CONNECT_ERROR
}
