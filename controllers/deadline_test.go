package controllers

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/apply"
	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/rollout"
)

// The states of a Deployment as the API server's controllers write them.

// upSince is d that runs, for so long.
func upSince(ago time.Duration) func(appsv1.Deployment) appsv1.Deployment {
	return func(d appsv1.Deployment) appsv1.Deployment {
		return withConditions(running(d), corev1.ConditionTrue, ago, corev1.ConditionTrue, "NewReplicaSetAvailable", ago)
	}
}

// drained is d that ran what it is to run, until then.
func drained(ago time.Duration) func(appsv1.Deployment) appsv1.Deployment {
	return func(d appsv1.Deployment) appsv1.Deployment {
		return withConditions(stopped(running(d)), corev1.ConditionFalse, ago, corev1.ConditionTrue, "NewReplicaSetAvailable", 24*time.Hour)
	}
}

// pending is d that was made then, and never ran.
func pterminating(ago time.Duration) func(appsv1.Deployment) appsv1.Deployment {
	return func(d appsv1.Deployment) appsv1.Deployment {
		d.CreationTimestamp = metav1.NewTime(testNow.Add(-ago))
		return broken(ago, ago)(d)
	}
}

// broken is d that ran until then, and got another template at given.
func broken(ago, given time.Duration) func(appsv1.Deployment) appsv1.Deployment {
	return func(d appsv1.Deployment) appsv1.Deployment {
		d = stopped(running(d))
		if given < rollout.Deadline {
			return withConditions(d, corev1.ConditionFalse, ago, corev1.ConditionTrue, "ReplicaSetUpdated", given)
		}
		return withConditions(d, corev1.ConditionFalse, ago, corev1.ConditionFalse, "ProgressDeadlineExceeded", given-rollout.Deadline)
	}
}

func withConditions(d appsv1.Deployment, up corev1.ConditionStatus, since time.Duration, goes corev1.ConditionStatus, why string, at time.Duration) appsv1.Deployment {
	d.Status.Conditions = []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, Status: up, LastTransitionTime: metav1.NewTime(testNow.Add(-since))},
		{Type: appsv1.DeploymentProgressing, Status: goes, Reason: why, LastUpdateTime: metav1.NewTime(testNow.Add(-at))},
	}
	return d
}

// both are changes of one Deployment, one after the other.
func both(changes ...func(appsv1.Deployment) appsv1.Deployment) func(appsv1.Deployment) appsv1.Deployment {
	return func(d appsv1.Deployment) appsv1.Deployment {
		for _, change := range changes {
			d = change(d)
		}
		return d
	}
}

// TestEdgesThatAreWaitedFor: a peer waits for an edge that starts, not for an overdue one. The
// peer of an overdue edge does not get a version that may be the cause.
func TestEdgesThatAreWaitedFor(t *testing.T) {
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	for name, c := range map[string]struct {
		of         func(appsv1.Deployment) appsv1.Deployment
		late, lame bool
	}{
		"serves":                               {upSince(minutes(60)), false, false},
		"nothing is known":                     {stopped, false, false},
		"just made":                            {pterminating(minutes(1)), false, false},
		"pending since it was made":            {pterminating(minutes(11)), true, true},
		"drained":                              {drained(minutes(5)), false, false},
		"drained for long":                     {drained(minutes(11)), true, true},
		"drained for long, and not looked at":  {both(drained(minutes(11)), func(d appsv1.Deployment) appsv1.Deployment { d.Generation++; return d }), false, false},
		"drained for long, given another pod":  {broken(minutes(60), minutes(5)), false, false},
		"drained for long, and another pod":    {broken(minutes(60), minutes(15)), true, true},
		"broken by what it was given":          {broken(minutes(15), minutes(15)), true, false},
		"broken by what it was given just now": {broken(minutes(5), minutes(5)), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := deployment(func(d *appsv1.Deployment) { d.CreationTimestamp = metav1.NewTime(testNow.Add(-48 * time.Hour)) })
			e := gather.EdgeOf(c.of(d))
			health := rollout.Next(rollout.Network{Edges: []rollout.Edge{{Name: "e", Wanted: "v", Seen: e.Seen}}}, testNow).Steps[0].Health
			g.Expect(health == rollout.Failed || health == rollout.Stuck).To(Equal(c.late))
			g.Expect(health == rollout.Stuck).To(Equal(c.lame))
		})
	}
}

