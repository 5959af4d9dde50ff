// This file shows the way in: a pod of the management cluster reaches the kubelet of a worker by its name, through the edges,
// and nothing that the HostedCluster does not open.

package e2e

import (
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	_ "github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/worker"
)

// A visit is what curl reports about a request: the status of the access proxy, and that of the server. "000": none answered.
type visit struct{ proxy, server string }

// testAccess opens the kubelets' port, and closes it again. The kubelet knows no caller without a certificate, and says so.
func testAccess(t *testing.T, b bed, h Hosted, w *worker.Worker) {
	g := NewWithT(t)
	pod := b.asker(t, "default", "visits-"+h.Name)
	before, err := h.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	shell := b.sshd(t, h, networkOf(t, before, w), w)
	g.Expect(h.Set(t.Context(), map[string]string{
		"management-access": fmt.Sprintf("nodes:10250,15250=nodes:10250,%s:22", shell.address), "management-access-from": "default",
	})).To(Succeed())
	g.Eventually(func() (bool, error) { return opens(t, h) }).WithPolling(time.Second).Should(BeTrue(), "a destination in the plan")
	var service core.Service
	g.Eventually(func() error {
		return h.Client.Get(t.Context(), client.ObjectKey{Namespace: h.Namespace(), Name: wire.AccessObject}, &service)
	}).Should(Succeed())
	plan, err := h.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())

	through := func(url string) visit { return curl(t, pod, service.Spec.ClusterIP, url) }
	for _, name := range []string{w.VM.Name, w.VM.Name + "." + plan.Cluster.Domain, w.Lease.Address.Addr().String()} {
		g.Eventually(through).WithArguments("https://"+name+":10250/pods").WithPolling(time.Second).
			Should(Equal(visit{proxy: "200", server: "401"}), name)
	}
	g.Expect(curl(t, pod, "", fmt.Sprintf("https://%s:15250/pods", service.Spec.ClusterIP))).To(Equal(visit{proxy: "000", server: "401"}), "at the plain port of a client that knows no proxy")
	testLaptop(t, b, h, w, shell)
	testMetrics(t, b, h, pod, service.Spec.ClusterIP, w)
	n := networkOf(t, plan, w)
	for _, closed := range []string{
		fmt.Sprintf("https://%s:22/", w.VM.Name), fmt.Sprintf("https://%s:10250/", n.NextHopVIP), fmt.Sprintf("https://%s:443/", n.ServiceVIP),
		"https://127.0.0.1:10250/", "https://" + service.Spec.ClusterIP + ":10250/",
	} {
		g.Expect(through(closed)).To(Equal(visit{proxy: "403", server: "000"}), closed)
	}
	c, err := h.Condition(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Message).To(ContainSubstring("nodes:10250"), "the condition names what is open")

	g.Expect(h.Set(t.Context(), map[string]string{"management-access": "", "management-access-from": ""})).To(Succeed())
	g.Eventually(func() error {
		return h.Client.Get(t.Context(), client.ObjectKeyFromObject(&service), &service)
	}).Should(Satisfy(apierrors.IsNotFound))
	g.Eventually(func() (bool, error) { return serves(t, h, wire.Access) }).WithPolling(time.Second).Should(BeFalse(), "edges without the container")
	g.Expect(h.WaitEdges(t.Context())).To(Succeed())
}

// An sshServer is OpenSSH's on a host of the network that is not a VM.
type sshServer struct {
	address netip.Addr
	// key is the file with the key of its user.
	key string
}

