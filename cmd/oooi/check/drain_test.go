package check

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/placement"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/blue"
)

// edgesOn are the edges of n, each on its node, ready unless the name ends with "!".
func edgesOn(n network.Network, nodes ...string) (out []drainEdge) {
	for i, node := range nodes {
		name, broken := strings.CutSuffix(node, "!")
		out = append(out, drainEdge{wire.EdgeLabels(n, n.Edges[i]), name, !broken})
	}
	return out
}

// TestDrainOfEdges: which edges a drain takes, where they can run, and whether their budget holds the drain.
func TestDrainOfEdges(t *testing.T) {
	two := blue.Plan().Networks[0]
	one := two
	one.Edges = two.Edges[:1]
	big := func(names ...string) (c placement.Capacity) {
		for _, name := range names {
			c.Nodes = append(c.Nodes, nodeWith(name, "4", "16Gi"))
		}
		return c
	}
	full := big("a", "b")
	full.Nodes = append(full.Nodes, nodeWith("c", "4", "64Mi"))
	budget := func(allowed int32) []policyv1.PodDisruptionBudget {
		return []policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Name: wire.BudgetName(two)}, Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed}}}
	}
	for name, c := range map[string]struct {
		network  network.Network
		edges    []drainEdge
		budgets  []policyv1.PodDisruptionBudget
		capacity placement.Capacity
		drain    []string
		want     outcome
		why      string
	}{
		"no edge is there":                    {two, edgesOn(two, "a", "b"), budget(1), big("a", "b", "c"), []string{"c"}, fine, ""},
		"one edge, and a node is left":        {two, edgesOn(two, "a", "b"), budget(1), big("a", "b", "c"), []string{"a"}, fine, "edge 1 can move to other nodes: c."},
		"one edge, and no node is left":       {two, edgesOn(two, "a", "b"), budget(1), big("a", "b"), []string{"a"}, warning, "Too few other nodes can run edge 1: there is no other node."},
		"one edge, and the node is full":      {two, edgesOn(two, "a", "b"), budget(1), full, []string{"b"}, warning, "run edge 2: c has 64Mi memory left."},
		"the other edge is not ready":         {two, edgesOn(two, "a", "b!"), budget(0), big("a", "b", "c"), []string{"a"}, warning, "does not let edge 1 be evicted"},
		"the edge there is not ready":         {two, edgesOn(two, "a!", "b"), budget(0), big("a", "b", "c"), []string{"a"}, fine, "edge 1 can move to other nodes: c."},
		"both edges, and two nodes are left":  {two, edgesOn(two, "a", "b"), budget(1), big("a", "b", "c", "d"), []string{"a", "b"}, fine, "edge 1 and edge 2 can move to other nodes: c, d."},
		"both edges, and one node is left":    {two, edgesOn(two, "a", "b"), budget(1), big("a", "b", "c"), []string{"a", "b"}, warning, "run edge 1 and edge 2: only c is left."},
		"both edges, and no node is left":     {two, edgesOn(two, "a", "b"), budget(1), big("a", "b"), []string{"a", "b"}, warning, "or four hours while its node is in maintenance."},
		"both edges on one node":              {two, edgesOn(two, "a", "a"), budget(1), big("a"), []string{"a"}, failure, "for more than ten minutes."},
		"no edge is ready":                    {two, edgesOn(two, "a!", "b!"), budget(0), big("a", "b", "c"), []string{"a"}, warning, "No other edge is ready"},
		"both edges, and the budget is gone":  {two, edgesOn(two, "a", "b"), nil, big("a", "b"), []string{"a", "b"}, failure, "VMs are not served until an edge runs on another node (none)"},
		"the last edge, the budget is gone":   {two, edgesOn(two, "a", "b!"), nil, big("a", "b", "c"), []string{"a"}, warning, "No other edge is ready"},
		"one edge alone, and a node is left":  {one, edgesOn(one, "a"), nil, big("a", "b"), []string{"a"}, warning, "another node (b)"},
		"one edge alone, and no node is left": {one, edgesOn(one, "a"), nil, big("a"), []string{"a"}, failure, "another node (none)"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			all := drainChecks(drainFacts{namespace: "clusters-blue", networks: []network.Network{c.network}, edges: c.edges, budgets: c.budgets, capacity: c.capacity}, c.drain)
			g.Expect(all).To(HaveLen(1))
			g.Expect(all[0].Name).To(Equal("edges of clusters/vlan100"))
			g.Expect(all[0].Verdict).To(Equal(c.want), all[0].Why)
			g.Expect(all[0].Why).To(ContainSubstring(c.why))
			g.Expect(all[0].Why == "").To(Equal(c.why == ""))
		})
	}
}

