// This file finds drift: another client changed the pod of an edge. Such an edge is recreated like one of an older
// version, one of two at a time.

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

// drifted reports whether another client wrote to e's pod template, and the networks, images, arguments or resources in
// it differ from wanted. What an admission webhook changes in the operator's own writes is not drift: applying again
// would not undo it.
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

// holds reports whether live has each desired quantity. Other quantities are allowed, because an apply does not remove
// them.
func holds(live, desired corev1.ResourceList) bool {
	for name, quantity := range desired {
		if q, ok := live[name]; !ok || q.Cmp(quantity) != 0 {
			return false
		}
	}
	return true
}

func podTemplateOf(u *unstructured.Unstructured) corev1.PodTemplateSpec {
	d := appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d); err != nil {
		panic("controllers: what we build can always be converted: " + err.Error())
	}
	return d.Spec.Template
}
