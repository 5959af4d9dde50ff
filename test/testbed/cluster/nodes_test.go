// What two nodes promise together: pods, names and VLANs across them, and that one of
// them can be drained and lost.

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	_ "github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/process"
)

func TestTwoNodes(t *testing.T) {
	c := testCluster(t)
	g := NewWithT(t)
	g.Expect(c.LoadImages(t.Context(), "busybox")).To(Succeed())
	_, err := Up(t.Context(), Options{Name: c.Name, Nodes: 2, Log: os.Stderr}) // a running cluster gets the second
	g.Expect(err).NotTo(HaveOccurred())
	text, err := Status(t.Context(), c.Name)
	g.Expect(err).NotTo(HaveOccurred(), text)

	manifests := []string{vlan77}
	for number := 1; number <= 2; number++ {
		manifests = append(manifests, server(number))
	}
	g.Expect(c.Apply(t.Context(), []byte(strings.Join(manifests, "---")))).To(Succeed())
	kubectl(t, c, "wait", "--for=condition=Ready", "--timeout="+await.Patience.String(), "pod/on1", "pod/on2")

	t.Run("pods, Services and names across nodes", func(t *testing.T) { testAcross(t, c) })
	t.Run("NetworkPolicies on both nodes", func(t *testing.T) { testEnforcement(t, c) })
	t.Run("a VLAN goes over both nodes", func(t *testing.T) {
		g := NewWithT(t)
		g.Eventually(asks).WithArguments(c, "on1", "192.168.77.22").Should(Equal("on2"))
		g.Eventually(asks).WithArguments(c, "on2", "192.168.77.21").Should(Equal("on1"))
	})
	t.Run("a node that does not enforce NetworkPolicies", func(t *testing.T) { testUnenforced(t, c) })
	t.Run("a drained node is left", func(t *testing.T) { testDrain(t, c) })
	t.Run("a lost node is missed, and comes back", func(t *testing.T) { testLoss(t, c) })
}

// server is a pod on a node and on VLAN 77 that answers each request with its name, and its
// Service.
func server(node int) string {
	attach := fmt.Sprintf(`k8s.v1.cni.cncf.io/networks: '[{"name":"vlan77","interface":"net1","ips":["192.168.77.2%d/24"]}]'`, node)
	name := fmt.Sprintf("on%d", node)
	serve := pod(name, attach, "", "exec busybox httpd -f -v -p 8080 -h /etc") // kubelet puts the pod's name in /etc/hostname
	serve = strings.Replace(serve, "part-of: oooi", "part-of: oooi, app: "+name, 1)
	return strings.Replace(serve, "spec:", fmt.Sprintf("spec:\n  nodeName: node%d", node), 1) + fmt.Sprintf(`---
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec: {selector: {app: %[1]s}, ports: [{port: 8080}]}
`, name)
}

// asks is what a pod hears from that host: a pod's name, or what went wrong.
func asks(c *Cluster, pod, host string) string {
	out, err := c.Kubectl(context.Background(), "exec", pod, "--", "busybox", "timeout", "2", "busybox", "wget", "-q", "-O", "-", "http://"+host+":8080/hostname")
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(out))
}

func kubectl(t *testing.T, c *Cluster, args ...string) string {
	t.Helper()
	out, err := c.Kubectl(t.Context(), args...)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(out)
}

func testAcross(t *testing.T, c *Cluster) {
	for _, way := range []struct{ from, to string }{{"on1", "on2"}, {"on2", "on1"}} {
		g := NewWithT(t)
		address := func(pod string) string { return kubectl(t, c, "get", "pod", pod, "-o", "jsonpath={.status.podIP}") }
		g.Expect(asks(c, way.from, address(way.to))).To(Equal(way.to), "from %s by address", way.from)
		g.Expect(asks(c, way.from, kubectl(t, c, "get", "service", way.to, "-o", "jsonpath={.spec.clusterIP}"))).To(Equal(way.to), "from %s by Service", way.from)
		g.Expect(asks(c, way.from, way.to+".default.svc.cluster.local")).To(Equal(way.to), "from %s by name", way.from)
		g.Expect(asks(c, way.from, way.from)).To(Equal(way.from), "its own Service")
		log := kubectl(t, c, "logs", way.to)
		g.Expect(log).To(ContainSubstring("[::ffff:"+address(way.from)+"]"), "pods see each other's addresses")
		g.Expect(log).NotTo(ContainSubstring("[::ffff:"+NodeIP+"]"), "no node's address hides a pod's")
	}
}

// policies allow on2 to receive requests of pods with a label, and to send no packet.
const policies = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: on2}
spec:
  podSelector: {matchLabels: {app: on2}}
  policyTypes: [Ingress, Egress]
  ingress: [{from: [{podSelector: {matchLabels: {admitted: "yes"}}}], ports: [{port: 8080}]}]