// TestWhoGoesFirst: the machines are at the edge that serves longest, and are moved
// once.
func TestWhoGoesFirst(t *testing.T) {
	long, short := both(upSince(2*time.Hour), older), both(upSince(time.Hour), older)
	for name, c := range map[string]struct {
		one, two func(appsv1.Deployment) appsv1.Deployment
		held     []string
	}{
		"the first serves longer":      {long, short, []string{first}},
		"the second serves longer":     {short, long, []string{second}},
		"since the same moment":        {long, long, []string{first}},
		"one does not serve":           {both(drained(time.Minute), older), long, []string{second}},
		"neither, one for longer":      {both(drained(5*time.Minute), older), both(drained(time.Minute), older), []string{second}},
		"neither, and one is late":     {both(pterminating(time.Hour), older), both(drained(time.Minute), older), nil},
		"one is late, the other serve": {both(pterminating(time.Hour), older), long, []string{second}},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := twoEdges(t)
			setEdge(&w, first, c.one)
			setEdge(&w, second, c.two)
			NewWithT(t).Expect(heldOf(decide.About(w, testOptions.Release, testNow))).To(Equal(c.held))
		})
	}
}

// TestEachConnectionIsCutOnce, however many rolls there are: after one, the machines
// are where the next one ends.
func TestEachConnectionIsCutOnce(t *testing.T) {
	g := NewWithT(t)
	w, _ := twoEdges(t)
	setEdge(&w, first, upSince(3*time.Hour))
	setEdge(&w, second, upSince(2*time.Hour))
	o, at := testOptions, first // Where the machines are: it came first.
	minutes := 110
	for range 3 {
		o.Image += "x"
		moves := 0
		for range 2 {
			before := w
			w = changed(w, t, decide.About(w, o.Release, testNow))
			for _, name := range []string{first, second} {
				was, _ := deploymentIn(before, name)
				is, _ := deploymentIn(w, name)
				if was.Generation == is.Generation {
					continue
				}
				minutes -= 10
				setEdge(&w, name, upSince(time.Duration(minutes)*time.Minute))
				if at == name {
					moves, at = moves+1, map[string]string{first: second, second: first}[name]
				}
			}
		}
		g.Expect(moves).To(Equal(1))
	}
}

// TestPeerStarting: an edge that is not ready may still serve VMs, so it waits for a peer that
// starts. It does not wait for one that cannot.
func TestPeerStarting(t *testing.T) {
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	for name, c := range map[string]struct {
		one, two func(appsv1.Deployment) appsv1.Deployment
		held     []string
	}{
		"comes, the other serves":                     {broken(minutes(5), minutes(5)), both(upSince(minutes(60)), older), []string{second}},
		"comes, the other is not ready":               {broken(minutes(5), minutes(5)), both(drained(minutes(1)), older), []string{second}},
		"can't be placed, the other serves":           {pterminating(minutes(11)), both(upSince(minutes(60)), older), nil},
		"was drained for long, the other serves":      {drained(minutes(11)), both(upSince(minutes(60)), older), nil},
		"failed by what it is, the other serves":      {broken(minutes(60), minutes(60)), both(upSince(minutes(90)), older), []string{second}},
		"failed by what it is, the other not either":  {broken(minutes(60), minutes(60)), both(drained(minutes(1)), older), nil},
		"its former pod ends, the other is not ready": {terminating, both(drained(minutes(1)), older), []string{second}},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := twoEdges(t)
			for _, name := range []string{first, second} {
				setEdge(&w, name, func(d appsv1.Deployment) appsv1.Deployment {
					d.CreationTimestamp = metav1.NewTime(testNow.Add(-48 * time.Hour))
					return d
				})
			}
			setEdge(&w, first, c.one)
			setEdge(&w, second, c.two)
			NewWithT(t).Expect(heldOf(decide.About(w, testOptions.Release, testNow))).To(Equal(c.held))
		})
	}
}

