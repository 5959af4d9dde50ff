package controllers

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/apply"
	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// worker is a Node.
func worker(name string, cordoned bool) corev1.Node {
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: cordoned}}
}

// runsOn are the reports of edges of clusters.vlan100, with the node of each. Empty: it has no report.
func runsOn(nodes ...string) (out []gather.NetworkReport) {
	for i, node := range nodes {
		if node != "" {
			out = append(out, gather.NetworkReport{Network: "clusters.vlan100", EdgeReport: reported.EdgeReport{Edge: i + 1, Node: node}})
		}
	}
	return out
}

// store keeps the budgets of d, as the API server does, and returns the networks that have one.
func store(w *gather.World, d decide.Decision) map[string]bool {
	out := map[string]bool{}
	w.Owned = nil
	for _, u := range d.Desired {
		if u.GroupVersionKind() == own.BudgetKind {
			o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: u.GetName(), Annotations: u.GetAnnotations()}}
			o.SetGroupVersionKind(own.BudgetKind)
			w.Owned, out[u.GetLabels()[wire.LabelNetwork]] = append(w.Owned, o), true
		}
	}
	return out
}

// TestNodesInMaintenance: while the node of an edge is cordoned, and for ten minutes after that, its peer can be neither
// drained nor replaced. A problem names the node after ten minutes. This ends after four hours, and where the node is gone.
func TestNodesInMaintenance(t *testing.T) {
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	both := []corev1.Node{worker("a", true), worker("b", false)}
	for name, c := range map[string]struct {
		since   time.Duration
		nodes   []corev1.Node
		reports []gather.NetworkReport
		// stored is how long ago the budget was written with a node in maintenance. 0: never.
		stored time.Duration
		waits  bool
		cause  problem.Cause
	}{
		"for nine minutes":                {minutes(9), both, runsOn("a", "b"), 0, true, ""},
		"for eleven minutes":              {minutes(11), both, runsOn("a", "b"), 0, true, problem.EdgeAwaitsNode},
		"for almost four hours":           {minutes(239), both, runsOn("a", "b"), minutes(3), true, problem.EdgeAwaitsNode},
		"for four hours":                  {minutes(240), both, runsOn("a", "b"), minutes(3), false, problem.EdgeOverdue},
		"the node is back":                {minutes(20), []corev1.Node{worker("a", false), worker("b", false)}, runsOn("a", "b"), minutes(9), true, ""},
		"the node has been back for long": {minutes(30), []corev1.Node{worker("a", false), worker("b", false)}, runsOn("a", "b"), minutes(10), false, problem.EdgeOverdue},
		"the node was never cordoned":     {minutes(11), []corev1.Node{worker("a", false), worker("b", false)}, runsOn("a", "b"), 0, false, problem.EdgeOverdue},
		"the node is deleted":             {minutes(30), both[1:], runsOn("a", "b"), minutes(10), false, problem.EdgeOverdue},
		"the peer's node is cordoned":     {minutes(11), []corev1.Node{worker("a", false), worker("b", true)}, runsOn("a", "b"), 0, false, problem.EdgeOverdue},
		"both run on one node":            {minutes(11), both, runsOn("a", "a"), 0, false, problem.EdgeOverdue},
		"the peer's node is unknown":      {minutes(11), both, runsOn("a", ""), 0, false, problem.EdgeOverdue},
		"an edge of an earlier release":   {minutes(11), both, nil, 0, false, problem.EdgeOverdue},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, plan := twoEdges(t)
			w.Nodes, w.EdgeReports = c.nodes, c.reports
			setEdge(&w, first, drained(c.since))
			setEdge(&w, second, upSince(24*time.Hour))
			if c.stored > 0 {
				held := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: wire.BudgetName(plan.Networks[0]),
					Annotations: map[string]string{desired.MaintainedAnnotation: testNow.Add(-c.stored).Format(time.RFC3339)}}}
				held.SetGroupVersionKind(own.BudgetKind)
				w.Owned = append(w.Owned, held)
			}
			refused := w
			refused.HostedCluster = w.HostedCluster.DeepCopy()
			refused.HostedCluster.Annotations[settings.Prefix+"cidr"] = "rubbish"
			d, kept := decide.About(w, testOptions.Release, testNow), decide.About(refused, testOptions.Release, testNow)
			for _, d := range []decide.Decision{d, kept} {
				var causes []problem.Cause
				for _, p := range decide.EdgeProblems(d, w.Edges, w.EdgeReports) {
					if p.Cause != problem.EdgePodNotReady {
						causes = append(causes, p.Cause)
					}
					if p.Cause == problem.EdgeAwaitsNode {
						g.Expect(message(p)).To(ContainSubstring("Its node a is cordoned"))
					}
				}
				if c.cause == "" {
					g.Expect(causes).To(BeEmpty())
				} else {
					g.Expect(causes).To(Equal([]problem.Cause{c.cause}))
				}
			}
			g.Expect(kept.Action).To(Equal(decide.Leave))
			paused, until := w, "true"
			paused.HostedCluster = w.HostedCluster.DeepCopy()
			paused.HostedCluster.Spec.PausedUntil = &until
			during := decide.About(paused, testOptions.Release, testNow)
			g.Expect(during.Desired).To(BeEmpty(), "a paused cluster keeps its budget, or none")
			g.Expect(during.Removed).To(BeEmpty())
			refused.Binding = nil
			g.Expect(decide.About(refused, testOptions.Release, testNow).Desired).To(BeEmpty(), "without its rights in the namespace")
			refused.Binding = w.Binding
			g.Expect(len(kept.Removed) > 0).To(Equal(c.stored > 0 && !c.waits), "a budget ends, despite an Error")
			g.Expect(store(&refused, kept)["clusters.vlan100"]).To(Equal(c.waits), "the budget, despite an Error")
			g.Expect(store(&w, d)["clusters.vlan100"]).To(Equal(c.waits), "the budget")
			r := reportOf(t, w, d, apply.Outcome{Edges: w.Edges})
			g.Expect(r.Condition.Status).To(Equal(metav1.ConditionTrue), "VMs are served")
			setEdge(&w, second, older)
			d = decide.About(w, testOptions.Release, testNow)
			g.Expect(d.Does(second, rollout.Recreate)).To(Equal(!c.waits), "the edge that serves gets another release")
		})
	}
}

