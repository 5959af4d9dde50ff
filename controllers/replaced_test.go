package controllers

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/apply"
	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A removalStep is what happens before one pass, and how long after the previous one.
type removalStep struct {
	after  time.Duration
	change func(*gather.World)
}

// removalStories are the ways in which a hosted cluster stops to opt in.
func removalStories(on network.Network) map[string][]removalStep {
	annotate := func(key, value string) func(*gather.World) {
		return func(w *gather.World) {
			if w.HostedCluster.Annotations = annotated(*w, key, value); value == "" {
				delete(w.HostedCluster.Annotations, settings.Prefix+key)
			}
		}
	}
	lost, back, nothing := annotate(network.KeyNetwork, ""), annotate(network.KeyNetwork, "auto"), func(*gather.World) {}
	return map[string][]removalStep{
		"until the deadline":               {{0, nothing}, {time.Minute, lost}, {time.Minute, nothing}, {9 * time.Minute, nothing}, {time.Second, nothing}},
		"it comes back, and is lost again": {{0, lost}, {9 * time.Minute, back}, {30 * time.Second, lost}, {9 * time.Minute, nothing}, {time.Minute, nothing}},
		"invalid, then lost again": {{0, lost}, {time.Minute, annotate(network.KeyCIDR, "x")}, {time.Second, back}, {9 * time.Minute, lost},
			{time.Second, nothing}, {10 * time.Minute, nothing}},
		"a pause": {{0, lost}, {time.Minute, annotate("paused", "true")}, {time.Hour, annotate("paused", "")}, {9 * time.Minute, nothing}, {time.Minute, nothing}},
		"no VM, and one that starts": {{0, func(w *gather.World) { lost(w); w.VMs = nil }}, {time.Second, func(w *gather.World) { putVM(w, on) }},
			{time.Minute, nothing}, {time.Hour, nothing}},
		"none, then missing": {{0, annotate(network.KeyNetwork, "none")}, {time.Second, lost}, {time.Hour, nothing}},
		"late":               {{0, lost}, {time.Hour, nothing}, {9 * time.Minute, nothing}, {time.Minute, nothing}, {5 * time.Minute, nothing}},
		"the plan is missing meanwhile": {{0, lost}, {10 * time.Minute, nothing}, {time.Second, func(w *gather.World) { w.Last = network.Plan{} }},
			{time.Hour, nothing}},
	}
}

// TestReplacedOperatorDecidesTheSame: an operator that replaces another one in the middle of a removal decides as if there was only
// one. What it needs is stored. Finalizers keep the edges of each story.
func TestReplacedOperatorDecidesTheSame(t *testing.T) {
	_, plan := twoEdges(t)
	for name, story := range removalStories(plan.Networks[0]) {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			one := played(t, story, -1)
			g.Expect(one).To(ContainElement(HavePrefix("remove")))
			for i := range story {
				g.Expect(played(t, story, i)).To(Equal(one), "replaced before pass %d", i)
			}
		})
	}
}

// played are the decisions of a story. Before the pass with the number replaced, another operator begins. -1: none does.
func played(t *testing.T, story []removalStep, replaced int) (out []string) {
	t.Helper()
	g := NewWithT(t)
	w, plan := twoEdges(t)
	w.VMs, w.Binding = nil, &metav1.PartialObjectMetadata{}
	putVM(&w, plan.Networks[0])
	var stored explain.Report
	now := testNow
	for i, step := range story {
		now = now.Add(step.after)
		step.change(&w)
		if i == replaced {
			w.PreviousReport = stored
		}
		d := decide.About(w, testOptions.Release, now)
		out = append(out, fmt.Sprint(d.Action, " ", d.Again, " ", d.Problems.Has(problem.RemovalScheduled)))
		o := apply.Outcome{Edges: w.Edges}
		if d.Action == decide.Remove {
			o.Problems = problem.Problems{problem.New(problem.RemovalHeld, problem.Subject{}, problem.Args{"objects": {"a"}, "finalizers": {"b"}})}
		}
		w.Owned = slices.DeleteFunc(slices.Clone(w.Owned), func(o metav1.PartialObjectMetadata) bool { return len(d.Desired) > 0 && o.Name == wire.PlanConfigMap })
		for _, u := range d.Desired {
			if u.GroupVersionKind() == own.ConfigMapKind {
				w.Owned = append(w.Owned, own.MetadataOf(own.ConfigMapKind, u))
			}
		}
		r := reconcilerOf(newTakes(t, 9), prometheus.NewRegistry())
		r.Now = func() time.Time { return now }
		last, err := r.reporter().Report(t.Context(), w, d, o)
		g.Expect(err).NotTo(HaveOccurred())
		if w.PreviousReport = last.Report; !last.Report.Written.IsZero() {
			stored, err = explain.ReadReport(last.Report.JSON())
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	return out
}