// TestNoBudgetOverALateEdge: the other one's node could never be drained.
func TestNoBudgetOverALateEdge(t *testing.T) {
	g := NewWithT(t)
	budgets := func(w gather.World) (out []string) {
		for _, u := range decide.About(w, testOptions.Release, testNow).Desired {
			if u.GroupVersionKind() == own.BudgetKind {
				out = append(out, u.GetName())
			}
		}
		return out
	}
	w, _ := twoEdges(t)
	g.Expect(budgets(w)).To(HaveLen(2))
	setEdge(&w, second, drained(5*time.Minute))
	g.Expect(budgets(w)).To(HaveLen(2), "it may come back")
	setEdge(&w, second, drained(11*time.Minute))
	g.Expect(budgets(w)).To(Equal([]string{"oooi-edge-clusters-storage"}))
}

// TestAnHeirThatCantCome: an edge that is no longer desired may have its place. But what
// serves is not given for what fails.
func TestAnHeirThatCantCome(t *testing.T) {
	for name, c := range map[string]struct {
		heir  func(appsv1.Deployment) appsv1.Deployment
		stays bool
	}{
		"starts":               {pterminating(time.Minute), true},
		"can't be placed":      {pterminating(time.Hour), false},
		"fails by what it is":  {broken(time.Hour, time.Hour), true},
		"drained for a moment": {drained(time.Minute), true},
		"serves":               {upSince(time.Hour), false},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := twoEdges(t)
			w.HostedCluster.Annotations = annotated(w, "edges", "1")
			setEdge(&w, first, func(d appsv1.Deployment) appsv1.Deployment {
				d.CreationTimestamp = metav1.NewTime(testNow.Add(-48 * time.Hour))
				return c.heir(d)
			})
			_, there := deploymentIn(changed(w, t, decide.About(w, testOptions.Release, testNow)), second)
			NewWithT(t).Expect(there).To(Equal(c.stays))
		})
	}
}

// TestLateIsSaid: what it means, what is held for it, and what cures it.
func TestLateIsSaid(t *testing.T) {
	g := NewWithT(t)
	says := func(w gather.World) string {
		d := decide.About(w, testOptions.Release, testNow)
		return reportOf(t, w, d, apply.Outcome{Edges: w.Edges}).Report.Message()
	}
	w, _ := twoEdges(t)
	setEdge(&w, second, drained(time.Minute))
	g.Expect(says(w)).To(And(ContainSubstring("/"+second+" is not ready. If its peer also fails"), Not(ContainSubstring("annotation edges"))))
	setEdge(&w, second, drained(time.Hour))
	g.Expect(says(w)).To(And(ContainSubstring("for more than 10 minutes"), ContainSubstring("set annotation edges to 1"), ContainSubstring("set annotation edge-node-selector"), Not(ContainSubstring("previous version"))))
	setEdge(&w, second, broken(time.Hour, time.Hour))
	setEdge(&w, second, func(d appsv1.Deployment) appsv1.Deployment {
		d.CreationTimestamp = metav1.NewTime(testNow.Add(-48 * time.Hour))
		return d
	})
	setEdge(&w, first, both(upSince(48*time.Hour), older))
	g.Expect(says(w)).To(ContainSubstring(first + " keeps its previous version until " + second + " is ready. To replace it anyway, delete Deployment " + first))

	setEdge(&w, second, terminating)
	g.Expect(says(w)).To(ContainSubstring("If its node is lost, delete the Node"))
	setEdge(&w, second, func(d appsv1.Deployment) appsv1.Deployment {
		d.Status.TerminatingReplicas = nil
		return d
	})
	g.Expect(says(w)).To(ContainSubstring("is not ready"), "nothing is known")
	setEdge(&w, second, both(drained(time.Minute), func(d appsv1.Deployment) appsv1.Deployment {
		d.Status.Replicas, d.Status.UpdatedReplicas = 0, 0
		return d
	}))
	g.Expect(says(w)).To(ContainSubstring("has not terminated"), "a cluster that doesn't count them")
}