// TestNodesThatAreUpdated: the cache has a node that is cordoned or updated as unschedulable.
func TestNodesThatAreUpdated(t *testing.T) {
	mco := func(current, desired, state string) map[string]string {
		const prefix = "machineconfiguration.openshift.io/"
		return map[string]string{prefix + "currentConfig": current, prefix + "desiredConfig": desired, prefix + "state": state}
	}
	for name, c := range map[string]struct {
		node corev1.Node
		want bool
	}{
		"a node":            {worker("a", false), false},
		"a cordoned node":   {worker("a", true), true},
		"a current node":    {corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: mco("rendered-1", "rendered-1", "Done")}}, false},
		"an update began":   {corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: mco("rendered-1", "rendered-2", "Done")}}, true},
		"it reboots":        {corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: mco("rendered-1", "rendered-1", "Rebooting")}}, true},
		"its update failed": {corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: mco("rendered-1", "rendered-2", "Degraded")}}, false},
		"it cannot update":  {corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: mco("rendered-1", "rendered-2", "Unreconcilable")}}, false},
	} {
		o, err := watch.Stripped(&c.node)
		if err != nil || o.(*corev1.Node).Spec.Unschedulable != c.want {
			t.Errorf("%s: %v, not %v (%v)", name, !c.want, c.want, err)
		}
	}
}

// A playedNode is a node that a rehearsal drains and reboots.
type playedNode struct {
	name           string
	cordoned, done bool
	// back is when it has rebooted. Zero: it runs.
	back time.Time
}

