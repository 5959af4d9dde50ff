package idle

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// A full edge has a pool of 3,000 leases and 500 VMs, the most that HyperShift supports.
const (
	leasesOfFull   = 3000
	machinesOfFull = 500
	// clientsOfFull of them open connections.
	clientsOfFull = 24
	// connectionsOfAll are those that an Envoy accepts from all VMs; see package envoy/resources.
	connectionsOfAll = 20_000
)

// TestFull measures the memory of an idle edge and of a full one, with $OOOI_FULL open
// connections, and compares both with the requests and the limits of the pod. A connection takes
// two open files here and two in Envoy, so a measured one stands for several if the limit of open
// files is low.
func TestFull(t *testing.T) {
	connections, err := strconv.Atoi(os.Getenv("OOOI_FULL"))
	if err != nil {
		t.Skip("OOOI_FULL is not set: `make bench-full` does")
	}
	netns.Require(t, "mount")
	g := NewWithT(t)
	pods := resourcesOfEdge(t)
	plan := fullPlan(t)
	_, config := apiserver.ForEdges(t, namespace, full(t, plan)...)
	b := &build{title: "now", program: os.Getenv("OOOI_EDGE_BINARY")}
	vlan := b.edges(t, config, programs.RequireEnvoy(t), plan)
	e, peer := b.both[0], b.both[1]
	g.Eventually(func() error { return e.probe(t.Context()) }, "3m", "1s").Should(Succeed())
	idle := b.costs(t)

	vm, open := (*netns.Namespace)(nil), []net.Conn(nil)
	for i := range clientsOfFull { // No VM has more than its share of the connections.
		vm = netns.New(t)
		vlan.Attach(t, vm, "eth0", machineMAC(1+i), fmt.Sprintf("192.168.100.%d/20", 30+i))
		for _, vip := range []string{"192.168.100.2", "192.168.100.3"} {
			vm.SetNeighbour(t, "eth0", vip, e.ns.MAC(t, "net1"), true)
		}
		vm.Route(t, "0.0.0.0/0", "192.168.100.2")
		open = append(open, connect(t, vm, connections/clientsOfFull)...)
	}
	ask(t, vm, 10*time.Second)
	for _, pid := range peer.processes {
		g.Expect(syscall.Kill(pid, syscall.SIGSTOP)).To(Succeed()) // The failover agent reads all leases.
	}
	g.Eventually(e.log(t, wire.Failover)).Should(ContainSubstring("failover announcement sent"))
	busy, peak := b.costs(t), map[string]int64{}
	for name, pid := range e.processes {
		_, peak[name], err = programs.Memory(pid)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(open).NotTo(BeEmpty())
	rest := int64(connectionsOfAll-len(open)) * (busy[wire.Envoy].memory - idle[wire.Envoy].memory) / int64(max(1, len(open)))
	var text strings.Builder
	fmt.Fprintf(&text, "| container | idle: MiB | request | full: MiB | peak: MiB | limit |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, name := range []string{"dhcp", "dns", "ntp", "proxy", wire.Envoy, wire.Failover} {
		r, all := pods[name], busy[name].memory
		if name == wire.Envoy {
			all, peak[name] = all+rest, peak[name]+rest
		}
		fmt.Fprintf(&text, "| `%s` | %d | %d | %d | %d | %d |\n", name, idle[name].memory>>20, r.Requests.Memory().Value()>>20, all>>20, peak[name]>>20, r.Limits.Memory().Value()>>20)
		if idle[name].memory > r.Requests.Memory().Value() {
			t.Errorf("%s has more than its request when it is idle, so it is evicted first", name)
		}
		if peak[name] > r.Limits.Memory().Value() {
			t.Errorf("%s needs more than its limit when it is full, so it is killed", name)
		}
	}
	t.Logf("%d connections\n%s", len(open), text.String())
	if file := os.Getenv("OOOI_FULL_TABLE"); file != "" {
		g.Expect(os.WriteFile(file, []byte(text.String()), 0o644)).To(Succeed())
	}
}

// resourcesOfEdge are those that the operator gives the containers of an edge.
func resourcesOfEdge(t *testing.T) map[string]corev1.ResourceRequirements {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "scenarios", "lb-ip", "applied.yaml"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	out := map[string]corev1.ResourceRequirements{}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var d appsv1.Deployment
		if yaml.Unmarshal([]byte(document), &d) != nil || d.Kind != "Deployment" {
			continue
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			out[c.Name] = c.Resources
		}
	}
	NewWithT(t).Expect(out).To(HaveKey(wire.Envoy))
	return out
}

