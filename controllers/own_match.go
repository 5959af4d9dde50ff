// This file decides whether an object has to be written: only where it differs from what is
// desired. It is pure.

package controllers

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/edge/wire"
)

// desiredAnnotation of an object of oooi is a hash of all that the operator applied. It tells that a
// field is not desired any more.
const desiredAnnotation = wire.Prefix + "desired"

// withHash is u with desiredAnnotation.
func withHash(u *unstructured.Unstructured) *unstructured.Unstructured {
	hash := desired.Hash(u.Object)
	u = u.DeepCopy()
	all := u.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	all[desiredAnnotation] = hash
	u.SetAnnotations(all)
	return u
}

// asDesired reports whether live is as desired. Objects other than Deployments have exactly the desired
// value of each field: an egress rule or a subject that another client added is not tolerated. A
// Service has fields of the API server, such as its ClusterIP, and may have further ports. It selects edges only.
func asDesired(live, desired *unstructured.Unstructured) bool {
	if !contains(live.Object, desired.Object) {
		return false
	}
	switch desired.GroupVersionKind() {
	case deploymentKind:
		return true
	case serviceKind:
		return reflect.DeepEqual(selectorOf(live), selectorOf(desired))
	}
	for field, value := range desired.Object {
		if field != "metadata" && !reflect.DeepEqual(live.Object[field], value) {
			return false
		}
	}
	return true
}

// selectorOf is the selector of a Service.
func selectorOf(u *unstructured.Unstructured) any {
	selector, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "selector")
	return selector
}

// bindsOtherRole reports whether live is a RoleBinding of another role than desired. The API server
// never changes the role of a binding.
func bindsOtherRole(live, desired *unstructured.Unstructured) bool {
	return live != nil && live.GroupVersionKind() == roleBindingKind && !reflect.DeepEqual(live.Object["roleRef"], desired.Object["roleRef"])
}

// contains reports whether live has every field of desired with its value. Further fields, and
// further elements of a list of objects, are those of others. A field that is empty may be absent.
func contains(live, desired any) bool {
	switch desired := desired.(type) {
	case map[string]any:
		live, _ := live.(map[string]any)
		for key, value := range desired {
			if !contains(live[key], value) {
				return false
			}
		}
		return true
	case []any:
		live, _ := live.([]any)
		if !slices.ContainsFunc(desired, isObject) {
			return reflect.DeepEqual(live, desired) || len(live)+len(desired) == 0
		}
		return !slices.ContainsFunc(desired, func(x any) bool {
			return !slices.ContainsFunc(live, func(y any) bool { return contains(y, x) })
		})
	}
	return reflect.DeepEqual(live, desired) || live == nil && reflect.ValueOf(desired).IsZero()
}

func isObject(x any) bool {
	_, ok := x.(map[string]any)
	return ok
}

// fingerprint is a hash of want, and of the fields of live that want could differ from.
func fingerprint(live, want *unstructured.Unstructured) string {
	out := map[string]any{}
	for key := range want.Object {
		out[key] = live.Object[key]
	}
	annotations := map[string]string{}
	for key := range want.GetAnnotations() {
		annotations[key] = live.GetAnnotations()[key]
	}
	out["metadata"] = map[string]any{"labels": live.GetLabels(), "annotations": annotations, "ownerReferences": live.GetOwnerReferences()}
	return desired.Hash([]any{out, want.Object})
}
