package controllers

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/apply"
	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// TestTrueNeedsAnEdge: where the operator changes no edge, the condition is not True without one.
func TestTrueNeedsAnEdge(t *testing.T) {
	deleted := metav1.NewTime(testNow)
	for name, change := range map[string]func(*gather.World){
		"no change":                func(*gather.World) {},
		"paused":                   func(w *gather.World) { w.HostedCluster.Annotations[settings.Prefix+"paused"] = "true" },
		"an annotation is wrong":   func(w *gather.World) { w.HostedCluster.Annotations[settings.Prefix+"cidr"] = "x" },
		"the annotation is lost":   func(w *gather.World) { delete(w.HostedCluster.Annotations, settings.Prefix+"network") },
		"another cluster keeps it": func(w *gather.World) { w.Rival.Name = "other" },
	} {
		for control, changeControl := range map[string]func(*gather.World){
			"a control plane":             func(*gather.World) {},
			"a control plane that leaves": func(w *gather.World) { w.ControlPlane.DeletionTimestamp = &deleted },
			"no control plane":            func(w *gather.World) { w.ControlPlane = nil },
		} {
			t.Run(name+", with "+control, func(t *testing.T) {
				w, plan := twoEdges(t)
				w.Binding = &metav1.PartialObjectMetadata{}
				putVM(&w, plan.Networks[0])
				w.Edges = nil
				change(&w)
				changeControl(&w)
				if d := decide.About(w, testOptions.Release, testNow); d.Action == decide.Keep || d.Action == decide.Leave {
					v := reportOf(t, w, d, apply.Outcome{}).Report
					NewWithT(t).Expect(v.Ready).To(BeFalse(), v.Message())
				}
			})
		}
	}
}

// refusedWrite is a write of one object that fails.
func refusedWrite(verb, name string) *apply.WriteError {
	o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: name}}
	o.SetGroupVersionKind(own.ConfigMapKind)
	return &apply.WriteError{Verb: verb, Object: o, Err: forbidden()}
}

// TestWordsOfFailures: what the API server refuses is not an error of the configuration, and what was not
// read is not said to be absent.
func TestWordsOfFailures(t *testing.T) {
	lost := func(w *gather.World) { delete(w.HostedCluster.Annotations, settings.Prefix+"network") }
	for name, c := range map[string]struct {
		change func(*gather.World)
		err    error
		words  []string
		not    []string
	}{
		"a deletion is refused": {func(w *gather.World) { w.HostedCluster.Annotations[settings.Prefix+"network"] = "none" }, refusedWrite("removing", wire.PlanConfigMap),
			[]string{"does not let the operator delete ConfigMap", "exceeded quota"}, []string{"configuration has an error", "remove the annotation"}},
		"a kind is not watched": {func(w *gather.World) { w.Edges = nil }, &watch.NotWatched{GVK: own.BudgetKind, Err: forbidden()},
			[]string{"cannot be read completely. Edges that run keep serving"}, []string{"configuration has an error", "cannot boot"}},
		"the plan is refused, and nothing runs": {func(w *gather.World) { w.Edges, w.Last = nil, network.Plan{} }, refusedWrite("applying", wire.PlanConfigMap),
			[]string{"Nothing is applied. "}, []string{"configuration has an error"}},
		"a deadline is not stored": {lost, refusedWrite("applying", wire.PlanConfigMap),
			[]string{"Annotation network is missing", "ten minutes after the operator can store", "exceeded quota"}, []string{"until 20"}},
		"a request was not answered": {func(*gather.World) {}, &url.Error{Op: "Get", URL: "https://x/watch?timeoutSeconds=312", Err: errors.New("connection refused")},
			[]string{"connection refused"}, []string{"timeoutSeconds"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, plan := twoEdges(t)
			putVM(&w, plan.Networks[0])
			c.change(&w)
			d := apply.Failed(decide.About(w, testOptions.Release, testNow), w, apply.Failures(c.err), c.err)
			v := reportOf(t, w, d, apply.Outcome{Edges: w.Edges}).Report
			g.Expect(v.Ready).To(BeFalse())
			for _, words := range c.words {
				g.Expect(v.Message()).To(ContainSubstring(words))
			}
			for _, words := range c.not {
				g.Expect(v.Message()).NotTo(ContainSubstring(words))
			}
		})
	}
}

