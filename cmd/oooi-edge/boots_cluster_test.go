package main

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/leaseobject"
	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// The control plane namespace of the test, and where its API server answers.
const bootNamespace, bootAPIPort = "clusters-blue", "7443"

// vmi is a VirtualMachineInstance that runs with one interface on the network.
func vmi(name, mac string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": map[string]any{"namespace": bootNamespace, "name": name},
		"spec": map[string]any{
			"networks": []any{map[string]any{"name": "vlan", "multus": map[string]any{"networkName": "clusters/vlan100"}}},
			"domain":   map[string]any{"devices": map[string]any{"interfaces": []any{map[string]any{"name": "vlan", "macAddress": mac}}}},
		},
		"status": map[string]any{"phase": "Running"},
	}}
}

// inPod starts a program of an edge as in its pod: with a token, and the API server in its environment.
func (v vlan) inPod(t *testing.T, secrets string, args ...string) {
	t.Helper()
	const script = `mount -t tmpfs none /run && mkdir -p "$1" && cp "$2"/* "$1" && shift 2 && exec "$@"`
	self, env := programs.Self(t)
	c := v.edge.Command(t.Context(), "sh", append([]string{"-c", script, "-", wire.TokenDir, secrets, self}, args...)...)
	said := &programs.Output{}
	c.Env, c.Stdout, c.Stderr = append(env, "KUBERNETES_SERVICE_HOST=10.128.0.1", "KUBERNETES_SERVICE_PORT="+bootAPIPort), said, said
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel, c.WaitDelay = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }, 5*time.Second
	NewWithT(t).Expect(c.Start()).To(Succeed())
	t.Cleanup(func() {
		_ = c.Cancel()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("%v said:\n%s", args, said)
		}
	})
}

// TestTheBootOfAVM: an edge with its servers reports each step of a VM that boots on its network, in the Lease that the operator and
// oooi status read. A VM that had an address before the edge started is not reported.
func TestTheBootOfAVM(t *testing.T) {
	g := NewWithT(t)
	envoy := programs.RequireEnvoy(t)
	v := newVLAN(t, blueService+"/32")
	programs.RequireInstalled(t, "udhcpc")
	v.edge.Sysctl(t, "net/ipv4/conf/all/forwarding", "0")
	for _, port := range []int{443, 6443, 8091} {
		greeter(t, v.pod, fmt.Sprintf("10.128.0.1:%d", port))
	}
	run := fakes.RunDir(t)
	file := filepath.Join(run, "plan.json")
	bootPlan(t, file)
	changePlan(t, file, func(n *network.Network) {
		n.Attachment = network.Attachment{Namespace: "clusters", Name: "vlan100"}
		n.DHCP = network.DHCP{
			Range:    network.Range{First: netip.MustParseAddr("192.168.100.30"), Last: netip.MustParseAddr("192.168.100.60")},
			ServerID: n.ServiceVIP, LeaseTime: network.Duration(time.Hour),
		}
	})
	text, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	plan, err := network.ReadPlan(text)
	g.Expect(err).NotTo(HaveOccurred())
	n := plan.Networks[0]
	old := leaseobject.Of(n.Name, network.Lease{Address: netip.MustParseAddr("192.168.100.31"), MAC: "02:00:00:00:00:31", VM: "blue-old", Expires: time.Now().Add(time.Hour)}, time.Hour, time.Now())
	old.Namespace = bootNamespace
	admin, account := apiserver.ForEdges(t, bootNamespace, old, vmi("blue-old", "02:00:00:00:00:31"), vmi("blue-new", v.machine.MAC(t, "eth0")),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bootNamespace, Name: wire.PlanConfigMap}, Data: map[string]string{wire.PlanKey: string(text)}})
	secrets := apiserver.ServePods(t, v.pod, account, bootNamespace, "10.128.0.1", bootAPIPort)
	flags := []string{"--plan", file, "--run-dir", run}
	v.inPod(t, secrets, append([]string{"dhcp", "--watch"}, flags...)...)
	v.inPod(t, secrets, append([]string{"dns", "--watched-by", "dhcp"}, flags...)...)
	v.inPod(t, secrets, append([]string{"proxy", "--watch", "--envoy", envoy}, flags...)...)
	for _, program := range []string{"dhcp", "dns", "proxy"} {
		g.Eventually(func() error { return command(t, v.edge, "probe", program, "--run-dir", run).Run() }, patience.Limit).Should(Succeed())
	}
	// Boots are written with the next other change, so the failover agent reports one each time.
	changes := 0
	boots := func() []reported.Boot {
		changes++
		g.Expect(os.MkdirAll(wire.Dir(run, wire.Failover), 0o755)).To(Succeed())
		g.Expect(sharedfiles.Replace(wire.File(run, wire.Failover, wire.ReportFile), reported.EdgeReport{Edge: 1, Peer: fmt.Sprint(changes)}.JSON())).To(Succeed())
		var o coordinationv1.Lease
		if err := admin.Get(t.Context(), client.ObjectKey{Namespace: bootNamespace, Name: wire.EdgeReportLease(n, n.Edges[0]).Name}, &o); err != nil {
			return nil
		}
		r, err := reported.Read([]byte(o.Annotations[wire.AnnotationReport]))
		g.Expect(err).NotTo(HaveOccurred())
		return r.Boots
	}
	comesTo := func(steps ...network.BootStep) {
		t.Helper()
		g.Eventually(boots, patience.Limit, "500ms").Should(HaveExactElements(And(HaveField("VM", "blue-new"), HaveField("Late", false),
			WithTransform(func(b reported.Boot) (seen []network.BootStep) {
				for _, s := range network.AllBootSteps() {
					if !b.At(s).IsZero() {
						seen = append(seen, s)
					}
				}
				return seen
			}, Equal(steps)))))
	}
	all := network.AllBootSteps()
	g.Eventually(boots, patience.Limit, "500ms").Should(HaveExactElements(And(HaveField("VM", "blue-new"), HaveField("Seen", BeEmpty()))))
	v.machine.Run(t, "ip", "address", "flush", "dev", "eth0")
	out := v.machine.Run(t, "udhcpc", "-f", "-n", "-q", "-t", "60", "-T", "1", "-i", "eth0", "-s", "/bin/true")
	found := regexp.MustCompile(`lease of (\S+) obtained from`).FindStringSubmatch(out)
	g.Expect(found).NotTo(BeEmpty(), out)
	v.machine.Address(t, "eth0", found[1]+"/24")
	comesTo(all[:2]...)
	v.machine.Run(t, "dig", "+tries=1", "+time=60", "@"+blueService, bootName)
	comesTo(all[:3]...)
	for i, port := range []string{"443", "6443", "8091"} {
		connects(t, v.machine, port)
		comesTo(all[:4+i]...)
	}
}
