package controllers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/apply"
	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network/problem"
)

// refuses is an API server that refuses writes of objects with this kind and part of their name.
type refuses struct {
	*takes
	kind, name string
	err        error
	// wrote are the kinds and names of the objects that it accepted.
	wrote []string
}

func (c *refuses) Apply(_ context.Context, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	text, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err
	}
	kind, _ := text["kind"].(string)
	name, _ := text["metadata"].(map[string]any)["name"].(string)
	if kind == c.kind && strings.Contains(name, c.name) {
		return c.err
	}
	c.wrote = append(c.wrote, kind+" "+name)
	return nil
}

// hides is an API server that does not show whether objects of a kind exist.
type hides struct {
	*takes
	kind string
}

func (c hides) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if o.GetObjectKind().GroupVersionKind().Kind == c.kind {
		return forbidden()
	}
	return c.takes.Get(ctx, key, o, opts...)
}

// TestUnreadableObjectStopsEdges: an object that may exist and cannot be read counts as not written.
func TestUnreadableObjectStopsEdges(t *testing.T) {
	g := NewWithT(t)
	w, _ := served(t, "two-edges")
	w.Binding = &metav1.PartialObjectMetadata{}
	api := &refuses{takes: newTakes(t, 0), kind: "none"}
	r := &Reconciler{Client: api, Live: hides{api.takes, "RoleBinding"}, Events: events.NewFakeRecorder(99), Metrics: report.NewMetrics(prometheus.NewRegistry()),
		Options: testOptions, Now: time.Now}
	// The operator's own RoleBinding is known.
	binding := own.Binding(w.ControlPlane, testOptions.ServiceAccount)
	r.writes.Wrote(own.KeyOf(own.RoleBindingKind, binding), own.WithHash(binding), time.Now())
	_, err := r.writer().Apply(t.Context(), w, decide.About(w, testOptions.Release, testNow))
	g.Expect(err).To(MatchError(ContainSubstring("exceeded quota")))
	g.Expect(apply.Failures(err)).To(ConsistOf(HaveField("Subject.Kind", "RoleBinding")))
	g.Expect(api.wrote).NotTo(ContainElement(HavePrefix("Deployment oooi-edge")))
}

func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "y", errors.New("exceeded quota"))
}

// TestOneObjectDoesNotStopOthers: what the API server does not take stops only the edges that need it.
func TestOneObjectDoesNotStopOthers(t *testing.T) {
	for name, c := range map[string]struct {
		kind, name string
		err        error
		edges      int
	}{
		"an edge":                   {"Deployment", "-1", forbidden(), 1},
		"a budget":                  {"PodDisruptionBudget", "", forbidden(), 2},
		"the plan":                  {"ConfigMap", "", forbidden(), 0},
		"the account":               {"ServiceAccount", "", forbidden(), 0},
		"the rights":                {"RoleBinding", wire.ServiceAccount, forbidden(), 0},
		"the NAD":                   {"NetworkAttachmentDefinition", "", forbidden(), 0},
		"all, as no answer arrives": {"ServiceAccount", "", errors.New("connection refused"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, plan := served(t, "two-edges")
			w.Binding = &metav1.PartialObjectMetadata{}
			d := decide.About(w, testOptions.Release, testNow)
			api := &refuses{takes: newTakes(t, 0), kind: c.kind, name: c.name, err: c.err}
			r := &Reconciler{Client: api, Live: api, Events: events.NewFakeRecorder(99), Metrics: report.NewMetrics(prometheus.NewRegistry()), Options: testOptions, Now: time.Now}
			_, err := r.writer().Apply(t.Context(), w, d)
			g.Expect(err).To(MatchError(ContainSubstring(c.err.Error())))
			all := strings.Join(api.wrote, "\n")
			g.Expect(strings.Count(all, "Deployment oooi-edge")).To(Equal(c.edges*len(plan.Networks)), all)
			if c.kind != "ConfigMap" && requests.OfOneObject(c.err) {
				g.Expect(all).To(ContainSubstring("ConfigMap"))
			}
			shown := apply.Failures(err)
			g.Expect(shown).NotTo(BeEmpty())
			g.Expect(message(shown[0])).To(And(ContainSubstring(c.kind), ContainSubstring(c.err.Error())))
		})
	}
}

// TestFailingPasses: the condition has what fails for some seconds, and not what ends before. Its words
// do not change with each pass.
func TestFailingPasses(t *testing.T) {
	g := NewWithT(t)
	at := func(seconds float64) time.Time { return testNow.Add(time.Duration(seconds * float64(time.Second))) }
	words := func(s string) problem.Problems { return apply.Failures(errors.New(s)) }
	f := failing{}.next(words("port 1"), at(0))
	g.Expect(f.lasts(at(1))).To(BeFalse())
	f = f.next(words("port 2"), at(2))
	f = f.next(words("port 3"), at(4))
	g.Expect(f.lasts(at(4))).To(BeTrue())
	g.Expect(f.said).To(Equal(words("port 2")), "the last one before the condition has it")
	f = f.next(words("port 4"), at(12))
	g.Expect(f.said).To(Equal(words("port 4")))
	m := &memory{}
	key := client.ObjectKey{Name: "blue"}
	m.fails(key, nil, at(0))
	m.change(key, func(x *remembered) { x.failing = failing{} })
	g.Expect(m.fails(key, nil, at(60)).lasts(at(60))).To(BeFalse(), "a pass succeeded meanwhile")
}

// TestFailureIsReported: the condition is not True, and has the API server's error and the hash of the current
// settings. A failure that can never end is reported immediately.
func TestFailureIsReported(t *testing.T) {
	w, _ := served(t, "lb-ip")
	invalid := apierrors.NewInvalid(own.DeploymentKind.GroupKind(), "edge", nil)
	for name, c := range map[string]struct {
		err   error
		after time.Duration
		// words of the Event. Empty: there is none.
		words string
	}{
		"a conflict":       {apierrors.NewConflict(schema.GroupResource{}, "edge", nil), 0, ""},
		"still a conflict": {apierrors.NewConflict(schema.GroupResource{}, "edge", nil), failsAfter, "Operation cannot be fulfilled"},
		"invalid":          {&apply.WriteError{Verb: "applying", Object: refusedWrite("", wire.PlanConfigMap).Object, Err: invalid}, 0, "is invalid"},
		"a read":           {forbidden(), failsAfter, "cannot read"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := testNow
			recorder := events.NewFakeRecorder(9)
			api := newTakes(t, 9)
			r := &Reconciler{Client: api, Live: api, Events: recorder, Metrics: report.NewMetrics(prometheus.NewRegistry()), Now: func() time.Time { return now }}
			finish := func() error {
				_, err := r.finish(t.Context(), w, decide.Decision{Action: decide.Leave, Plan: w.Last}, apply.Outcome{}, c.err)
				return err
			}
			g.Expect(finish()).To(MatchError(c.err))
			now = now.Add(c.after)
			g.Expect(finish()).To(MatchError(c.err))
			close(recorder.Events)
			event, said := <-recorder.Events
			g.Expect(said).To(Equal(c.words != ""))
			if said {
				g.Expect(event).To(And(HavePrefix("Warning NotApplied"), ContainSubstring(c.words)))
			}
		})
	}
}