// fullPlan is the plan of idle edges with a larger network.
func fullPlan(t *testing.T) (file string) {
	t.Helper()
	text, err := os.ReadFile(planFile)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	larger := strings.NewReplacer(`"192.168.100.0/24"`, `"192.168.96.0/20"`, `"192.168.100.253"`, `"192.168.111.253"`).Replace(string(text))
	file = filepath.Join(t.TempDir(), "plan.json")
	NewWithT(t).Expect(os.WriteFile(file, []byte(larger), 0o600)).To(Succeed())
	return file
}

// full is what the namespace holds, with all leases and VMs. Each VM is as large as KubeVirt's.
func full(t *testing.T, plan string) []client.Object {
	t.Helper()
	out := there(t, plan)
	for i := machinesThere; i < machinesOfFull; i++ {
		vmi := machine(fmt.Sprintf("amber-%d", i), i).(*unstructured.Unstructured)
		var conditions []any
		for j := range 60 {
			conditions = append(conditions, map[string]any{"type": fmt.Sprintf("Condition%d", j), "status": "True", "message": strings.Repeat("x", 100)})
		}
		vmi.Object["status"] = map[string]any{"conditions": conditions}
		out = append(out, vmi)
	}
	address, seconds, now := netip.MustParseAddr("192.168.100.10"), int32(7200), metav1.NowMicro()
	for i := range leasesOfFull {
		mac := machineMAC(i)
		out = append(out, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: wire.LeaseName("clusters.vlan100", address), Labels: wire.LeaseLabels("clusters.vlan100"),
				Annotations: map[string]string{wire.AnnotationMAC: mac, wire.AnnotationVM: fmt.Sprintf("amber-%d", i)},
			},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &mac, LeaseDurationSeconds: &seconds, RenewTime: &now},
		})
		address = address.Next()
	}
	return out
}

// connect opens connections from vm to the API server, and keeps them open. It stops when no
// further file can be opened.
func connect(t *testing.T, vm *netns.Namespace, count int) (open []net.Conn) {
	t.Helper()
	vm.Do(t, func() {
		for len(open) < count {
			c, err := net.DialTimeout("tcp4", "10.240.0.200:6443", time.Minute)
			if err != nil {
				t.Logf("after %d connections: %v", len(open), err)
				return
			}
			open = append(open, c)
		}
	})
	last := open[len(open)-1]
	// Nothing comes, unless it ends.
	NewWithT(t).Expect(last.SetReadDeadline(time.Now().Add(100 * time.Millisecond))).To(Succeed())
	_, err := last.Read(make([]byte, 1))
	NewWithT(t).Expect(err).To(MatchError(os.ErrDeadlineExceeded), "the edge carries the last one, too")
	t.Cleanup(func() {
		for _, c := range open {
			_ = c.Close()
		}
	})
	return open
}

// ask sends DNS queries for many names, as fast as they are answered.
func ask(t *testing.T, vm *netns.Namespace, d time.Duration) {
	t.Helper()
	var asking sync.WaitGroup
	for i := range 50 {
		var c *dns.Conn
		var err error
		vm.Do(t, func() { c, err = dns.DialTimeout("udp4", "192.168.100.3:53", time.Minute) })
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		asking.Go(func() {
			defer func() { _ = c.Close() }()
			for n, end := 0, time.Now().Add(d); time.Now().Before(end); n++ {
				names := []string{fmt.Sprintf("n%d-%d.example.com.", i, n), "api.amber.example.com.", fmt.Sprintf("%d.100.168.192.in-addr.arpa.", n%250)}
				m := new(dns.Msg).SetQuestion(names[n%len(names)], []uint16{dns.TypeA, dns.TypeA, dns.TypePTR}[n%3])
				_ = c.SetDeadline(time.Now().Add(time.Second)) // Answers may be lost.
				if c.WriteMsg(m) == nil {
					_, _ = c.ReadMsg()
				}
			}
		})
	}
	asking.Wait()
}

// log is what a container printed so far.
func (e *edge) log(t *testing.T, container string) func() string {
	return func() string {
		text, err := os.ReadFile(filepath.Join(e.dir, container+".log"))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return string(text)
	}
}