// sshd starts a server with an address that DHCP has not given away.
func (b bed) sshd(t *testing.T, h Hosted, n network.Network, w *worker.Worker) sshServer {
	t.Helper()
	g := NewWithT(t)
	g.Expect(host.EnsurePackages(t.Context(), t.Output(), "openssh-server", "openssh-client")).To(Succeed())
	leases, err := h.Leases(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	s := sshServer{address: network.HostAddress(n.CIDR, -5)}
	for _, l := range leases {
		g.Expect(l.Name).NotTo(HaveSuffix("." + s.address.String()))
	}
	host, dir := b.plug(t, "sshd"+h.Name, w.VM.VLAN), t.TempDir()
	s.key = filepath.Join(dir, "user")
	run := func(name string, args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s %v: %s", name, args, out)
	}
	run("nsenter", "--net="+host.netNS, "--", "ip", "address", "add", netip.PrefixFrom(s.address, n.CIDR.Bits()).String(), "dev", host.card)
	for _, key := range []string{s.key, filepath.Join(dir, "host")} {
		run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	}
	config := fmt.Sprintf("Port 22\nHostKey %[1]s/host\nAuthorizedKeysFile %[1]s/user.pub\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin prohibit-password\n", dir)
	g.Expect(os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600)).To(Succeed())
	g.Expect(os.MkdirAll("/run/sshd", 0o755)).To(Succeed()) // sshd's own service makes it.
	server := exec.Command("nsenter", "--net="+host.netNS, "--", "/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(dir, "config"))
	server.Stderr, server.WaitDelay = t.Output(), time.Second // its children have the pipe, too
	g.Expect(server.Start()).To(Succeed())
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	return s
}

// testLaptop: with a kubeconfig and through port-forwards of the API server, a user has a shell on a host of the network, and asks the
// kubelet of a worker.
func testLaptop(t *testing.T, b bed, h Hosted, w *worker.Worker, s sshServer) {
	t.Helper()
	g, oooi := NewWithT(t), program(t)
	run := func(name string, args ...string) string {
		c := b.cluster.Command(t.Context(), name, args...)
		var complaints strings.Builder
		c.Stderr = &complaints
		out, err := c.Output()
		if err != nil {
			return fmt.Sprintf("%v: %s", err, complaints.String())
		}
		return string(out)
	}
	ssh := func() string {
		return run("ssh", "-F", "none", "-i", s.key, "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
			"-o", "ProxyCommand="+oooi+" access clusters/"+h.Name+" --stdio %h:%p", "root@"+s.address.String(), "/sbin/ip -4 -o address")
	}
	g.Eventually(ssh).WithPolling(time.Second).Should(ContainSubstring(s.address.String()+"/"), "a shell in its network namespace")
	kubelet := func() string {
		return run(oooi, "access", "clusters/"+h.Name, "--", "curl", "-sk", "--max-time", "60", "-o", "/dev/null", "-w", "%{http_connect} %{http_code}", "https://"+w.VM.Name+":10250/pods")
	}
	g.Eventually(kubelet).WithPolling(time.Second).Should(Equal("200 401"), "it knows no caller without a certificate")
	g.Expect(run(oooi, "access", "clusters/"+h.Name, "--stdio", w.VM.Name+":22")).To(ContainSubstring("403 the destination is not open"))
}

// opens reports whether the plan opens something.
func opens(t *testing.T, h Hosted) (bool, error) {
	plan, err := h.Plan(t.Context())
	return slices.ContainsFunc(plan.Networks, func(n network.Network) bool { return n.Access.Opens() }), err
}

// serves reports whether an edge has a container of that name.
func serves(t *testing.T, h Hosted, container string) (bool, error) {
	edges, err := h.Edges(t.Context())
	return slices.ContainsFunc(edges, func(e apps.Deployment) bool {
		return slices.ContainsFunc(e.Spec.Template.Spec.Containers, func(c core.Container) bool { return c.Name == container })
	}), err
}

// curl asks in a network namespace for url, through the access proxy at an address, or directly where there is none.
func curl(t *testing.T, netNS, proxy, url string) visit {
	t.Helper()
	args := []string{"--net=" + netNS, "--", "curl", "-sk", "--max-time", "60", "-o", "/dev/null", "-w", "%{http_connect} %{http_code}"}
	if proxy != "" {
		args = append(args, "--proxy", fmt.Sprintf("http://%s:%d", proxy, network.AccessPort))
	}
	out, _ := exec.CommandContext(t.Context(), "nsenter", append(args, url)...).Output() // It fails where the proxy refuses.
	answers := strings.Fields(string(out))
	NewWithT(t).Expect(answers).To(HaveLen(2), "curl %v: %s", args, out)
	return visit{proxy: answers[0], server: answers[1]}
}

// testMetrics reads the metrics of a kubelet with the CA and the token that the page makes for Prometheus. The page's certificate is that of
// the node's name and address.
func testMetrics(t *testing.T, b bed, h Hosted, pod, proxy string, w *worker.Worker) {
	t.Helper()
	g, page, dir := NewWithT(t), document(t, "gitops.md"), t.TempDir()
	guest, err := b.hypershift.GuestKubeconfig(t.Context(), h.Name)
	g.Expect(err).NotTo(HaveOccurred())
	kubeconfig := filepath.Join(dir, "kubeconfig")
	g.Expect(os.WriteFile(kubeconfig, guest, 0o600)).To(Succeed())
	for _, c := range []struct{ words, kubeconfig string }{
		{"kubectl get secret cluster-signer-ca", b.cluster.Kubeconfig()}, {"kubectl create serviceaccount node-metrics", kubeconfig},
	} {
		cmd := b.cluster.Command(t.Context(), "bash", "-euo", "pipefail", "-c", strings.ReplaceAll(blockOf(t, page, c.words), "clusters-blue", h.Namespace()))
		cmd.Dir, cmd.Env = dir, append(cmd.Env, "KUBECONFIG="+c.kubeconfig)
		out, err := cmd.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s", out)
	}
	token, err := os.ReadFile(filepath.Join(dir, "kubelet-token"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, name := range []string{w.VM.Name, w.Lease.Address.Addr().String()} {
		out, err := exec.CommandContext(t.Context(), "nsenter", "--net="+pod, "--", "curl", "-sS", "--max-time", "60", "--cacert", filepath.Join(dir, "kubelet-ca.crt"),
			"--proxy", fmt.Sprintf("http://%s:%d", proxy, network.AccessPort), "-H", "Authorization: Bearer "+strings.TrimSpace(string(token)), "https://"+name+":10250/metrics").CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s: %s", name, out)
		g.Expect(string(out)).To(ContainSubstring("\nkubelet_running_pods "), name)
	}
}

// testLoadBalancers leads the load balancer of the ingress to the edges: a client outside gets a page from the router behind the node port,
// and VMs still do. The copy is as the cloud controller made it before and afterwards, and HyperShift's endpoints are gone meanwhile.
func testLoadBalancers(t *testing.T, b bed, h Hosted, workers []*worker.Worker) {
	g := NewWithT(t)
	router, err := ReadGuestRouter(t.Context(), b.hypershift, h, "router-default")
	g.Expect(err).NotTo(HaveOccurred())
	copied, err := b.hypershift.BalanceIngress(t.Context(), h.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() (int, error) {
		err := h.Client.Get(t.Context(), client.ObjectKeyFromObject(copied), copied)
		return len(copied.Status.LoadBalancer.Ingress), err
	}).Should(Equal(1), "an address of the load balancer")
	testLed(t, h, copied, "loadbalancers,apps:443", func() {
		outside := b.asker(t, "default", "outside-"+h.Name)
		for _, scheme := range []string{"https", "http"} {
			page := func() (string, error) {
				return pageAt(t, outside, copied.Status.LoadBalancer.Ingress[0].IP, router.Console(scheme))
			}
			g.Eventually(page).WithPolling(time.Second).Should(Equal(workers[0].VM.Name), "%s through the load balancer", scheme)
		}
		testConsole(t, h, router, workers[0], "https")
	})
	testConsole(t, h, router, workers[0], "https")
}

// testWildcardRoute leads the Service behind the wildcard Route to the edges: it answers the router of the management cluster at its cluster address.
func testWildcardRoute(t *testing.T, b bed, h Hosted, workers []*worker.Worker) {
	g := NewWithT(t)
	router, err := ReadGuestRouter(t.Context(), b.hypershift, h, "router-nodeport-default")
	g.Expect(err).NotTo(HaveOccurred())
	var all core.ServiceList
	g.Expect(h.Client.List(t.Context(), &all, client.InNamespace(h.Namespace()))).To(Succeed())
	i := slices.IndexFunc(all.Items, func(s core.Service) bool {
		return strings.HasPrefix(s.Name, "default-ingress-passthrough-service-")
	})
	g.Expect(i).To(BeNumerically(">=", 0))
	service := &all.Items[i]
	var names []string
	for _, w := range workers {
		names = append(names, w.VM.Name)
	}
	testLed(t, h, service, "loadbalancers,apps:443", func() {
		inside := b.asker(t, "default", "route-"+h.Name)
		page := func() (string, error) { return pageAt(t, inside, service.Spec.ClusterIP, router.Console("https")) }
		g.Eventually(page).WithPolling(time.Second).Should(BeElementOf(names), "through the backend of the Route")
	})
}

// testLed opens load balancers with this value of the annotation, waits until service leads to edges only, asks, and closes them again.
func testLed(t *testing.T, h Hosted, service *core.Service, value string, ask func()) {
	t.Helper()
	g := NewWithT(t)
	selector := func() (map[string]string, error) {
		err := h.Client.Get(t.Context(), client.ObjectKeyFromObject(service), service)
		return service.Spec.Selector, err
	}
	g.Expect(h.Set(t.Context(), map[string]string{"management-access": value})).To(Succeed())
	g.Eventually(selector).WithPolling(time.Second).Should(HaveKeyWithValue(wire.LabelName, wire.NameEdge))
	g.Expect(h.WaitEdges(t.Context())).To(Succeed())
	behind := func() (managers []string, err error) {
		var all discovery.EndpointSliceList
		err = h.Client.List(t.Context(), &all, client.InNamespace(h.Namespace()), client.MatchingLabels{discovery.LabelServiceName: service.Name})
		for _, s := range all.Items {
			if len(s.Endpoints) > 0 {
				managers = append(managers, s.Labels[discovery.LabelManagedBy])
			}
		}
		return managers, err
	}
	g.Eventually(behind).WithPolling(time.Second).Should(ConsistOf("endpointslice-controller.k8s.io"), "edges, and no addresses of VMs")
	ask()
	c, err := h.Condition(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Message).To(ContainSubstring("Anyone who reaches a load balancer"))
	g.Expect(h.Set(t.Context(), map[string]string{"management-access": ""})).To(Succeed())
	g.Eventually(selector).WithPolling(time.Second).Should(BeEmpty(), "it is HyperShift's again")
	g.Eventually(behind).WithPolling(time.Second).ShouldNot(ContainElement("endpointslice-controller.k8s.io"), "no edge is left behind it")
	g.Eventually(func() (bool, error) { return serves(t, h, wire.Access) }).WithPolling(time.Second).Should(BeFalse(), "edges without the container")
	g.Expect(h.WaitEdges(t.Context())).To(Succeed())
}

// pageAt gets a page in a network namespace from the server at an address, whatever its name resolves to.
func pageAt(t *testing.T, netNS, address, page string) (string, error) {
	t.Helper()
	u, err := url.Parse(page)
	if err != nil {
		return "", err
	}
	port := map[string]string{"https": "443", "http": "80"}[u.Scheme]
	out, err := exec.CommandContext(t.Context(), "nsenter", "--net="+netNS, "--", "curl", "-skf", "--max-time", "60",
		"--connect-to", fmt.Sprintf("%s:%s:%s:%s", u.Hostname(), port, address, port), page).Output()
	return strings.TrimSpace(string(out)), err
}
