package idle

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

const namespace = "clusters-amber"

// What a control plane namespace holds.
const (
	slicesThere   = 60
	machinesThere = 10
)

// planFile is the plan of idle edges.
const planFile = "testdata/plan.json"

// probeEvery is the period of the pods' readiness probes.
const probeEvery = 10 * time.Second

// TestIdle measures edge 1 of two, for $OOOI_IDLE after as long to settle. It runs
// $OOOI_EDGE_BINARY and, at the same time, $OOOI_EDGE_BINARY_BEFORE on a network of its own.
// $OOOI_IDLE_TABLE is a file for the table.
func TestIdle(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("OOOI_IDLE"))
	if err != nil {
		t.Skip("OOOI_IDLE is not set: `make bench-idle` does")
	}
	netns.Require(t, "mount")
	g := NewWithT(t)
	envoy := programs.RequireEnvoy(t)
	_, config := apiserver.ForEdges(t, namespace, there(t, planFile)...)
	var measured []*build
	for _, b := range []*build{{title: "before", program: os.Getenv("OOOI_EDGE_BINARY_BEFORE")}, {title: "now", program: os.Getenv("OOOI_EDGE_BINARY")}} {
		if b.program == "" {
			continue
		}
		b.edges(t, config, envoy, planFile)
		measured = append(measured, b)
	}
	for _, b := range measured {
		for _, e := range b.both {
			g.Eventually(func() error { return e.probe(t.Context()) }, "3m", "1s").Should(Succeed())
		}
	}
	measure(t, measured, length/2)
	measure(t, measured, length)
	text := table(measured)
	t.Log("\n" + text)
	if file := os.Getenv("OOOI_IDLE_TABLE"); file != "" {
		g.Expect(os.WriteFile(file, []byte(text), 0o644)).To(Succeed())
	}
}

// A build of oooi-edge, its two edges, and what the first of them cost.
type build struct {
	title, program string
	both           []*edge
	rows           map[string]row
}

// A row is what one container costs.
type row struct {
	cpu    time.Duration // in a second
	memory int64         // bytes
}

func (b *build) edges(t *testing.T, config *rest.Config, envoy, plan string) *netns.Segment {
	t.Helper()
	vlan, pods, api := netns.NewSegment(t), netns.NewSegment(t), netns.New(t)
	pods.Attach(t, api, "eth0", "", apiHost+"/24")
	secrets := apiserver.ServePods(t, api, config, namespace, apiHost, apiPort)
	for number := 1; number <= 2; number++ {
		b.both = append(b.both, newEdge(t, vlan, pods, number, secrets, b.program, envoy, plan))
	}
	return vlan
}

// measure lets time pass as it does in a pod, and sets what it cost.
func measure(t *testing.T, builds []*build, length time.Duration) {
	t.Helper()
	g := NewWithT(t)
	began, before, probes := time.Now(), map[*build]map[string]row{}, map[*build]time.Duration{}
	for _, b := range builds {
		before[b], probes[b] = b.costs(t), b.both[0].probes
	}
	probe := time.NewTicker(probeEvery)
	defer probe.Stop()
	for end := time.After(length); end != nil; {
		select {
		case <-end:
			end = nil
		case <-probe.C:
			for _, b := range builds {
				g.Expect(b.both[0].probe(t.Context())).To(Succeed(), "%s: an edge that is not ready costs something else", b.title)
			}
		}
	}
	took := time.Since(began).Seconds()
	for _, b := range builds {
		b.rows = map[string]row{}
		for name, r := range b.costs(t) {
			b.rows[name] = row{cpu: time.Duration(float64(r.cpu-before[b][name].cpu) / took), memory: r.memory}
		}
		b.rows["probes"] = row{cpu: time.Duration(float64(b.both[0].probes-probes[b]) / took)}
	}
}

// costs are the CPU time so far and the memory of edge 1's containers.
func (b *build) costs(t *testing.T) map[string]row {
	t.Helper()
	out := map[string]row{}
	for container, pid := range b.both[0].processes {
		all, err := programs.Descendants(pid)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), container)
		for pid, name := range all {
			if name != "envoy" {
				name = container
			}
			cpu, err := programs.CPUTime(pid)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			memory, _, err := programs.PSS(pid)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			out[name] = row{out[name].cpu + cpu, out[name].memory + memory}
		}
	}
	return out
}

// table is Markdown. The last build is compared with the first.
func table(builds []*build) string {
	var out strings.Builder
	out.WriteString("| container |")
	for _, b := range builds {
		fmt.Fprintf(&out, " %s: CPU ms/s | %s: PSS MiB |", b.title, b.title)
	}
	out.WriteString("\n| --- |" + strings.Repeat(" --- | --- |", len(builds)) + "\n")
	var sums []row
	for _, b := range builds {
		var sum row
		for _, r := range b.rows {
			sum = row{sum.cpu + r.cpu, sum.memory + r.memory}
		}
		b.rows["~all"] = sum
		sums = append(sums, sum)
	}
	names := map[string]bool{}
	for _, b := range builds {
		for name := range b.rows {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&out, "| %s |", strings.TrimPrefix(name, "~"))
		for _, b := range builds {
			r := b.rows[name]
			fmt.Fprintf(&out, " %.2f | %.1f |", r.cpu.Seconds()*1000, float64(r.memory)/(1<<20))
		}
		out.WriteString("\n")
	}
	if last := len(sums) - 1; last > 0 {
		fmt.Fprintf(&out, "\nnow : before = %.2f of the CPU time, %.2f of the memory\n",
			float64(sums[last].cpu)/float64(sums[0].cpu), float64(sums[last].memory)/float64(sums[0].memory))
	}
	return out.String()
}

// there is what the namespace holds in addition to the rights of edges.
func there(t *testing.T, planFile string) []client.Object {
	t.Helper()
	g := NewWithT(t)
	plan, err := os.ReadFile(planFile)
	g.Expect(err).NotTo(HaveOccurred())
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	out := []client.Object{
		&corev1.ConfigMap{ObjectMeta: meta("oooi-plan"), Data: map[string]string{"plan.json": string(plan)}},
	}
	for i := range slicesThere {
		out = append(out, slice(meta(fmt.Sprintf("service-%d-abcde", i)), i))
	}
	for i := range machinesThere {
		out = append(out, machine(fmt.Sprintf("amber-%d", i), i), &coordinationv1.Lease{ObjectMeta: meta(fmt.Sprintf("another-%d", i))})
	}
	return out
}

func slice(meta metav1.ObjectMeta, i int) client.Object {
	service, name, port, ready := fmt.Sprintf("service-%d", i), "https", int32(6443), true
	if backends := []string{"ignition-server-proxy", "konnectivity-server", "kube-apiserver", "oauth-openshift"}; i < len(backends) {
		service = backends[i]
	}
	if service != "ignition-server-proxy" {
		name = ""
	}
	address := fmt.Sprintf("10.9.1.%d", i+1)
	if service == network.APIService {
		address = apiHost // Edges check that it answers.
	}
	meta.Labels = map[string]string{discoveryv1.LabelServiceName: service}
	return &discoveryv1.EndpointSlice{
		ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports:     []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}
}

func machineMAC(i int) string { return fmt.Sprintf("02:00:00:00:%02x:%02x", i>>8, i&0xff) }

func machine(name string, i int) client.Object {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{"domain": map[string]any{"devices": map[string]any{"interfaces": []any{
			map[string]any{"name": "vlan", "macAddress": machineMAC(i)},
		}}}},
	}}
}
