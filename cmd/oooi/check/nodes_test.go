package check

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/cmd/oooi/placement"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// nodeWith is a node with CPU and memory for pods, after changes.
func nodeWith(name, cpu, memory string, changes ...func(*corev1.Node)) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourcePods: resource.MustParse("110"),
	}
	for _, c := range changes {
		c(&n)
	}
	return n
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func tainted(key string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
}

func labelled(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

func offers(name, amount string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceName(name)] = resource.MustParse(amount) }
}

// podOn requests CPU and memory of a node. With labels it is in the control plane namespace.
func podOn(node, cpu, memory string, labels map[string]string) placement.Pod {
	return placement.Pod{Node: node, Namespace: "clusters-blue", Labels: labels, Requests: placement.RequestsOf(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}},
	}}}})}
}

// TestNodesForEdges: an edge requests 100m CPU and 384Mi of memory.
func TestNodesForEdges(t *testing.T) {
	two := network.Network{Name: "clusters.vlan100", Attachment: network.Attachment{Namespace: "clusters", Name: "vlan100"}, Edges: []network.Edge{{Number: 1}, {Number: 2}}}
	placed := func(p network.Placement) network.Network { n := two; n.Placement = p; return n }
	one := two
	one.Edges = two.Edges[:1]
	device := one
	device.Attachment.ResourceName = "example.com/vf"
	edge := wire.NamedLabels(wire.NameEdge)
	big := []corev1.Node{nodeWith("a", "4", "16Gi"), nodeWith("b", "4", "16Gi")}
	for name, c := range map[string]struct {
		network  network.Network
		capacity placement.Capacity
		served   bool
		want     outcome
		why      []string
	}{
		"room on two nodes":        {network: two, capacity: placement.Capacity{Nodes: big}, want: fine},
		"room on one, for one":     {network: one, capacity: placement.Capacity{Nodes: big[:1]}, want: fine},
		"room on one, for two":     {two, placement.Capacity{Nodes: big[:1]}, false, warning, []string{"Only node a has room for an edge, but the network has 2."}},
		"one of two is cordoned":   {two, placement.Capacity{Nodes: []corev1.Node{big[0], nodeWith("b", "4", "16Gi", cordoned)}}, false, warning, []string{"Only node a has room"}},
		"no nodes":                 {one, placement.Capacity{}, false, failure, []string{"No node may run an edge: there are no nodes."}},
		"none may, and edges run":  {one, placement.Capacity{Nodes: []corev1.Node{nodeWith("a", "4", "16Gi", cordoned)}}, true, warning, []string{"1 are cordoned."}},
		"each for its own reasons": {one, placement.Capacity{Nodes: []corev1.Node{nodeWith("a", "4", "16Gi", cordoned), nodeWith("b", "4", "16Gi", tainted("gpu")), nodeWith("c", "4", "16Gi", tainted("gpu")), nodeWith("d", "4", "16Gi", tainted(corev1.TaintNodeNotReady))}}, false, failure, []string{"2 have taint gpu:NoSchedule, 1 are cordoned, 1 are not ready. Change annotation edge-node-selector"}},
		"a taint that is tolerated": {placed(network.Placement{Tolerations: []network.Toleration{{Key: "gpu", Operator: "Exists"}}}),
			placement.Capacity{Nodes: []corev1.Node{nodeWith("a", "4", "16Gi", tainted("gpu")), nodeWith("b", "4", "16Gi", tainted("gpu"))}}, false, fine, nil},
		"a taint that only advises": {one, placement.Capacity{Nodes: []corev1.Node{nodeWith("a", "4", "16Gi", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectPreferNoSchedule}}
		})}}, false, fine, nil},
		"a label that is missing": {placed(network.Placement{NodeSelectors: []map[string]string{{"vlan100": "yes"}}}), placement.Capacity{Nodes: big}, false, failure, []string{"2 are excluded by their labels."}},
		"labels of alternatives": {placed(network.Placement{NodeSelectors: []map[string]string{{"vlan100": "yes"}, {"zone": "1"}}}),
			placement.Capacity{Nodes: []corev1.Node{nodeWith("a", "4", "16Gi", labelled("vlan100", "yes")), nodeWith("b", "4", "16Gi", labelled("zone", "1"))}}, false, fine, nil},
		"a label that must not be": {placed(network.Placement{WithoutLabels: []string{"infra"}}), placement.Capacity{Nodes: []corev1.Node{nodeWith("a", "4", "16Gi", labelled("infra", ""))}}, false, failure, []string{"1 are excluded by their labels"}},
		"memory is requested": {two, placement.Capacity{Nodes: big, Pods: []placement.Pod{podOn("a", "1", "16100Mi", nil), podOn("b", "1", "16100Mi", nil)}}, false, failure,
			[]string{"No node has room for an edge, which requests 100m cpu and 384Mi memory: a has 284Mi memory left"}},
		"CPU is requested":       {two, placement.Capacity{Nodes: big, Pods: []placement.Pod{podOn("a", "3950m", "1Gi", nil)}}, false, warning, []string{"Only node b has room", "Other nodes lack room: a has 50m cpu left."}},
		"own edges do not count": {two, placement.Capacity{Nodes: big, Pods: []placement.Pod{podOn("a", "3950m", "1Gi", edge), podOn("b", "3950m", "1Gi", edge)}}, true, fine, nil},
		"a device is missing":    {device, placement.Capacity{Nodes: big}, false, failure, []string{"1 example.com/vf", "a has 0 example.com/vf left, b has 0 example.com/vf left"}},
		"a device is there":      {device, placement.Capacity{Nodes: []corev1.Node{nodeWith("a", "4", "16Gi", offers("example.com/vf", "1"))}}, false, fine, nil},
		"many nodes":             {one, placement.Capacity{Nodes: []corev1.Node{nodeWith("a", "1m", "1Gi"), nodeWith("b", "1m", "1Gi"), nodeWith("c", "1m", "1Gi"), nodeWith("d", "1m", "1Gi"), nodeWith("e", "1m", "1Gi")}}, false, failure, []string{"a has 1m cpu left, b has 1m cpu left, c has 1m cpu left, and 2 more."}},
		"nodes are not read":     {one, placement.Capacity{NodesErr: errors.New("no right")}, false, unsure, []string{"no right."}},
		"nodes, and edges run":   {one, placement.Capacity{NodesErr: errors.New("no right")}, true, unsure, []string{"no right."}},
		"pods are not read":      {one, placement.Capacity{Nodes: big, PodsErr: errors.New("no right")}, false, unsure, []string{"the free resources of 2 nodes are unknown: no right."}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			out := nodeChecks([]placeable{{c.network, "clusters-blue", c.served}}, c.capacity)
			g.Expect(out).To(HaveLen(1))
			g.Expect(out[0].Name).To(Equal("nodes for edges of clusters/vlan100"))
			g.Expect(out[0].Verdict).To(Equal(c.want), out[0].Why)
			g.Expect(out[0].Page == "").To(Equal(c.want == fine))
			g.Expect(out[0].aside).To(Equal(c.want == unsure && c.served), "a cluster that is served needs no right to read nodes")
			for _, why := range c.why {
				g.Expect(out[0].Why).To(ContainSubstring(why))
			}
		})
	}
}

