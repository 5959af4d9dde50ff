package check

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/blue"
)

// macOfEdge is that of the edges of tests.
func macOfEdge(number int) string { return fmt.Sprintf("02:00:00:00:00:%02x", number) }

// TestEdgeToEvict: the one that the pod uses, and none that would leave VMs without an edge.
func TestEdgeToEvict(t *testing.T) {
	n := blue.Plan().Networks[0]
	facts := func(ready [2]bool, levels [2]string) status.Facts {
		f := status.Facts{Ready: map[string]bool{}, Reports: map[string]reported.EdgeReport{}}
		for i, e := range n.Edges {
			f.Ready[wire.EdgeDeploymentName(n, e)] = ready[i]
			f.Reports[wire.EdgeReportLease(n, e).Name] = reported.EdgeReport{Edge: e.Number, Level: levels[i]}
		}
		return f
	}
	pods := func(ready [2]bool) (out []edgePod) {
		for i, ok := range ready {
			out = append(out, edgePod{edge: i + 1, ready: ok, joined: joined{mac: macOfEdge(i + 1)}})
		}
		return out
	}
	both, reach := [2]bool{true, true}, [2]string{reported.LevelReaches, reported.LevelReaches}
	for name, c := range map[string]struct {
		f    status.Facts
		pods []edgePod
		mac  string
		want int
		why  string
	}{
		"the second is used":        {facts(both, reach), pods(both), macOfEdge(2), 2, ""},
		"the first is used":         {facts(both, reach), pods(both), macOfEdge(1), 1, ""},
		"another host is used":      {facts(both, reach), pods(both), macOfEdge(9), 0, "It is unknown which edge the connections go to (MAC 02:00:00:00:00:09), so no edge is evicted."},
		"a Deployment is not ready": {facts([2]bool{true, false}, reach), pods(both), macOfEdge(1), 0, "Edge 2 is not ready now, or does not report that it reaches the API server. So no edge is evicted."},
		"a pod is not ready":        {facts(both, reach), pods([2]bool{false, true}), macOfEdge(2), 0, "Edge 1 is not ready now, or does not report that it reaches the API server. So no edge is evicted."},
		"a pod is gone":             {facts(both, reach), pods(both)[:1], macOfEdge(1), 0, "Edge 2 is not ready now, or does not report that it reaches the API server. So no edge is evicted."},
		"no right":                  {status.Facts{}, pods(both), macOfEdge(1), 0, "Edge 1 is not ready now, or does not report that it reaches the API server. So no edge is evicted."},
		"the other reaches nothing": {facts(both, [2]string{reported.LevelReaches, reported.LevelServes}), pods(both), macOfEdge(1), 0, "Edge 2 is not ready now, or does not report that it reaches the API server. So no edge is evicted."},
		"the used reaches nothing":  {facts(both, [2]string{reported.LevelReaches, reported.LevelServes}), pods(both), macOfEdge(2), 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			taken, err := edgeToEvict(c.f, n, c.pods, c.mac)
			if c.why == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(c.why))
			}
			g.Expect(taken.edge).To(Equal(c.want))
		})
	}
}

// A silent is an API server that answers nothing. It leaves out all else.
type silent struct{ client.Client }

func (silent) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestSilentAPIServer: no edge is evicted once the pod that would see it has almost ended.
func TestSilentAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, began := NewWithT(t), time.Now()
		try := trier{api: silent{}, evicts: evictionTimes{until: failoverUntil}}
		_, err := try.evict(t.Context(), status.Facts{}, blue.Plan().Networks[0], macOfEdge(1), began.Add(failoverUntil))
		g.Expect(err).To(MatchError("The state of the edges was not read within 15s of the pod's start, so no edge is evicted."))
		g.Expect(time.Since(began)).To(Equal(failoverUntil))
	})
}

// A playedFailover gives the pod of Try a state and a log, until the pod of an edge is gone. Then it has ended.
type playedFailover struct {
	admin client.Client
	edges int
}

func (k playedFailover) gone(ctx context.Context) bool {
	var edges corev1.PodList
	return k.admin.List(ctx, &edges, client.MatchingLabels{wire.LabelName: wire.NameEdge}) == nil && len(edges.Items) < k.edges
}

func (k playedFailover) update(ctx context.Context) {
	eachTry(ctx, k.admin, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		if k.gone(ctx) {
			p.Status.Phase = corev1.PodSucceeded
		}
	})
}

