// What a cluster promises to those who test with it, shown on a real one.

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/process"
)

// needRoot skips a test that a machine without root can't run; CI must be able to.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("needs root")
	}
	t.Skip("needs root")
}

// testCluster is a running one of this test's own with one node, removed when the
// test ends.
func testCluster(t *testing.T) *Cluster {
	t.Helper()
	needRoot(t)
	c, err := Up(t.Context(), Options{Name: fmt.Sprintf("t%d", os.Getpid()), Log: os.Stderr})
	t.Cleanup(func() {
		NewWithT(t).Expect(Down(context.Background(), Options{Name: fmt.Sprintf("t%d", os.Getpid())})).To(Succeed())
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}

func TestCluster(t *testing.T) {
	c := testCluster(t)
	NewWithT(t).Expect(c.LoadImages(t.Context(), "busybox")).To(Succeed())

	t.Run("Up again gives the running one", func(t *testing.T) {
		g := NewWithT(t)
		before := process.Pid(c.Dir, "kube-apiserver")
		_, err := Up(t.Context(), Options{Name: c.Name})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(process.Pid(c.Dir, "kube-apiserver")).To(Equal(before))
		_, err = Status(t.Context(), c.Name)
		g.Expect(err).NotTo(HaveOccurred())
	})
	t.Run("the API is reached from the host's network namespace", func(t *testing.T) {
		g := NewWithT(t)
		config, err := c.RESTConfig()
		g.Expect(err).NotTo(HaveOccurred())
		client, err := kubernetes.NewForConfig(config)
		g.Expect(err).NotTo(HaveOccurred())
		nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(nodes.Items).To(HaveLen(1))
	})
	t.Run("an image is loaded once", func(t *testing.T) {
		g := NewWithT(t)
		var said bytes.Buffer
		again, err := Attach(c.Name)
		g.Expect(err).NotTo(HaveOccurred())
		again.LogTo(&said)
		g.Expect(again.LoadImages(t.Context(), "busybox")).To(Succeed())
		g.Expect(said.String()).To(BeEmpty())
	})
	t.Run("pods", func(t *testing.T) { testPods(t, c) })
	t.Run("Envoy runs in a pod", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(c.LoadImages(t.Context(), "envoy")).To(Succeed())
		envoy := strings.NewReplacer("localhost/busybox:1", EnvoyImage, "[sh, -c, \"\"]", "[--version]").Replace(pod("envoy", "", "", ""))
		g.Expect(c.Apply(t.Context(), []byte(envoy))).To(Succeed())
		eventuallyLogs(g, c, "envoy", "/envoy  version: ")
	})
	t.Run("VLANs", func(t *testing.T) { testVLANs(t, c) })
	t.Run("restricted", func(t *testing.T) { testRestricted(t, c) })
}

// pod is one that OpenShift would take, running a line of shell.
func pod(name, annotations, sysctls, line string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata:
  name: %s
  labels: {app.kubernetes.io/part-of: oooi}
  annotations: {%s}
spec:
  terminationGracePeriodSeconds: 0
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}, sysctls: [%s]}
  containers:
  - name: c
    image: localhost/busybox:1
    imagePullPolicy: Never
    args: [sh, -c, %q]
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
`, name, annotations, sysctls, line)
}

// vlan77 is a definition of a VLAN of the LAN.
const vlan77 = `
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: vlan77, namespace: default}
spec: {config: '{"cniVersion":"0.4.0","name":"vlan77","type":"bridge","bridge":"lan0","vlan":77,"capabilities":{"ips":true},"ipam":{"type":"static"}}'}
`

const lowPorts = `{name: net.ipv4.ip_unprivileged_port_start, value: "0"}`

// eventuallyLogs waits until a pod has written that line.
func eventuallyLogs(g *WithT, c *Cluster, pod, line string) {
	g.Eventually(func() (string, error) {
		out, err := c.Kubectl(context.Background(), "logs", pod)
		return string(out), err
	}).Should(ContainSubstring(line), pod)
}

func testPods(t *testing.T, c *Cluster) {
	g := NewWithT(t)
	const serve = "busybox nc -l -p 443 & until busybox grep -q :01BB /proc/net/tcp*; do kill -0 $! || break; busybox sleep 0.1; done; " +
		"kill -0 $! && echo bound || echo refused; busybox sleep 600"
	g.Expect(c.Apply(t.Context(), []byte(strings.Join([]string{
		pod("with-sysctl", "", lowPorts, serve),
		pod("without-sysctl", "", "", serve),
		pod("forwarding", "", "", "echo all=$(busybox cat /proc/sys/net/ipv4/conf/all/forwarding) eth0=$(busybox cat /proc/sys/net/ipv4/conf/eth0/forwarding); busybox sleep 600"),
		pod("dns", "", "", "until busybox nslookup kubernetes.default.svc.cluster.local; do busybox sleep 1; done; busybox sleep 600"),
	}, "---\n")))).To(Succeed())
	t.Run("a pod binds a low port by the sysctl alone", func(t *testing.T) {
		eventuallyLogs(NewWithT(t), c, "with-sysctl", "bound")
		eventuallyLogs(NewWithT(t), c, "without-sysctl", "refused")
	})
	t.Run("a pod's network namespace forwards", func(t *testing.T) {
		eventuallyLogs(NewWithT(t), c, "forwarding", "all=1 eth0=1")
	})
	t.Run("names of Services resolve", func(t *testing.T) {
		eventuallyLogs(NewWithT(t), c, "dns", "10.96.0.1")
	})
}

// testVLANs plugs machines and pods into VLANs of the LAN, and checks which of them hear each other.
func testVLANs(t *testing.T, c *Cluster) {
	g := NewWithT(t)
	attach := `k8s.v1.cni.cncf.io/networks: '[{"name":"vlan77","interface":"net1","ips":["192.168.77.20/24"]}]'`
	g.Expect(c.Apply(t.Context(), []byte(vlan77+"---"+pod("on-vlan77", attach, "", "busybox sleep 600")))).To(Succeed())
	_, err := c.Kubectl(t.Context(), "wait", "--for=condition=Ready", "--timeout="+await.Patience.String(), "pod/on-vlan77")
	g.Expect(err).NotTo(HaveOccurred())

	mac, err := net.ParseMAC("02:00:00:00:77:01")
	g.Expect(err).NotTo(HaveOccurred())
	machine := func(name string, vlan int, address string) string {
		ns := c.HostName(name)
		g.Expect(lan.NewNetNS(ns)).To(Succeed())
		if vlan == 77 && name == "a" {
			g.Expect(c.LAN().PlugVLAN(t.Context(), lan.NetNSPath(ns), "eth0", vlan, mac)).To(Succeed())
		} else {
			g.Expect(c.LAN().PlugVLAN(t.Context(), lan.NetNSPath(ns), "eth0", vlan, nil)).To(Succeed())
		}
		g.Expect(exec.Command("ip", "-n", ns, "addr", "add", address, "dev", "eth0").Run()).To(Succeed())
		return ns
	}
	a := machine("a", 77, "192.168.77.1/24")
	machine("b", 77, "192.168.77.2/24")
	machine("other", 78, "192.168.77.3/24")
	machine("untagged", 0, "192.168.77.4/24")
	hears := func(address string) bool {
		return exec.Command("nsenter", "--net="+lan.NetNSPath(a), "busybox", "ping", "-c", "1", "-W", "1", address).Run() == nil
	}
	g.Eventually(hears).WithArguments("192.168.77.2").Should(BeTrue(), "a machine on the same VLAN")
	g.Eventually(hears).WithArguments("192.168.77.20").Should(BeTrue(), "a pod on the same VLAN")
	g.Expect(hears("192.168.77.3")).To(BeFalse(), "a machine on another VLAN")
	g.Expect(hears("192.168.77.4")).To(BeFalse(), "a machine on the untagged LAN")
	shown, err := exec.Command("ip", "-n", a, "-o", "link", "show", "eth0").Output()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(shown)).To(ContainSubstring(mac.String()))
	g.Expect(c.LAN().PlugVLAN(t.Context(), lan.NetNSPath(a), "eth0", 77, nil)).NotTo(Succeed(), "plugged twice")
	testBehindRouter(t, c, a)
}

// testBehindRouter plugs a router into VLAN 77: a host behind it hears machines that know the
// way back, and no others.
func testBehindRouter(t *testing.T, c *Cluster, machine string) {
	g := NewWithT(t)
	plug := func() lan.Router {
		r, err := c.LAN().PlugRouter(t.Context(), c.HostName("router"), 77, netip.MustParsePrefix("192.168.77.254/24"), netip.MustParsePrefix("10.9.0.20/24"))
		g.Expect(err).NotTo(HaveOccurred())
		return r
	}
	plug()
	r := plug() // again, in place of the first
	hears := func() bool {
		return exec.Command("nsenter", "--net="+r.HostNetNS, "busybox", "ping", "-c", "1", "-W", "1", "192.168.77.1").Run() == nil
	}
	g.Expect(hears()).To(BeFalse(), "a machine without a route back")
	g.Expect(exec.Command("ip", "-n", machine, "route", "add", "10.9.0.0/24", "via", r.Address.String()).Run()).To(Succeed())
	g.Eventually(hears).Should(BeTrue(), "a machine with a route back")
	g.Expect(exec.Command("nsenter", "--net="+r.HostNetNS, "busybox", "ping", "-c", "1", "-W", "1", "192.168.88.1").Run()).NotTo(Succeed())
	g.Expect(exec.Command("ip", "-n", machine, "address", "add", "192.168.88.1/32", "dev", "lo").Run()).To(Succeed())
	g.Expect(lan.Route(r.NetNS, netip.MustParsePrefix("192.168.88.0/24"), netip.MustParseAddr("192.168.77.1"))).To(Succeed())
	g.Expect(exec.Command("nsenter", "--net="+r.HostNetNS, "busybox", "ping", "-c", "1", "-W", "1", "192.168.88.1").Run()).To(Succeed(), "by a route of the router")
	g.Expect(lan.UnplugRouter(c.HostName("router"))).To(Succeed())
	g.Expect(r.NetNS).NotTo(BeAnExistingFile())
	g.Expect(lan.UnplugRouter(c.HostName("router"))).To(Succeed(), "a second time is no error")
}