// A playedPod is the pod of an edge. It takes 20 s to start.
type playedPod struct {
	name, network string
	number        int
	// node is empty while the pod is pending. reported is the node in the edge's report.
	node, reported string
	ready          bool
	since, placed  time.Time
}

// A rehearsal plays what the Machine Config Operator does with the pools of a cluster: they drain side by side, and in each
// one node after the other reboots. The operator decides only when an edge changes, and when it asked for it.
type rehearsal struct {
	w       gather.World
	now     time.Time
	again   time.Time
	pools   [][]*playedNode
	pods    []*playedPod
	reboot  time.Duration
	budgets map[string]bool
	// unknown is true if edges do not report their nodes, as those of an earlier release.
	unknown bool
	// dark is the longest time without an edge of a network, and alone with one.
	dark, alone time.Duration
}

// play reboots all nodes of pools with so many nodes each, and returns how long it took.
func (r *rehearsal) play(t *testing.T, pools ...int) time.Duration {
	t.Helper()
	r.w, _ = twoEdges(t)
	r.now, r.pools = testNow, nil
	for i, size := range pools {
		var pool []*playedNode
		for j := range size {
			pool = append(pool, &playedNode{name: fmt.Sprintf("pool%d-node%d", i+1, j+1)})
		}
		r.pools = append(r.pools, pool)
	}
	all := slices.Concat(r.pools...)
	if len(pools) == 2 {
		all = []*playedNode{r.pools[0][0], r.pools[1][0]} // Both pools begin with a node of an edge.
	}
	for _, e := range r.w.Edges {
		node := all[(e.Number-1)%len(all)].name
		r.pods = append(r.pods, &playedPod{name: e.Name, network: e.Network, number: e.Number, node: node, reported: node, ready: true, since: r.now.Add(-24 * time.Hour)})
	}
	dark, alone := map[string]time.Duration{}, map[string]time.Duration{}
	for r.operate(); slices.ContainsFunc(slices.Concat(r.pools...), func(n *playedNode) bool { return !n.done }); {
		if r.now.Sub(testNow) > 24*time.Hour {
			t.Fatal("a drain waits for ever")
		}
		r.now = r.now.Add(5 * time.Second)
		r.drain()
		if r.place() || !r.now.Before(r.again) {
			r.operate()
		}
		for network, n := range r.ready() {
			dark[network], alone[network] = longer(dark[network], n < 1), longer(alone[network], n < 2)
			r.dark, r.alone = max(r.dark, dark[network]), max(r.alone, alone[network])
		}
	}
	return r.now.Sub(testNow)
}

// longer is how long something lasts, 5 s later.
func longer(before time.Duration, still bool) time.Duration {
	if !still {
		return 0
	}
	return before + 5*time.Second
}

// ready counts the ready edges of each network.
func (r *rehearsal) ready() map[string]int {
	out := map[string]int{}
	for _, p := range r.pods {
		if out[p.network] += 0; p.ready {
			out[p.network]++
		}
	}
	return out
}

// drain is one try of each pool.
func (r *rehearsal) drain() {
	for _, pool := range r.pools {
		i := slices.IndexFunc(pool, func(n *playedNode) bool { return !n.done })
		if i < 0 {
			continue
		}
		n := pool[i]
		n.cordoned = true
		for _, p := range r.pods {
			if p.node == n.name && n.back.IsZero() && (!p.ready || !r.budgets[p.network] || r.ready()[p.network] == 2) {
				p.node, p.ready, p.since = "", false, r.now
			}
		}
		switch empty := !slices.ContainsFunc(r.pods, func(p *playedPod) bool { return p.node == n.name }); {
		case n.back.IsZero() && empty:
			n.back = r.now.Add(r.reboot)
		case !n.back.IsZero() && !r.now.Before(n.back):
			n.cordoned, n.done = false, true
		}
	}
}

