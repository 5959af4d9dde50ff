// This file decides which objects of oooi caches keep.

package watch

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
)

// named is a cache of the objects with this name only, so that RBAC can allow no others.
func named(name string) cache.ByObject {
	return cache.ByObject{Field: fields.OneTermEqualSelector(metav1.ObjectNameField, name)}
}

// cacheOwn makes o keep the objects of oooi, except those of SecondNames: one cache holds one name of
// a kind.
func cacheOwn(o *cache.Options) {
	o.ByObject[&corev1.ConfigMap{}] = named(wire.PlanConfigMap)
	o.ByObject[&corev1.ServiceAccount{}] = named(wire.ServiceAccount)
	o.ByObject[&rbacv1.Role{}] = named(wire.ServiceAccount)
	o.ByObject[&rbacv1.RoleBinding{}] = named(own.ControlPlaneRole)
	o.ByObject[&networkingv1.NetworkPolicy{}] = named(desired.EdgePolicy)
	o.ByObject[&policyv1.PodDisruptionBudget{}] = cache.ByObject{Label: own.Labels().AsSelectorPreValidated()}
}

// SecondNames are the objects of oooi whose kind has another name in cacheOwn.
func SecondNames() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&rbacv1.RoleBinding{}: named(wire.ServiceAccount), &networkingv1.NetworkPolicy{}: named(wire.AccessObject),
	}
}
