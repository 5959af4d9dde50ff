// This file decides whether somebody else changed what an edge runs, so that it is
// known of two that were edited by hand that to put both back makes both anew. It is
// pure.

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

// isEdited says whether somebody else wrote to live's template, and it differs from
// u's in what he wrote. What an admission webhook makes of our own writes is ours: to
// write it again changes nothing.
func isEdited(live appsv1.Deployment, u *unstructured.Unstructured) bool {
	if !slices.ContainsFunc(live.ManagedFields, isOthers) {
		return false
	}
	want := appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &want); err != nil {
		return false
	}
	is, be := live.Spec.Template, want.Spec.Template
	return is.Annotations[wire.AnnotationNetworks] != be.Annotations[wire.AnnotationNetworks] || slices.ContainsFunc(be.Spec.Containers, func(c corev1.Container) bool {
		return !slices.ContainsFunc(is.Spec.Containers, func(x corev1.Container) bool {
			return x.Name == c.Name && x.Image == c.Image && slices.Equal(x.Args, c.Args) && equality.Semantic.DeepEqual(x.Resources, c.Resources)
		})
	})
}

// isOthers says whether m has fields of a template that we write, and is not ours.
func isOthers(m metav1.ManagedFieldsEntry) bool {
	return m.Manager != wire.Owner && m.FieldsV1 != nil && slices.ContainsFunc([]string{"image", "args", "resources", wire.AnnotationNetworks}, func(field string) bool {
		return bytes.Contains(m.FieldsV1.Raw, []byte(`"f:`+field+`"`))
	})
}
