// This file decides which edges may be made anew now, and which go: of two that
// serve, one at a time, the next once the first serves again. It is pure. That an
// edge is not ready before its sibling has seen it serve is the guard's part.

package controllers

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// held are the names of edges among desired that keep the pod they have for now: it
// serves, is of another template, and its sibling does not serve or is made anew
// first. An edge without a sibling is never held: nobody would come for it.
func held(w world, desired []*unstructured.Unstructured) map[string]bool {
	out, going := map[string]bool{}, map[string]bool{}
	for _, u := range desired {
		if !isDesiredEdge(u) || !rolls(w, u) {
			continue
		}
		label := u.GetLabels()[labelNetwork]
		if going[label] || !siblingsServe(w, desired, u) {
			out[u.GetName()] = true
			continue
		}
		going[label] = true
	}
	return out
}

// rolls says whether applying u ends a pod that serves.
func rolls(w world, u *unstructured.Unstructured) bool {
	live, there := w.deployment(u.GetName())
	return there && available(live) && !hasTemplate(live, u)
}

func hasTemplate(live appsv1.Deployment, u *unstructured.Unstructured) bool {
	return live.Annotations[templateAnnotation] == u.GetAnnotations()[templateAnnotation]
}

// siblingsServe says whether all other edges that are desired beside u serve.
func siblingsServe(w world, desired []*unstructured.Unstructured, u *unstructured.Unstructured) bool {
	return !slices.ContainsFunc(desired, func(x *unstructured.Unstructured) bool {
		if !isDesiredEdge(x) || x.GetName() == u.GetName() || x.GetLabels()[labelNetwork] != u.GetLabels()[labelNetwork] {
			return false
		}
		live, there := w.deployment(x.GetName())
		return !there || !available(live)
	})
}

func isDesiredEdge(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind() == deploymentKind && u.GetLabels()[labelName] == nameEdge
}

// stays says whether an edge that is not desired any more serves on for a while:
// until one that is desired on its network serves as it is desired.
func stays(w world, desired []*unstructured.Unstructured, name string) bool {
	live, there := w.deployment(name)
	if !there || !isEdge(live) || !available(live) {
		return false
	}
	wanted, heirs := false, false
	for _, u := range desired {
		if !isDesiredEdge(u) || u.GetLabels()[labelNetwork] != live.Labels[labelNetwork] {
			continue
		}
		if u.GetName() == name {
			return false
		}
		wanted = true
		heir, there := w.deployment(u.GetName())
		heirs = heirs || there && available(heir) && hasTemplate(heir, u)
	}
	return wanted && !heirs
}