// place starts pending pods on nodes without a pod of their network, and reports whether an edge changed.
func (r *rehearsal) place() (changed bool) {
	for _, p := range r.pods {
		for _, n := range slices.Concat(r.pools...) {
			taken := slices.ContainsFunc(r.pods, func(x *playedPod) bool { return x.network == p.network && x.node == n.name })
			if p.node == "" && !n.cordoned && !taken {
				p.node, p.placed = n.name, r.now
			}
		}
		if p.node != "" && !p.ready && r.now.Sub(p.placed) >= 20*time.Second {
			p.ready, p.since, p.reported = true, r.now, p.node
		}
		changed = changed || p.since.Equal(r.now)
	}
	return changed
}

// operate is one pass of the operator.
func (r *rehearsal) operate() {
	r.w.Nodes, r.w.EdgeReports = nil, nil
	for _, n := range slices.Concat(r.pools...) {
		r.w.Nodes = append(r.w.Nodes, worker(n.name, n.cordoned))
	}
	for _, p := range r.pods {
		status, ago := upSince(testNow.Sub(p.since)), testNow.Sub(p.since)
		if !p.ready {
			status = drained(ago)
		}
		setEdge(&r.w, p.name, func(d appsv1.Deployment) appsv1.Deployment { return status(d) })
		if !r.unknown {
			r.w.EdgeReports = append(r.w.EdgeReports, gather.NetworkReport{Network: p.network, EdgeReport: reported.EdgeReport{Edge: p.number, Node: p.reported}})
		}
	}
	d := decide.About(r.w, testOptions.Release, r.now)
	r.budgets, r.again = store(&r.w, d), r.now.Add(d.Again)
}

// TestAllNodesAreRebooted is the table of docs/restore.md: while all nodes reboot, an edge of each network serves all the
// time. Without the edges' nodes, the operator would remove the budget after ten minutes, and the rehearsal sees it.
func TestAllNodesAreRebooted(t *testing.T) {
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	for name, c := range map[string]struct {
		rehearsal
		pools []int
		// takes is until all nodes have rebooted, alone and dark the longest time with one edge and with none.
		takes, alone, dark time.Duration
	}{
		"two nodes in two pools, 15 minutes": {rehearsal{reboot: minutes(15)}, []int{1, 1}, minutes(30) + 30*time.Second, minutes(15) + 20*time.Second, 0},
		"two nodes in two pools, 20 minutes": {rehearsal{reboot: minutes(20)}, []int{1, 1}, minutes(40) + 30*time.Second, minutes(20) + 20*time.Second, 0},
		"two nodes in two pools, 2 hours":    {rehearsal{reboot: minutes(120)}, []int{1, 1}, minutes(240) + 30*time.Second, minutes(120) + 20*time.Second, 0},
		"two nodes in one pool, 15 minutes":  {rehearsal{reboot: minutes(15)}, []int{2}, minutes(30) + 30*time.Second, minutes(15) + 20*time.Second, 0},
		"six nodes in two pools, 15 minutes": {rehearsal{reboot: minutes(15)}, []int{3, 3}, minutes(45) + 40*time.Second, 20 * time.Second, 0},
		"edges that report no node":          {rehearsal{reboot: minutes(15), unknown: true}, []int{1, 1}, minutes(25) + 10*time.Second, minutes(25) + 10*time.Second, minutes(5) + 15*time.Second},
		"for longer than four hours":         {rehearsal{reboot: minutes(300)}, []int{1, 1}, minutes(540) + 10*time.Second, minutes(540) + 10*time.Second, minutes(60) + 15*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			takes := c.play(t, c.pools...)
			if takes != c.takes || c.rehearsal.alone != c.alone || c.rehearsal.dark != c.dark {
				t.Errorf("all nodes took %v, a network had one edge for %v and none for %v", takes, c.rehearsal.alone, c.rehearsal.dark)
			}
		})
	}
}
