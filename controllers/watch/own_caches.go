// This file decides which objects of oooi the caches keep.

package watch

import (
	"maps"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/own"
)

// cacheOwn restricts the cache of kinds that oooi writes to the objects of oooi, without those with second names (own.Name).
func cacheOwn(o *cache.Options) {
	maps.Copy(o.ByObject, named(false))
	o.ByObject[&policyv1.PodDisruptionBudget{}] = cache.ByObject{Label: own.Labels().AsSelectorPreValidated(), Transform: strippedBudget}
}

// maxLabeled limits what is kept of an object that is cached for its labels, in bytes. Anyone may create such an object.
// Of a larger one, only the name is kept: it counts as not of oooi.
const maxLabeled = 32 << 10

func strippedBudget(o any) (any, error) {
	o, err := Stripped(o)
	if b, ok := o.(*policyv1.PodDisruptionBudget); ok && b.Size() > maxLabeled {
		return &policyv1.PodDisruptionBudget{ObjectMeta: nameOf(b)}, err
	}
	return o, err
}

func nameOf(o metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()}
}

// SecondNames returns the cache options for objects of oooi with second names (own.Name).
func SecondNames() map[client.Object]cache.ByObject { return named(true) }

func named(second bool) map[client.Object]cache.ByObject {
	out := map[client.Object]cache.ByObject{}
	for _, x := range own.Names() {
		if x.Second == second {
			out[x.Object] = cache.ByObject{Field: fields.OneTermEqualSelector(metav1.ObjectNameField, x.Name)}
		}
	}
	return out
}
