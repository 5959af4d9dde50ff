// This file measures the VMs' own way to their control plane, through the Envoy of an edge, without and with a stream through the
// access proxy. The proxies run as in an edge's pod.

package accessbench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/programs"
)

// Addresses of the VMs' own way, and its server name.
const (
	serviceVIP = "192.168.100.3"
	apiPort    = 6443
	apiName    = "api.blue.example.com"
)

// The CPU requests of containers envoy and proxy together, and of access, in milli-CPUs. Nodes give CPU time in this ratio if it is short.
const proxyRequest, accessRequest = 60, 10

// A vmsKind is one load of the VMs' own way. A load as fast as the CPUs allow has no goal: clients and servers use the same ones here.
type vmsKind struct {
	name          string
	count         int
	every         time.Duration
	weights, goal bool
}

func vmsKinds() []vmsKind {
	return []vmsKind{
		{"8 VMs, each every 50 ms", 8, 50 * time.Millisecond, false, true},
		{"16 VMs, each every 20 ms", 16, 20 * time.Millisecond, false, false},
		{"8 VMs, as fast as they can", 8, 0, false, false},
		{"16 VMs, each every 20 ms, with CPU weights", 16, 20 * time.Millisecond, true, true},
		{"8 VMs, as fast as they can, with CPU weights", 8, 0, true, false},
	}
}

// A vmsCost is what a kind did in all rounds, without and with a stream.
type vmsCost struct {
	rates         [2][]float64
	medians, p99s [2][]time.Duration
	stream        []float64 // GB/s
}

// vms starts an edge's proxy with its Envoy, and the API behind it.
func (s site) vms(t *testing.T) (l load, pids []int) {
	t.Helper()
	g := NewWithT(t)
	dir, err := os.MkdirTemp("", "oooi-run-") // A test's own directory has too long a path for a socket.
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s.edge.Address(t, "net1", serviceVIP+"/32")
	self, env := programs.Self(t)
	api := s.pod.Command(context.WithoutCancel(t.Context()), self, "vm", fmt.Sprintf("%s:%d", source(0), apiPort))
	api.Env = env
	programs.Start(t, api)
	p := network.Plan{
		Cluster: network.Cluster{Namespace: "clusters", Name: "blue"},
		Networks: []network.Network{{
			Name: "clusters.vlan100", Services: []network.Service{network.ServiceProxy}, CIDR: netip.MustParsePrefix("192.168.100.0/24"),
			NextHopVIP: netip.MustParseAddr("192.168.100.2"), ServiceVIP: netip.MustParseAddr(serviceVIP),
			Edges:     []network.Edge{{Number: 1, Address: netip.MustParseAddr(edgeVLAN)}},
			Backends:  []network.Backend{{Name: "api", Service: "kube-apiserver", Port: apiPort, ClusterIP: netip.MustParseAddr(source(0))}},
			Listeners: []network.Listener{{Address: netip.MustParseAddr(serviceVIP), Port: apiPort, Forwards: []network.Forward{{ServerNames: []string{apiName}, Backend: "api"}}}},
		}},
	}
	proxy := s.start(t, s.edge, program(t), "proxy", "--plan", programs.WriteFile(t, dir, "plan.json", string(p.JSON())), "--run-dir", dir, "--interface", "net1",
		"--envoy", programs.RequireEnvoy(t))
	l = load{Kind: "tls", Address: fmt.Sprintf("%s:%d", serviceVIP, apiPort), Count: 1, For: time.Millisecond}
	g.Eventually(func() (out report) {
		s.begin(t, l, "", &out)()
		return out
	}).WithPolling(50 * time.Millisecond).Should(And(HaveField("Failed", ""), HaveField("Connections", BeNumerically(">", 0))))
	all, err := programs.Descendants(proxy)
	g.Expect(err).NotTo(HaveOccurred())
	for pid := range all {
		pids = append(pids, pid)
	}
	return l, append(pids, api.Process.Pid)
}

