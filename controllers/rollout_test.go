package controllers

import (
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// twoEdges is a story's world whose two edges on each network run as desired.
func twoEdges(t *testing.T) (world, network.Plan) {
	t.Helper()
	w, plan := served(t, "two-edges")
	for _, d := range edges(t, w, plan) {
		w.edges = append(w.edges, edgeOf(running(d)))
	}
	w.edges = slices.DeleteFunc(w.edges, func(e Edge) bool { return e.Role == roleACD })
	w.last = plan
	return w, plan
}

// change is w with what d applies. A recreated pod does not serve yet.
func (w world) change(t *testing.T, d decision) world {
	t.Helper()
	var out []appsv1.Deployment
	for _, e := range w.edges {
		o := metav1.PartialObjectMetadata{ObjectMeta: e.live.ObjectMeta}
		o.SetGroupVersionKind(deploymentKind)
		w.owned = append(w.owned, o)
	}
	gone := obsolete(w, d)
	w.owned = nil
	for _, e := range w.edges {
		if !slices.ContainsFunc(gone, func(o metav1.PartialObjectMetadata) bool { return o.Name == e.Name }) {
			out = append(out, e.live)
		}
	}
	for _, u := range d.desired {
		if u.GroupVersionKind() != deploymentKind || d.does(u.GetName(), rollout.Hold) {
			continue
		}
		i := slices.IndexFunc(out, func(x appsv1.Deployment) bool { return x.Name == u.GetName() })
		switch {
		case i < 0:
			out = append(out, made(t, u))
		case !hasTemplate(out[i], u):
			was := out[i]
			out[i] = made(t, u)
			out[i].Generation, out[i].Status = was.Generation+1, was.Status
		}
	}
	w.edges, w.last = edgesOf(out...), d.plan
	return w
}

// set replaces what is known of one Deployment.
func (w *world) set(name string, to func(appsv1.Deployment) appsv1.Deployment) {
	w.edges = slices.Clone(w.edges)
	for i, e := range w.edges {
		if e.Name == name {
			w.edges[i] = edgeOf(to(e.live))
		}
	}
}

// deployment is the Deployment of this name that exists.
func (w world) deployment(name string) (appsv1.Deployment, bool) {
	e, exists := w.edge(name)
	return e.live, exists
}

// hasTemplate reports whether live runs what u wants.
func hasTemplate(live appsv1.Deployment, u *unstructured.Unstructured) bool {
	return live.Annotations[wire.AnnotationTemplate] == u.GetAnnotations()[wire.AnnotationTemplate] && !drifted(edgeOf(live), podTemplateOf(u))
}

// isDesiredEdge reports whether u is the Deployment of an edge.
func isDesiredEdge(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind() == deploymentKind && u.GetLabels()[wire.LabelName] == wire.NameEdge
}

// rolls reports whether applying u ends a pod that serves.
func rolls(w world, u *unstructured.Unstructured) bool {
	live, exists := w.deployment(u.GetName())
	return exists && edgeOf(live).Seen.Available && !hasTemplate(live, u)
}

func stopped(d appsv1.Deployment) appsv1.Deployment {
	d.Status.AvailableReplicas = 0
	return d
}

func older(d appsv1.Deployment) appsv1.Deployment {
	d.Annotations = map[string]string{wire.AnnotationTemplate: "older"}
	return d
}

// ending is d while its former pod ends, before it has another one.
func terminating(d appsv1.Deployment) appsv1.Deployment {
	one := int32(1)
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, TerminatingReplicas: &one}
	return d
}

func heldOf(d decision) []string {
	var out []string
	for _, s := range d.steps() {
		if s.Action == rollout.Hold && s.Peer != "" {
			out = append(out, s.Name)
		}
	}
	slices.Sort(out)
	return out
}

const (
	first, second   = "oooi-edge-clusters-vlan100-1", "oooi-edge-clusters-vlan100-2"
	first2, second2 = "oooi-edge-clusters-storage-1", "oooi-edge-clusters-storage-2"
)

// TestOneEdgeAtATime: a new image is applied to one edge of each network, and to its peer
// after that edge serves.
func TestOneEdgeAtATime(t *testing.T) {
	g := NewWithT(t)
	w, _ := twoEdges(t)
	o := testOptions
	g.Expect(heldOf(decide(w, o, testNow))).To(BeEmpty(), "nothing changes")
	o.Image += "2"
	d := decide(w, o, testNow)
	g.Expect(heldOf(d)).To(Equal([]string{first2, first}))
	w = w.change(t, d)
	d = decide(w, o, testNow)
	g.Expect(heldOf(d)).To(Equal([]string{first2, first}), "the second does not serve yet")
	w.set(second, running)
	d = decide(w, o, testNow)
	g.Expect(heldOf(d)).To(Equal([]string{first2}), "each network for itself")
	w = w.change(t, d)
	w.set(second2, running)
	w.set(first, running)
	w = w.change(t, decide(w, o, testNow))
	w.set(first2, running)
	d = decide(w, o, testNow)
	g.Expect(heldOf(d)).To(BeEmpty())
	for _, u := range d.desired {
		if isDesiredEdge(u) {
			live, _ := w.deployment(u.GetName())
			g.Expect(hasTemplate(live, u)).To(BeTrue(), u.GetName())
		}
	}
}