// TestHashOfUnreadSettings: a pass that could not read all settings shows no new hash.
func TestHashOfUnreadSettings(t *testing.T) {
	g := NewWithT(t)
	w, _ := twoEdges(t)
	w.NodePools[0].Annotations = map[string]string{settings.Prefix + "lease-time": "30m"}
	before := reportOf(t, w, decide.About(w, testOptions.Release, testNow), apply.Outcome{Edges: w.Edges})
	part := gather.World{Incomplete: true, Last: w.Last}
	part.HostedCluster = w.HostedCluster
	hash := func() string {
		return reportOf(t, part, decide.Decision{Action: decide.Leave}, apply.Outcome{Edges: w.Edges}).Report.Message()
	}
	g.Expect(hash()).To(HaveSuffix("(settings unknown)"))
	part.PreviousReport = before.Report
	g.Expect(hash()).To(HaveSuffix("(settings " + report.Settings(w.Objects) + ")"))
}

// TestEdgesAreReadFirst: a kind that is not watched does not hide the edges.
func TestEdgesAreReadFirst(t *testing.T) {
	g := NewWithT(t)
	full, plan := twoEdges(t)
	edge := running(edges(t, full, plan)[0])
	api := cached(t, &edge, full.HostedCluster)
	kinds := watch.NewKinds(newTakes(t, 0).Scheme(), time.Second)
	kinds.Observe(own.RoleBindingKind, forbidden())
	r := &Reconciler{Client: watch.PromptClient{Client: api, Kinds: kinds}, Live: api, Kinds: kinds, Metrics: report.NewMetrics(prometheus.NewRegistry()), Now: time.Now}
	w, err := r.reader().World(t.Context(), client.ObjectKeyFromObject(full.HostedCluster), gather.Before{})
	g.Expect(err).To(MatchError(ContainSubstring("RoleBinding")))
	g.Expect(w.Edges).To(ConsistOf(HaveField("Name", edge.Name)))
}

// unreadable is an API server from which nothing can be read.
type unreadable struct{ *takes }

func (unreadable) Get(_ context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return errors.New("the cache is not in sync")
}

// TestUnreadHostedCluster: nothing is known of a HostedCluster that cannot be read, and the error says why.
func TestUnreadHostedCluster(t *testing.T) {
	r := &Reconciler{Client: unreadable{newTakes(t, 0)}, Events: events.NewFakeRecorder(9), Metrics: report.NewMetrics(prometheus.NewRegistry()), Now: time.Now}
	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "blue"}})
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("not in sync")))
}

// TestMetricsDoNotFlap: no scrape sees a cluster that is ready as absent or not ready while it is reconciled.
func TestMetricsDoNotFlap(t *testing.T) {
	g := NewWithT(t)
	w, _ := twoEdges(t)
	registry, d := prometheus.NewRegistry(), decide.About(w, testOptions.Release, testNow)
	o := apply.Outcome{Edges: w.Edges}
	r := reconcilerOf(newTakes(t, 1<<30), registry)
	w.HostedCluster.Status.Conditions = []metav1.Condition{*reportOf(t, w, d, o).Condition}
	g.Expect(r.report(t.Context(), w, d, o)).To(Succeed())
	problems := func() int { return len(gauges(t, registry, "oooi_hosted_cluster_problems")) }
	stop, ended := make(chan struct{}), sync.WaitGroup{}
	ended.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = r.report(t.Context(), w, d, o)
			}
		}
	})
	want := problems()
	for range 3000 {
		g.Expect(gauges(t, registry, "oooi_hosted_cluster_ready")).To(HaveEach(1.))
		g.Expect(problems()).To(Equal(want))
	}
	close(stop)
	ended.Wait()
	d.Problems = nil
	g.Expect(r.report(t.Context(), w, d, o)).To(Succeed())
	g.Expect(problems()).To(BeZero(), "problems that ended")
}

