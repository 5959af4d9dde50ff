// This file decides whether an object has to be written, because it differs from the desired one. It is pure.

package own

import (
	"bytes"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/edge/wire"
)

// DesiredAnnotation of an object of oooi is a hash of everything that the operator applied. It changes when a field
// is no longer desired.
const DesiredAnnotation = wire.Prefix + "desired"

// WithHash returns u with DesiredAnnotation.
func WithHash(u *unstructured.Unstructured) *unstructured.Unstructured {
	hash := desired.Hash(u.Object)
	u = u.DeepCopy()
	all := u.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	all[DesiredAnnotation] = hash
	u.SetAnnotations(all)
	return u
}

// AsDesired reports whether live is as desired. Each field must have exactly the desired value, so that another client
// cannot add an egress rule or a subject. A Deployment may have further fields. So may a Service, such as its ClusterIP
// or further ports, but its selector must be exact.
func AsDesired(live, desired *unstructured.Unstructured) bool {
	if !contains(live.Object, desired.Object) {
		return false
	}
	switch desired.GroupVersionKind() {
	case DeploymentKind:
		return true
	case ServiceKind:
		return reflect.DeepEqual(selectorOf(live), selectorOf(desired))
	}
	for field, value := range desired.Object {
		if field != "metadata" && !reflect.DeepEqual(live.Object[field], value) {
			return false
		}
	}
	return true
}

func selectorOf(u *unstructured.Unstructured) any {
	selector, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "selector")
	return selector
}

// BindsOtherRole reports whether live is a RoleBinding of another role than desired. The API server does not allow a
// change of the role.
func BindsOtherRole(live, desired *unstructured.Unstructured) bool {
	return live != nil && live.GroupVersionKind() == RoleBindingKind && !reflect.DeepEqual(live.Object["roleRef"], desired.Object["roleRef"])
}

// contains reports whether live has every field of desired. Other fields, and other elements in a list of objects,
// belong to other managers. An empty field may be absent.
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

// Fingerprint returns a hash of want, and of the fields of live that want may change.
func Fingerprint(live, want *unstructured.Unstructured) string {
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

// IsForeign reports whether m, the entry of another manager, has fields of a pod template that the operator writes.
func IsForeign(m metav1.ManagedFieldsEntry) bool {
	fields := []string{"image", "args", "resources", wire.AnnotationNetworks}
	return m.Manager != wire.Owner && m.FieldsV1 != nil && slices.ContainsFunc(fields, func(field string) bool {
		return bytes.Contains(m.FieldsV1.Raw, []byte(`"f:`+field+`"`))
	})
}
