// This file decides which spec the status of a Deployment is about. Even a change of only annotations raises the
// generation, and for a moment the status is about the previous one. If the spec is the same, the pods did not change.

package own

import (
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/controllers/desired"
)

// An observedSpec is the spec that the status of a Deployment is about.
type observedSpec struct {
	uid        types.UID
	generation int64
	// spec is the hash of the spec.
	spec string
}

// Observed has the last observed spec of each Deployment of oooi. The zero value is empty.
type Observed struct {
	// all has an observedSpec for each types.NamespacedName.
	all sync.Map
}

// Settled returns d. If its status is about an older generation with the same spec, the newest generation counts as
// observed.
func (o *Observed) Settled(d appsv1.Deployment) appsv1.Deployment {
	key := types.NamespacedName{Namespace: d.Namespace, Name: d.Name}
	known, _ := o.all.Load(key)
	last, _ := known.(observedSpec)
	isLast := last.uid == d.UID && last.generation == d.Status.ObservedGeneration
	switch {
	case d.Status.ObservedGeneration >= d.Generation && !isLast:
		o.all.Store(key, observedSpec{d.UID, d.Status.ObservedGeneration, desired.Hash(d.Spec)})
	case d.Status.ObservedGeneration < d.Generation && isLast && last.spec == desired.Hash(d.Spec):
		d.Status.ObservedGeneration = d.Generation
	}
	return d
}

// Forget forgets a Deployment that no longer exists.
func (o *Observed) Forget(key types.NamespacedName) { o.all.Delete(key) }