// TestNodesForTwoNetworks: what the edge of one network takes is not free for the next, and the exit code of a cluster that is
// served does not depend on the right to list pods.
func TestNodesForTwoNetworks(t *testing.T) {
	g := NewWithT(t)
	of := func(name string) placeable {
		n := network.Network{Name: "clusters." + name, Attachment: network.Attachment{Namespace: "clusters", Name: name}, Edges: []network.Edge{{Number: 1}}}
		return placeable{network: n, namespace: "clusters-blue"}
	}
	out := nodeChecks([]placeable{of("a"), of("b")}, placement.Capacity{Nodes: []corev1.Node{nodeWith("a", "150m", "16Gi")}})
	g.Expect(out).To(HaveLen(2))
	g.Expect(out[0].Verdict).To(Equal(fine))
	g.Expect(out[1].Verdict).To(Equal(failure))
	g.Expect(out[1].Why).To(ContainSubstring("a has 50m cpu left"))

	running := of("a")
	running.served = true
	out = nodeChecks([]placeable{running}, placement.Capacity{Nodes: []corev1.Node{nodeWith("a", "1", "16Gi")}, PodsErr: errors.New("no right")})
	g.Expect(out[0].aside).To(BeTrue())
}

// TestRequests: as the scheduler counts a pod.
func TestRequests(t *testing.T) {
	g := NewWithT(t)
	of := func(memory string) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}}}
	}
	always := corev1.ContainerRestartPolicyAlways
	sidecar := of("8Mi")
	sidecar.RestartPolicy = &always
	got := placement.RequestsOf(&corev1.Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{of("16Mi"), of("16Mi")}, InitContainers: []corev1.Container{of("64Mi"), sidecar, of("20Mi")},
		Overhead: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")},
	}})
	g.Expect(got.Memory().String()).To(Equal("65Mi"))
	g.Expect(got.Pods().Value()).To(BeEquivalentTo(1))
	g.Expect(strings.Count(placement.Amounts(got), "pods")).To(Equal(0))
}
