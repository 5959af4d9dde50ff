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
	o.ByObject[&policyv1.PodDisruptionBudget{}] = cache.ByObject{Label: own.Labels().AsSelectorPreValidated()}
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