func (k playedFailover) logs(ctx context.Context, _ client.ObjectKey, _ string, _ bool) (io.ReadCloser, error) {
	log := fmt.Sprintf("{\"uses\":%q}\n", macOfEdge(2))
	if k.gone(ctx) {
		log += `[{"name":"failover: x","problems":[{"cause":"FailoverMeasured","severity":"Info","args":{"gap":"180ms","made":"5","failed":"0"}}]}]` + "\n"
	}
	return io.NopCloser(strings.NewReader(log)), nil
}

// edgePodOf is a pod of edge e of n, which is ready.
func edgePodOf(n network.Network, e network.Edge) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: fmt.Sprintf("edge-%d", e.Number), Labels: wire.EdgeLabels(n, e), Annotations: map[string]string{
			wire.AnnotationNetworkStatus: fmt.Sprintf(`[{"interface":"net1","mac":%q}]`, macOfEdge(e.Number)),
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "dhcp", Image: "x"}}, TerminationGracePeriodSeconds: new(int64)},
	}
}

// checkFailover: the state of the edges is read again immediately before one is evicted, and its budget counts.
func checkFailover(t *testing.T, server *apiserver.Server) {
	admin := server.Admin
	blue.Create(t, admin)
	g := NewWithT(t)
	facts := status.Facts{PlanRead: true}
	facts.ControlPlane, facts.Plan = "clusters-blue", blue.Plan()
	n := &facts.Plan.Networks[0]
	n.Name, n.Attachment.Namespace = "clusters-blue.vlan100", "clusters-blue"
	g.Expect(n.Edges).To(HaveLen(2))
	edgesServe(t, admin)
	for _, e := range n.Edges {
		p := edgePodOf(*n, e)
		g.Expect(admin.Create(t.Context(), p)).To(Succeed())
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		g.Expect(admin.Status().Update(t.Context(), p)).To(Succeed())
	}
	kubelet := playedFailover{admin, len(n.Edges)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	eachPodChange(ctx, t, server, func() { kubelet.update(ctx) })
	check := func() checked {
		c := trier{api: admin, logs: kubelet.logs, evicts: evictionTimes{until: time.Hour}}.failsOver(t.Context(), facts, *n, triedAddress)
		expectNoPod(t, admin)
		return c
	}
	left := func() int {
		var pods corev1.PodList
		g.Expect(admin.List(t.Context(), &pods, client.MatchingLabels{wire.LabelName: wire.NameEdge})).To(Succeed())
		return len(pods.Items)
	}
	// What was known at the begin is not what is now.
	report := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: "clusters-blue", Name: wire.EdgeReportLease(*n, n.Edges[0]).Name}
	told := func(level string) {
		g.Expect(admin.Get(t.Context(), key, report)).To(Succeed())
		report.Annotations[wire.AnnotationReport] = string(reported.EdgeReport{Edge: 1, Level: level}.JSON())
		g.Expect(admin.Update(t.Context(), report)).To(Succeed())
	}
	told(reported.LevelServes)
	g.Expect(check()).To(And(HaveField("Verdict", unsure), HaveField("Why", "Edge 1 is not ready now, or does not report that it reaches the API server. So no edge is evicted.")))
	g.Expect(left()).To(Equal(2))

	told(reported.LevelReaches)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: wire.BudgetName(*n)},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(0)), Selector: &metav1.LabelSelector{MatchLabels: wire.EdgesOf(*n)}},
	}
	g.Expect(admin.Create(t.Context(), budget)).To(Succeed())
	// The API server's answer makes clients try again, until a controller has seen the budget.
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, CurrentHealthy: 2, DesiredHealthy: 2, ExpectedPods: 2}
	g.Expect(admin.Status().Update(t.Context(), budget)).To(Succeed())
	g.Expect(check()).To(And(HaveField("Verdict", unsure), HaveField("Why", HavePrefix("The PodDisruptionBudget permits no eviction of edge 2 now: "))))
	g.Expect(left()).To(Equal(2))

	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, DisruptionsAllowed: 1, CurrentHealthy: 2, DesiredHealthy: 1, ExpectedPods: 2}
	g.Expect(admin.Status().Update(t.Context(), budget)).To(Succeed())
	g.Expect(check()).To(And(HaveField("Verdict", fine), HaveField("Why", "VMs could not open connections for 180ms. 5 succeeded and 0 failed. Edge 2, pod edge-2, was evicted.")))
	g.Expect(left()).To(Equal(1))
}
