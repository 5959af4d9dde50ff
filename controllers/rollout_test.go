package controllers

import (
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// twoEdges is a story's world whose two edges on each network run as desired.
func twoEdges(t *testing.T) (gather.World, network.Plan) {
	t.Helper()
	w, plan := served(t, "two-edges")
	for _, d := range edges(t, w, plan) {
		w.Edges = append(w.Edges, gather.EdgeOf(running(d)))
	}
	w.Edges = slices.DeleteFunc(w.Edges, func(e gather.Edge) bool { return e.Role == gather.RoleACD })
	w.Last = plan
	return w, plan
}

// changed is w with what d applies. A recreated pod does not serve yet.
func changed(w gather.World, t *testing.T, d decide.Decision) gather.World {
	t.Helper()
	var out []appsv1.Deployment
	for _, e := range w.Edges {
		is := func(u *unstructured.Unstructured) bool {
			return u.GroupVersionKind() == own.DeploymentKind && u.GetName() == e.Name
		}
		if slices.ContainsFunc(d.Desired, is) || d.Does(e.Name, rollout.Keep) {
			out = append(out, e.Live)
		}
	}
	for _, u := range d.Desired {
		if u.GroupVersionKind() != own.DeploymentKind || d.Does(u.GetName(), rollout.Hold) {
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
	w.Edges, w.Last = edgesOf(out...), d.Plan
	return w
}

// setEdge replaces what is known of one Deployment.
func setEdge(w *gather.World, name string, to func(appsv1.Deployment) appsv1.Deployment) {
	w.Edges = slices.Clone(w.Edges)
	for i, e := range w.Edges {
		if e.Name == name {
			w.Edges[i] = gather.EdgeOf(to(e.Live))
		}
	}
}

// deploymentIn is the Deployment of this name that exists.
func deploymentIn(w gather.World, name string) (appsv1.Deployment, bool) {
	e, exists := w.Edge(name)
	return e.Live, exists
}

// hasTemplate reports whether live runs what u wants.
func hasTemplate(live appsv1.Deployment, u *unstructured.Unstructured) bool {
	return live.Annotations[wire.AnnotationTemplate] == u.GetAnnotations()[wire.AnnotationTemplate]
}

// isDesiredEdge reports whether u is the Deployment of an edge.
func isDesiredEdge(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind() == own.DeploymentKind && u.GetLabels()[wire.LabelName] == wire.NameEdge
}

// rolls reports whether applying u ends a pod that serves.
func rolls(w gather.World, u *unstructured.Unstructured) bool {
	live, exists := deploymentIn(w, u.GetName())
	return exists && gather.EdgeOf(live).Seen.Available && !hasTemplate(live, u)
}

func stopped(d appsv1.Deployment) appsv1.Deployment {
	d.Status.AvailableReplicas = 0
	return d
}

func older(d appsv1.Deployment) appsv1.Deployment {
	d.Annotations = map[string]string{wire.AnnotationTemplate: "older"}
	return d
}

// ending is d while its previous pod ends, before it has another one.
func terminating(d appsv1.Deployment) appsv1.Deployment {
	one := int32(1)
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, TerminatingReplicas: &one}
	return d
}

func heldOf(d decide.Decision) []string {
	var out []string
	for _, s := range d.Steps() {
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
	g.Expect(heldOf(decide.About(w, o.Release, testNow))).To(BeEmpty(), "nothing changes")
	o.Image += "2"
	d := decide.About(w, o.Release, testNow)
	g.Expect(heldOf(d)).To(Equal([]string{first2, first}))
	w = changed(w, t, d)
	d = decide.About(w, o.Release, testNow)
	g.Expect(heldOf(d)).To(Equal([]string{first2, first}), "the second does not serve yet")
	setEdge(&w, second, running)
	d = decide.About(w, o.Release, testNow)
	g.Expect(heldOf(d)).To(Equal([]string{first2}), "each network for itself")
	w = changed(w, t, d)
	setEdge(&w, second2, running)
	setEdge(&w, first, running)
	w = changed(w, t, decide.About(w, o.Release, testNow))
	setEdge(&w, first2, running)
	d = decide.About(w, o.Release, testNow)
	g.Expect(heldOf(d)).To(BeEmpty())
	for _, u := range d.Desired {
		if isDesiredEdge(u) {
			live, _ := deploymentIn(w, u.GetName())
			g.Expect(hasTemplate(live, u)).To(BeTrue(), u.GetName())
		}
	}
}

func TestRoll(t *testing.T) {
	without := func(w *gather.World, name string) {
		w.Edges = slices.DeleteFunc(slices.Clone(w.Edges), func(d gather.Edge) bool { return d.Name == name })
	}
	for name, c := range map[string]struct {
		change func(*gather.World)
		held   []string
	}{
		"nothing to do":      {func(*gather.World) {}, nil},
		"the first is older": {func(w *gather.World) { setEdge(w, first, older) }, nil},
		"the first is older, the second does not serve": {func(w *gather.World) { setEdge(w, first, older); setEdge(w, second, stopped) }, []string{first}},
		"the first is older, the second is not there":   {func(w *gather.World) { setEdge(w, first, older); without(w, second) }, []string{first}},
		"the first is older and serves nothing":         {func(w *gather.World) { setEdge(w, first, older); setEdge(w, first, stopped) }, nil},
		"both are older, the first serves nothing":      {func(w *gather.World) { setEdge(w, first, older); setEdge(w, first, stopped); setEdge(w, second, older) }, []string{second}},
		"both are older, the second serves nothing": {func(w *gather.World) {
			setEdge(w, first, older)
			setEdge(w, second, older)
			setEdge(w, second, stopped)
		}, []string{first}},
		"both are older, neither serves": {func(w *gather.World) {
			setEdge(w, first, older)
			setEdge(w, second, older)
			setEdge(w, first, stopped)
			setEdge(w, second, stopped)
		}, []string{first}},
		"the second has not yet begun what is wished": {func(w *gather.World) {
			setEdge(w, first, older)
			setEdge(w, second, func(d appsv1.Deployment) appsv1.Deployment { d.Generation++; return d })
		}, []string{first}},
		"the second's old pod still goes": {func(w *gather.World) {
			setEdge(w, first, older)
			setEdge(w, second, terminating)
		}, []string{first}},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := twoEdges(t)
			c.change(&w)
			NewWithT(t).Expect(heldOf(decide.About(w, testOptions.Release, testNow))).To(Equal(c.held))
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
				if d, there := deploymentIn(w, name); there && gather.EdgeOf(d).Seen.Available {
					n++
				}
			}
			return n
		}
		for step := range 40 {
			before := serving()
			d := decide.About(w, o.Release, testNow)
			w = changed(w, t, d)
			if lost := before - serving(); lost > 0 && serving() == 0 || lost > 1 {
				t.Fatalf("seed %d, step %d: %d served, %d do now", seed, step, before, serving())
			}
			switch name := names[r.IntN(2)]; r.IntN(5) {
			case 0:
				o.Image += "x"
			case 1:
				setEdge(&w, name, stopped)
			case 2:
				w.Edges = slices.DeleteFunc(slices.Clone(w.Edges), func(d gather.Edge) bool { return d.Name == name })
				if serving() == 0 { // Who takes both has taken the network.
					w = plain
				}
			default:
				setEdge(&w, name, running)
			}
		}
		for range 4 {
			d := decide.About(w, o.Release, testNow)
			w = changed(w, t, d)
			for _, name := range []string{first, second, first2, second2} {
				setEdge(&w, name, running)
			}
		}
		if d := decide.About(w, o.Release, testNow); len(heldOf(d)) > 0 || slices.ContainsFunc(d.Desired, func(u *unstructured.Unstructured) bool {
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
	goes := func(w gather.World) []string {
		after := changed(w, t, decide.About(w, testOptions.Release, testNow))
		var out []string
		for _, d := range w.Edges {
			if _, there := deploymentIn(after, d.Name); !there {
				out = append(out, d.Name)
			}
		}
		slices.Sort(out)
		return out
	}
	g.Expect(goes(w)).To(Equal([]string{second2, second}))
	for _, u := range decide.About(w, testOptions.Release, testNow).Desired {
		g.Expect(isDesiredEdge(u) && rolls(w, u)).To(BeFalse(), u.GetName())
		g.Expect(u.GroupVersionKind()).NotTo(Equal(own.BudgetKind), "it would stop every drain")
	}
	lame := w
	setEdge(&lame, first, stopped)
	g.Expect(goes(lame)).To(Equal([]string{second2}), "nobody else serves vlan100")
	setEdge(&lame, second, stopped)
	g.Expect(goes(lame)).To(Equal([]string{second2, second}), "it is of no use")
}

// TestSecondEdgeAdded: it is created, and the first is not recreated.
func TestSecondEdgeAdded(t *testing.T) {
	g := NewWithT(t)
	w, _ := served(t, "one-edge")
	w.Edges = nil
	d := decide.About(w, testOptions.Release, testNow)
	for range 2 {
		w = changed(w, t, d)
		w.Edges = edgesOf(running(w.Edges[0].Live))
		d = decide.About(w, testOptions.Release, testNow)
	}
	g.Expect(w.Edges[0].Name).To(HaveSuffix("-1"))
	w.HostedCluster.Annotations = annotated(w, "edges", "2")
	d = decide.About(w, testOptions.Release, testNow)
	g.Expect(heldOf(d)).To(BeEmpty())
	g.Expect(d.Disruptions).To(BeEmpty())
	after := changed(w, t, d)
	g.Expect(after.Edges).To(HaveLen(2))
	g.Expect(after.Edges[0]).To(Equal(w.Edges[0]))
}

func edgesOf(ds ...appsv1.Deployment) []gather.Edge {
	var out []gather.Edge
	for _, d := range ds {
		out = append(out, gather.EdgeOf(d))
	}
	return out
}
