// This file decides which edges may be made anew now, and which go: one at a time,
// the next once the first serves again. It is pure. That an edge is not ready before
// its sibling has seen it serve is the guard's part.

package controllers

import (
	"cmp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/edge/wire"
)

// A roll is what becomes of the edges that there are. Each is a set of names.
type roll struct {
	// held are edges that are desired and are left as they are, or are not made yet.
	held map[string]bool
	// staying are edges that are not desired any more and serve on for a while.
	staying map[string]bool
	// late are edges that are not available and are not waited for any more.
	late map[string]bool
}

func rolling(w world, desired []*unstructured.Unstructured, now time.Time) roll {
	r := roll{held: map[string]bool{}, staying: map[string]bool{}, late: map[string]bool{}}
	for _, live := range w.edges {
		if isEdge(live) && isLate(live, now) {
			r.late[live.Name] = true
		}
		if stays(w, desired, live, now) {
			r.staying[live.Name] = true
		}
	}
	of := map[string][]edgeNow{}
	for _, u := range desired {
		if isDesiredEdge(u) {
			label := u.GetLabels()[wire.LabelNetwork]
			of[label] = append(of[label], nowOf(w, u, now))
		}
	}
	for _, edges := range of {
		for _, name := range heldAmong(edges) {
			r.held[name] = true
		}
	}
	return r
}

// An edgeNow is an edge that is desired, and how the one of its name is.
type edgeNow struct {
	name string
	// there; of an operator that knew no guards; of another template; available.
	there, unguarded, older, serves bool
	// late and lame are of an edge that does not serve: nothing waits for it any
	// more; and that is not for what it is to run.
	late, lame bool
	// since when it serves, or does not.
	since time.Time
}

func nowOf(w world, u *unstructured.Unstructured, now time.Time) edgeNow {
	live, there := w.deployment(u.GetName())
	return edgeNow{
		name: u.GetName(), there: there,
		unguarded: there && live.Annotations[wire.AnnotationTemplate] == "",
		older:     there && !hasTemplate(live, u),
		serves:    there && available(live),
		late:      there && isLate(live, now),
		lame:      there && isLame(live, now),
		since:     conditionOf(live, appsv1.DeploymentAvailable).LastTransitionTime.Time,
	}
}

// heldAmong are those of one network's edges that are not to be touched in this pass. An
// edge without a sibling is never held: nobody would come for it.
func heldAmong(edges []edgeNow) []string {
	var held []string
	slices.SortFunc(edges, turn)
	going := map[string]bool{}
	for _, e := range edges {
		may := !slices.ContainsFunc(edges, func(x edgeNow) bool { return x.name != e.name && keeps(x, e, going[x.name]) })
		switch {
		case e.there && !e.older:
		case may:
			going[e.name] = e.there
		default:
			held = append(held, e.name)
		}
	}
	return held
}

// turn orders edges that are to be made anew: first those that do not serve, and of
// these who has not for longest; then who serves for the shortest time, as machines
// are at the other one, and so each of their connections is cut once.
func turn(a, b edgeNow) int {
	switch {
	case a.serves != b.serves && a.serves:
		return 1
	case a.serves != b.serves:
		return -1
	case a.serves:
		return cmp.Or(b.since.Compare(a.since), strings.Compare(b.name, a.name))
	}
	return cmp.Or(a.since.Compare(b.since), strings.Compare(b.name, a.name))
}

// keeps says whether e, which would be made or made anew, must wait for its sibling
// x. That e is not available does not say that it serves nobody: it may lack what is
// new only. So it waits too, but not for one that is late.
func keeps(x, e edgeNow, goes bool) bool {
	switch {
	case !e.there:
		// What the other one runs would not know of it, and machines might go to it
		// before it serves.
		return x.unguarded
	case !x.there:
		return !e.unguarded
	case goes:
		return e.serves || !x.late
	case x.older:
		return false // Its turn is later.
	case e.serves:
		return !x.serves && !x.lame
	}
	return !x.serves && !x.late
}

// rolls says whether applying u ends a pod that serves.
func rolls(w world, u *unstructured.Unstructured) bool {
	live, there := w.deployment(u.GetName())
	return there && available(live) && !hasTemplate(live, u)
}

func hasTemplate(live appsv1.Deployment, u *unstructured.Unstructured) bool {
	return live.Annotations[wire.AnnotationTemplate] == u.GetAnnotations()[wire.AnnotationTemplate] && !isEdited(live, u)
}

func isDesiredEdge(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind() == deploymentKind && u.GetLabels()[wire.LabelName] == wire.NameEdge
}

// stays says whether an edge that is not desired any more serves on for a while:
// until one that is desired on its network serves as it is desired, or can't, maybe
// for want of the place that this one has.
func stays(w world, desired []*unstructured.Unstructured, live appsv1.Deployment, now time.Time) bool {
	if !isEdge(live) || !available(live) {
		return false
	}
	wanted, heirs := false, false
	for _, u := range desired {
		if !isDesiredEdge(u) || u.GetLabels()[wire.LabelNetwork] != live.Labels[wire.LabelNetwork] {
			continue
		}
		if u.GetName() == live.Name {
			return false
		}
		wanted = true
		heir, there := w.deployment(u.GetName())
		heirs = heirs || there && hasTemplate(heir, u) && (available(heir) || isLame(heir, now))
	}
	return wanted && !heirs
}