// TestDrainOfVMs: what happens to the VMs of each NodePool depends on their evictionStrategy.
func TestDrainOfVMs(t *testing.T) {
	on := func(node string, e hcp.Eviction, names ...string) (out []hcp.PlacedVM) {
		for _, name := range names {
			out = append(out, hcp.PlacedVM{Name: name, NodePool: "blue", Node: node, Eviction: e})
		}
		return out
	}
	for name, c := range map[string]struct {
		vms    []hcp.PlacedVM
		want   outcome
		causes []problem.Cause
		why    string
	}{
		"none":                    {on("b", hcp.EvictionReplaces, "vm-1"), fine, nil, ""},
		"some are replaced":       {append(on("a", hcp.EvictionReplaces, "vm-5", "vm-4", "vm-3", "vm-2"), on("b", hcp.EvictionReplaces, "vm-1")...), warning, []problem.Cause{problem.DrainReplacesVMs}, "4 of 5 VMs are deleted and created again (vm-2, vm-3, vm-4, and 1 more)."},
		"all are replaced":        {on("a", hcp.EvictionReplaces, "vm-1"), warning, []problem.Cause{problem.DrainReplacesVMs, problem.DrainEmptiesNodePool}, "All VMs of the NodePool"},
		"all migrate":             {on("a", hcp.EvictionMigrates, "vm-1", "vm-2"), fine, []problem.Cause{problem.DrainMigratesVMs}, "2 of 2 VMs migrate"},
		"one cannot migrate":      {append(on("a", hcp.EvictionRefused, "vm-1"), on("b", hcp.EvictionMigrates, "vm-2")...), warning, []problem.Cause{problem.DrainWaitsForVMs}, "1 of 2 VMs cannot be evicted (vm-1)."},
		"one stops":               {append(on("a", hcp.EvictionStops, "vm-1"), on("b", hcp.EvictionStops, "vm-2")...), warning, []problem.Cause{problem.DrainStopsVMs}, "1 of 2 VMs stop"},
		"a setting of KubeVirt's": {append(on("a", hcp.EvictionUnset, "vm-1"), on("b", hcp.EvictionUnset, "vm-2")...), unsure, []problem.Cause{problem.DrainOfVMsUnknown}, "no evictionStrategy"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			all := drainChecks(drainFacts{vms: c.vms}, []string{"a"})
			g.Expect(all).To(HaveLen(1))
			g.Expect(all[0].Name).To(Equal("VMs of NodePool blue"))
			g.Expect(all[0].Verdict).To(Equal(c.want))
			g.Expect(all[0].Why).To(ContainSubstring(c.why))
			var causes []problem.Cause
			for _, p := range all[0].Problems {
				causes = append(causes, p.Cause)
			}
			g.Expect(causes).To(Equal(c.causes))
		})
	}
}

// TestDrainWithoutRights: what cannot be read is unknown. Free resources do not decide the exit code.
func TestDrainWithoutRights(t *testing.T) {
	g := NewWithT(t)
	all := drainChecks(drainFacts{unread: []string{"pods is forbidden"}, capacity: placement.Capacity{PodsErr: errors.New("forbidden")}}, []string{"a"})
	g.Expect(all).To(HaveLen(2))
	g.Expect(all[0].Verdict).To(Equal(unsure))
	g.Expect(all[0].aside).To(BeFalse())
	g.Expect(all[1].aside).To(BeTrue())
	g.Expect(nodeToDrain("a", placement.Capacity{NodesErr: errors.New("forbidden")})[0].Cause).To(Equal(problem.Unread))
}

// TestDrainFromFiles: the command predicts from what must-gather wrote.
func TestDrainFromFiles(t *testing.T) {
	g := NewWithT(t)
	p := blue.Plan()
	n := p.Networks[0]
	hc := blue.FirstOf(t, "HostedCluster")
	objects := []any{hc,
		&corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: wire.PlanConfigMap},
			Data: map[string]string{wire.PlanKey: string(p.JSON())}},
		map[string]any{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
			"metadata": map[string]any{"namespace": "clusters-blue", "name": "blue-1", "labels": map[string]any{"hypershift.openshift.io/nodepool-name": "blue"}},
			"spec":     map[string]any{"evictionStrategy": "External"}, "status": map[string]any{"nodeName": "a"}},
		&policyv1.PodDisruptionBudget{TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: wire.BudgetName(n), Labels: wire.NetworkLabels(wire.NameEdge, n)}, Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1}},
	}
	for i, node := range []string{"a", "b"} {
		w := nodeWith(node, "4", "16Gi")
		w.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
		objects = append(objects, &w, &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "edge-" + node, Labels: wire.EdgeLabels(n, n.Edges[i])},
			Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}})
	}
	objects = append(objects, &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "ended", Labels: wire.EdgeLabels(n, n.Edges[1])},
		Spec: corev1.PodSpec{NodeName: "a"}, Status: corev1.PodStatus{Phase: corev1.PodFailed}})
	dir := t.TempDir()
	var text []string
	for _, o := range objects {
		b, err := json.Marshal(o)
		g.Expect(err).NotTo(HaveOccurred())
		text = append(text, string(b))
	}
	g.Expect(os.WriteFile(filepath.Join(dir, "objects.yaml"), []byte(strings.Join(text, "\n---\n")), 0o600)).To(Succeed())
	run := func(args ...string) (string, error) {
		var out strings.Builder
		c := New()
		c.SetArgs(append([]string{"-f", dir}, args...))
		c.SetOut(&out)
		c.SetErr(&out)
		c.SilenceUsage, c.SilenceErrors = true, true
		err := c.ExecuteContext(t.Context())
		return out.String(), err
	}
	out, err := run("--drain", "a")
	g.Expect(err).NotTo(HaveOccurred(), out)
	for _, want := range []string{
		"Drain of a\n  ok       node a\n", "\nHostedCluster clusters/blue\n", "  unknown  free resources: ",
		"  warning  edges of clusters/vlan100: Too few other nodes can run edge 1: there is no other node. Only one edge serves VMs until the node returns.",
		"  warning  VMs of NodePool blue: 1 of 1 VMs are deleted and created again (blue-1). ",
	} {
		g.Expect(out).To(ContainSubstring(want))
	}
	out, err = run("--drain", "a,b")
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Expect(out).To(ContainSubstring("does not let edge 1 and edge 2 be evicted from these nodes"))
	out, err = run("--drain", "x")
	g.Expect(err).To(Equal(command.Exit(command.ExitFault, nil)))
	g.Expect(out).To(ContainSubstring("  failure  node x: Node x does not exist."))
	_, err = run()
	g.Expect(err).To(MatchError(ContainSubstring("--filename needs --drain")))
	_, err = run("--drain", "a", "--failover")
	g.Expect(err).To(MatchError(ContainSubstring("only predicts")))
}
