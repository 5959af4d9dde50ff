// This file decides whether someone else changed what an edge runs (drift). Such an
// edge is restored like one of an older version: one of two at a time. It is pure.

package controllers

import (
	"bytes"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/cldmnky/oooi/edge/wire"
)

// drifted reports whether someone else wrote to live's pod template, and it differs from
// u's in what they wrote. What an admission webhook makes of our own writes is not
// drift: to apply it again changes nothing.
func drifted(e Edge, u *unstructured.Unstructured) bool {
	live := e.live
	if !slices.ContainsFunc(live.ManagedFields, isForeign) {
		return false
	}
	want := appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &want); err != nil {
		return false
	}
	is, be := live.Spec.Template, want.Spec.Template
	differs := func(c corev1.Container) bool {
		return !slices.ContainsFunc(is.Spec.Containers, func(x corev1.Container) bool {
			return x.Name == c.Name && x.Image == c.Image && slices.Equal(x.Args, c.Args) && equality.Semantic.DeepEqual(x.Resources, c.Resources)
		})
	}
	return is.Annotations[wire.AnnotationNetworks] != be.Annotations[wire.AnnotationNetworks] ||
		slices.ContainsFunc(be.Spec.Containers, differs)
}

// isForeign reports whether m has fields of a template that we write, and is not ours.
func isForeign(m metav1.ManagedFieldsEntry) bool {
	fields := []string{"image", "args", "resources", wire.AnnotationNetworks}
	return m.Manager != wire.Owner && m.FieldsV1 != nil && slices.ContainsFunc(fields, func(field string) bool {
		return bytes.Contains(m.FieldsV1.Raw, []byte(`"f:`+field+`"`))
	})
}
