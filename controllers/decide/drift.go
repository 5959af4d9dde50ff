// This file decides whether someone else changed what an edge runs (drift). Such an
// edge is restored like one of an older version: one of two at a time. It is pure.

package decide

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
)

// drifted reports whether someone else wrote to e's pod template, and it differs from
// wanted in what they wrote. What an admission webhook changes in the writes of oooi is not
// drift: to apply it again changes nothing.
func drifted(e gather.Edge, wanted corev1.PodTemplateSpec) bool {
	if !slices.ContainsFunc(e.Live.ManagedFields, own.IsForeign) {
		return false
	}
	is := e.Live.Spec.Template
	differs := func(c corev1.Container) bool {
		return !slices.ContainsFunc(is.Spec.Containers, func(x corev1.Container) bool {
			return x.Name == c.Name && x.Image == c.Image && slices.Equal(x.Args, c.Args) &&
				holds(x.Resources.Requests, c.Resources.Requests) && holds(x.Resources.Limits, c.Resources.Limits)
		})
	}
	return is.Annotations[wire.AnnotationNetworks] != wanted.Annotations[wire.AnnotationNetworks] ||
		slices.ContainsFunc(wanted.Spec.Containers, differs)
}

// holds reports whether live has each desired quantity. One that another client added stays: an
// apply does not remove it.
func holds(live, desired corev1.ResourceList) bool {
	for name, quantity := range desired {
		if q, ok := live[name]; !ok || q.Cmp(quantity) != 0 {
			return false
		}
	}
	return true
}

// podTemplateOf is the pod template of u, a Deployment that we made.
func podTemplateOf(u *unstructured.Unstructured) corev1.PodTemplateSpec {
	d := appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d); err != nil {
		panic("controllers: what we build can always be converted: " + err.Error())
	}
	return d.Spec.Template
}