// measureVMs measures all kinds, each round without and with a stream. Of the stream's own way, stream are the processes and load is the load.
func (s site) measureVMs(t *testing.T, stream way, rounds int, length time.Duration) (costs map[string]*vmsCost) {
	t.Helper()
	own, pids := s.vms(t)
	costs = map[string]*vmsCost{}
	for _, k := range vmsKinds() {
		vms, others := group(""), group("")
		if k.weights {
			if vms, others = s.groups[0], s.groups[1]; vms == "" || others == "" {
				t.Log("this kernel gives no CPU weights to the bench, so those of the pod are not measured")
				continue
			}
			vms.add(t, pids...)
			others.add(t, append(stream.pids, s.vmPID)...)
		}
		c := &vmsCost{}
		costs[k.name] = c
		for i := range 2 * rounds {
			with := (i + i/2) % 2 // Neither is always the first one.
			l := own
			l.Count, l.Every, l.For = k.count, k.every, length
			var down report
			wait := func() {}
			if with == 1 {
				full := stream.load
				full.Kind, full.Count, full.For = "down", 1, length+length/2
				wait = s.begin(t, full, others, &down)
			}
			var did report
			s.begin(t, l, vms, &did)()
			wait()
			NewWithT(t).Expect(did.Failed+down.Failed).To(BeEmpty(), k.name)
			c.rates[with] = append(c.rates[with], float64(did.Connections)/length.Seconds())
			c.medians[with], c.p99s[with] = append(c.medians[with], did.Median), append(c.p99s[with], did.P99)
			if with == 1 {
				c.stream = append(c.stream, float64(down.Bytes)/1e9/down.Took.Seconds())
			}
		}
	}
	return costs
}

// begin starts a client process with a load, in a cgroup. wait returns when the process has ended, and sets out to its report.
func (s site) begin(t *testing.T, l load, in group, out *report) (wait func()) {
	t.Helper()
	g := NewWithT(t)
	c := s.client(t, l)
	if l.Kind == "tls" {
		c = s.clientIn(t, s.vm, l)
	}
	var text bytes.Buffer
	c.Stdout = &text
	g.Expect(c.Start()).To(Succeed())
	in.add(t, c.Process.Pid)
	return func() {
		t.Helper()
		g.Expect(c.Wait()).To(Succeed())
		g.Expect(json.Unmarshal(text.Bytes(), out)).To(Succeed())
	}
}

// A group is the directory of a cgroup with a CPU weight. Empty: there is none.
type group string

// newGroup makes one, if the kernel lets the test do it.
func newGroup(t *testing.T, name string, weight int) group {
	t.Helper()
	for _, file := range []string{"/sys/fs/cgroup/cpu/%s/cpu.shares", "/sys/fs/cgroup/%s/cpu.weight"} {
		file = fmt.Sprintf(file, fmt.Sprintf("oooi-accessbench-%d-%s", os.Getpid(), name))
		dir := filepath.Dir(file)
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		if os.WriteFile(file, []byte(strconv.Itoa(10*weight)), 0o644) == nil {
			return group(dir)
		}
	}
	return ""
}

// add moves processes to the group.
func (g group) add(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if g != "" {
			NewWithT(t).Expect(os.WriteFile(filepath.Join(string(g), "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)).To(Succeed())
		}
	}
}

// vmsTable is Markdown.
func vmsTable(costs map[string]*vmsCost) string {
	var out strings.Builder
	out.WriteString("| VMs | TLS/s, alone | during a stream | ms: p50, p99, alone | during a stream | GB/s of the stream |\n|" + strings.Repeat(" --- |", 6) + "\n")
	for _, k := range vmsKinds() {
		if c := costs[k.name]; c != nil {
			times := func(i int) string {
				return fmt.Sprintf("%.1f, %.1f", median(c.medians[i]).Seconds()*1e3, median(c.p99s[i]).Seconds()*1e3)
			}
			fmt.Fprintf(&out, "| %s | %.0f | %.0f | %s | %s | %.2f |\n", k.name, median(c.rates[0]), median(c.rates[1]), times(0), times(1), median(c.stream))
		}
	}
	return out.String()
}