// TestUnwrittenCondition: a metric says that the condition is old.
func TestUnwrittenCondition(t *testing.T) {
	g := NewWithT(t)
	w, _ := twoEdges(t)
	registry, api := prometheus.NewRegistry(), newTakes(t, 0)
	r := &Reconciler{Client: api, Live: api, Events: events.NewFakeRecorder(9), Metrics: report.NewMetrics(registry), Now: time.Now}
	d := decide.About(w, testOptions.Release, testNow)
	written := func() map[string]float64 { return gauges(t, registry, "oooi_hosted_cluster_condition_written") }
	g.Expect(r.report(t.Context(), w, d, apply.Outcome{Edges: w.Edges})).NotTo(Succeed())
	g.Expect(written()).To(And(HaveLen(1), HaveEach(0.)))

	lost := w
	lost.HostedCluster = w.HostedCluster.DeepCopy()
	c := reportOf(t, w, d, apply.Outcome{Edges: w.Edges}).Condition
	lost.HostedCluster.Status.Conditions = []metav1.Condition{*c}
	g.Expect(r.report(t.Context(), lost, d, apply.Outcome{Edges: w.Edges})).To(Succeed())
	g.Expect(written()).To(HaveEach(1.), "the write had an effect, although its answer was lost")
	api.left = 9
	g.Expect(r.report(t.Context(), w, d, apply.Outcome{Edges: w.Edges})).To(Succeed())
	g.Expect(written()).To(HaveEach(1.))
}

// TestIgnoredClusterHasNoMetrics: a HostedCluster that is being deleted, or that is paused with nothing served, is in no metric: its
// last state would keep alerts firing until the operator restarts.
func TestIgnoredClusterHasNoMetrics(t *testing.T) {
	for name, change := range map[string]func(w *gather.World){
		"it is being deleted": func(w *gather.World) { w.HostedCluster.DeletionTimestamp = new(metav1.NewTime(testNow)) },
		"it is paused, and nothing is served": func(w *gather.World) {
			w.HostedCluster.Annotations, w.Last = map[string]string{settings.Prefix + "paused": "true"}, network.Plan{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, _ := twoEdges(t)
			setEdge(&w, first, drained(time.Minute))
			registry := prometheus.NewRegistry()
			api := newTakes(t, 9)
			r := &Reconciler{Client: api, Live: api, Events: events.NewFakeRecorder(9), Metrics: report.NewMetrics(registry), Now: func() time.Time { return testNow }}
			all := func() (out []string) {
				for _, metric := range []string{"ready", "problems", "condition_written", "plan_hash", "reconciles_total"} {
					if len(gauges(t, registry, "oooi_hosted_cluster_"+metric)) > 0 {
						out = append(out, metric)
					}
				}
				return out
			}
			g.Expect(r.report(t.Context(), w, decide.About(w, testOptions.Release, testNow), apply.Outcome{Edges: w.Edges})).To(Succeed())
			r.Metrics.Passed(client.ObjectKeyFromObject(w.HostedCluster), decide.About(w, testOptions.Release, testNow), nil)
			g.Expect(all()).To(ConsistOf("ready", "problems", "condition_written", "plan_hash", "reconciles_total"))
			change(&w)
			g.Expect(r.report(t.Context(), w, decide.About(w, testOptions.Release, testNow), apply.Outcome{Edges: w.Edges})).To(Succeed())
			g.Expect(all()).To(BeEmpty())
		})
	}
}