`

// testEnforcement limits the pod on the second node. A policy and a label count within moments.
func testEnforcement(t *testing.T, c *Cluster) {
	g := NewWithT(t)
	address := func(pod string) string { return kubectl(t, c, "get", "pod", pod, "-o", "jsonpath={.status.podIP}") }
	service := kubectl(t, c, "get", "service", "on2", "-o", "jsonpath={.spec.clusterIP}")
	g.Expect(c.Apply(t.Context(), []byte(policies))).To(Succeed())
	for _, to := range []string{address("on2"), service} {
		g.Eventually(asks).WithArguments(c, "on1", to).Should(ContainSubstring("refused"), to)
	}
	g.Eventually(asks).WithArguments(c, "on2", address("on1")).Should(ContainSubstring("refused"))
	kubectl(t, c, "label", "pod", "on1", "admitted=yes")
	for _, to := range []string{address("on2"), service} {
		g.Eventually(asks).WithArguments(c, "on1", to).Should(Equal("on2"), to)
	}
	g.Expect(asks(c, "on2", address("on1"))).NotTo(Equal("on1"), "it still sends nothing")
	g.Expect(c.Delete(t.Context(), []byte(policies))).To(Succeed())
	g.Eventually(asks).WithArguments(c, "on2", address("on1")).Should(Equal("on1"))
}

// testUnenforced ends netpold of the second node and removes its rules: the cluster is not healthy.
func testUnenforced(t *testing.T, c *Cluster) {
	g := NewWithT(t)
	n := c.Nodes()[1]
	g.Expect(n.enforced(t.Context())).To(Succeed())
	g.Expect(syscall.Kill(process.Pid(n.Runtime.Dir, netpold), syscall.SIGKILL)).To(Succeed())
	g.Eventually(func() error { return c.healthy(t.Context()) }).Should(MatchError(ContainSubstring("netpold of node2 does not run")))
	_, err := host.Output(n.Runtime.Command(t.Context(), "iptables", "--wait", "--flush", "KUBE-ROUTER-FORWARD"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(n.enforced(t.Context())).To(MatchError(ContainSubstring("no rule filters the packets of pods")))
	g.Expect(n.enforcePolicies(t.Context())).To(Succeed())
	g.Expect(c.healthy(t.Context())).To(Succeed())
}

// spread is a Deployment of one pod on each node that takes any.
const spread = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: spread}
spec:
  replicas: 2
  selector: {matchLabels: {app: spread}}
  template:
    metadata: {labels: {app: spread}}
    spec:
      terminationGracePeriodSeconds: 0
      topologySpreadConstraints:
      - topologyKey: kubernetes.io/hostname
        maxSkew: 1
        whenUnsatisfiable: DoNotSchedule
        nodeTaintsPolicy: Honor
        labelSelector: {matchLabels: {app: spread}}
      containers: [{name: c, image: localhost/busybox:1, imagePullPolicy: Never, args: [sleep, "600"]}]
`

func testDrain(t *testing.T, c *Cluster) {
	g := NewWithT(t)
	running := func() []string {
		return strings.Fields(kubectl(t, c, "get", "pods", "-l", "app=spread", "--field-selector=status.phase=Running", "-o", "jsonpath={.items[*].spec.nodeName}"))
	}
	g.Expect(c.Apply(t.Context(), []byte(spread))).To(Succeed())
	g.Eventually(running).Should(ConsistOf("node1", "node2"))
	kubectl(t, c, "drain", "node2", "--pod-selector=app=spread", "--ignore-daemonsets", "--timeout="+await.Patience.String())
	g.Eventually(running).Should(Equal([]string{"node1", "node1"}))
	kubectl(t, c, "uncordon", "node2")
}

func testLoss(t *testing.T, c *Cluster) {
	g := NewWithT(t)
	machine := c.HostName("machine")
	g.Expect(lan.NewNetNS(machine)).To(Succeed())
	g.Expect(c.LAN().PlugVLAN(t.Context(), lan.NetNSPath(machine), "eth0", 77, nil)).To(Succeed())
	g.Expect(exec.Command("ip", "-n", machine, "addr", "add", "192.168.77.1/24", "dev", "eth0").Run()).To(Succeed())
	hears := func(address string) bool {
		return exec.Command("nsenter", "--net="+lan.NetNSPath(machine), "busybox", "ping", "-c", "1", "-W", "1", address).Run() == nil
	}
	ready := func() string {
		return kubectl(t, c, "get", "node", "node2", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
	}
	g.Eventually(hears).WithArguments("192.168.77.21").Should(BeTrue(), "a pod on the first node")
	g.Eventually(hears).WithArguments("192.168.77.22").Should(BeTrue(), "a pod on the second node")

	g.Expect(c.NodeDown(1)).NotTo(Succeed())
	g.Expect(c.NodeDown(3)).NotTo(Succeed())
	g.Expect(c.NodeDown(2)).To(Succeed())
	g.Expect(hears("192.168.77.22")).To(BeFalse(), "a pod on the lost node")
	g.Expect(hears("192.168.77.21")).To(BeTrue(), "a pod on the node that is left")
	g.Eventually(ready).Should(Equal("Unknown"))
	_, err := Up(t.Context(), Options{Name: c.Name, Nodes: 2})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Nodes()).To(HaveLen(2), "Up leaves a lost node lost")
	g.Expect(ready()).To(Equal("Unknown"))

	g.Expect(c.NodeUp(2)).To(Succeed())
	g.Eventually(hears).WithArguments("192.168.77.22").Should(BeTrue())
	g.Eventually(ready).Should(Equal("True"))
}