func TestRoll(t *testing.T) {
	without := func(w *world, name string) {
		w.edges = slices.DeleteFunc(slices.Clone(w.edges), func(d Edge) bool { return d.Name == name })
	}
	for name, c := range map[string]struct {
		change func(*world)
		held   []string
	}{
		"nothing to do":      {func(*world) {}, nil},
		"the first is older": {func(w *world) { w.set(first, older) }, nil},
		"the first is older, the second does not serve": {func(w *world) { w.set(first, older); w.set(second, stopped) }, []string{first}},
		"the first is older, the second is not there":   {func(w *world) { w.set(first, older); without(w, second) }, []string{first}},
		"the first is older and serves nothing":         {func(w *world) { w.set(first, older); w.set(first, stopped) }, nil},
		"both are older, the first serves nothing":      {func(w *world) { w.set(first, older); w.set(first, stopped); w.set(second, older) }, []string{second}},
		"both are older, the second serves nothing":     {func(w *world) { w.set(first, older); w.set(second, older); w.set(second, stopped) }, []string{first}},
		"both are older, neither serves": {func(w *world) {
			w.set(first, older)
			w.set(second, older)
			w.set(first, stopped)
			w.set(second, stopped)
		}, []string{first}},
		"the second has not yet begun what is wished": {func(w *world) {
			w.set(first, older)
			w.set(second, func(d appsv1.Deployment) appsv1.Deployment { d.Generation++; return d })
		}, []string{first}},
		"the second's old pod still goes": {func(w *world) {
			w.set(first, older)
			w.set(second, terminating)
		}, []string{first}},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := twoEdges(t)
			c.change(&w)
			NewWithT(t).Expect(heldOf(decide(w, testOptions, testNow))).To(Equal(c.held))
		})
	}
}

// TestSomeEdgeServes: whatever comes and goes meanwhile, a roll never takes the
// last edge that serves, and it comes to its end.
func TestSomeEdgeServes(t *testing.T) {
	t.Parallel()
	plain, _ := twoEdges(t)
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 6))
		w, o := plain, testOptions
		names := []string{first, second}
		serving := func() (n int) {
			for _, name := range names {
				if d, there := w.deployment(name); there && edgeOf(d).Seen.Available {
					n++
				}
			}
			return n
		}
		for step := range 40 {
			before := serving()
			d := decide(w, o, testNow)
			w = w.change(t, d)
			if lost := before - serving(); lost > 0 && serving() == 0 || lost > 1 {
				t.Fatalf("seed %d, step %d: %d served, %d do now", seed, step, before, serving())
			}
			switch name := names[r.IntN(2)]; r.IntN(5) {
			case 0:
				o.Image += "x"
			case 1:
				w.set(name, stopped)
			case 2:
				w.edges = slices.DeleteFunc(slices.Clone(w.edges), func(d Edge) bool { return d.Name == name })
				if serving() == 0 { // Who takes both has taken the network.
					w = plain
				}
			default:
				w.set(name, running)
			}
		}
		for range 4 {
			d := decide(w, o, testNow)
			w = w.change(t, d)
			for _, name := range []string{first, second, first2, second2} {
				w.set(name, running)
			}
		}
		if d := decide(w, o, testNow); len(heldOf(d)) > 0 || slices.ContainsFunc(d.desired, func(u *unstructured.Unstructured) bool {
			return isDesiredEdge(u) && rolls(w, u)
		}) {
			t.Fatalf("seed %d: not at its end: %v", seed, heldOf(d))
		}
	}
}

// TestOneEdgeLess: the second edge is removed after the first serves as requested. The first
// is not recreated for it.
func TestOneEdgeLess(t *testing.T) {
	g := NewWithT(t)
	w, _ := twoEdges(t)
	w.HostedCluster.Annotations = annotated(w, "edges", "1")
	goes := func(w world) []string {
		after := w.change(t, decide(w, testOptions, testNow))
		var out []string
		for _, d := range w.edges {
			if _, there := after.deployment(d.Name); !there {
				out = append(out, d.Name)
			}
		}
		slices.Sort(out)
		return out
	}
	g.Expect(goes(w)).To(Equal([]string{second2, second}))
	for _, u := range decide(w, testOptions, testNow).desired {
		g.Expect(isDesiredEdge(u) && rolls(w, u)).To(BeFalse(), u.GetName())
		g.Expect(u.GroupVersionKind()).NotTo(Equal(budgetKind), "it would stop every drain")
	}
	lame := w
	lame.set(first, stopped)
	g.Expect(goes(lame)).To(Equal([]string{second2}), "nobody else serves vlan100")
	lame.set(second, stopped)
	g.Expect(goes(lame)).To(Equal([]string{second2, second}), "it is of no use")
}

// TestSecondEdgeAdded: it is created, and the first is not recreated.
func TestSecondEdgeAdded(t *testing.T) {
	g := NewWithT(t)
	w, _ := served(t, "one-edge")
	w.edges = nil
	d := decide(w, testOptions, testNow)
	for range 2 {
		w = w.change(t, d)
		w.edges = edgesOf(running(w.edges[0].live))
		d = decide(w, testOptions, testNow)
	}
	g.Expect(w.edges[0].Name).To(HaveSuffix("-1"))
	w.HostedCluster.Annotations = annotated(w, "edges", "2")
	d = decide(w, testOptions, testNow)
	g.Expect(heldOf(d)).To(BeEmpty())
	g.Expect(d.disruptions).To(BeEmpty())
	after := w.change(t, d)
	g.Expect(after.edges).To(HaveLen(2))
	g.Expect(after.edges[0]).To(Equal(w.edges[0]))
}

func edgesOf(ds ...appsv1.Deployment) []Edge {
	var out []Edge
	for _, d := range ds {
		out = append(out, edgeOf(d))
	}
	return out
}
