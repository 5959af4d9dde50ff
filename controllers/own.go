// This file reads the objects of oooi in control plane namespaces from caches. Where this process
// wrote an object and the cache does not show that yet, the written state is what is read.

package controllers

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/edge/wire"
)

// An ownKey names one object of oooi.
type ownKey struct {
	kind schema.GroupVersionKind
	types.NamespacedName
}

func ownKeyOf(kind schema.GroupVersionKind, o metav1.Object) ownKey {
	return ownKey{kind, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}}
}

// ownNamed are the objects of oooi that have one name in each control plane namespace.
func ownNamed(ns string) []ownKey {
	var out []ownKey
	for _, x := range []struct {
		kind schema.GroupVersionKind
		name string
	}{
		{configMapKind, wire.PlanConfigMap}, {serviceAccountKind, wire.ServiceAccount},
		{roleKind, wire.ServiceAccount}, {roleBindingKind, wire.ServiceAccount}, {networkPolicyKind, desired.EdgePolicy},
		{networkPolicyKind, wire.AccessObject},
	} {
		out = append(out, ownKey{x.kind, types.NamespacedName{Namespace: ns, Name: x.name}})
	}
	return out
}

// bindingKey is the RoleBinding that gives the operator its rights in ns.
func bindingKey(ns string) ownKey {
	return ownKey{roleBindingKind, types.NamespacedName{Namespace: ns, Name: ControlPlaneRole}}
}

// named is a cache of the objects with this name only, so that RBAC can allow no others.
func named(name string) cache.ByObject {
	return cache.ByObject{Field: fields.OneTermEqualSelector(metav1.ObjectNameField, name)}
}

// cacheOwn makes o keep the objects of oooi, except those of secondNames: one cache holds one name of
// a kind.
func cacheOwn(o *cache.Options) {
	o.ByObject[&corev1.ConfigMap{}] = named(wire.PlanConfigMap)
	o.ByObject[&corev1.ServiceAccount{}] = named(wire.ServiceAccount)
	o.ByObject[&rbacv1.Role{}] = named(wire.ServiceAccount)
	o.ByObject[&rbacv1.RoleBinding{}] = named(ControlPlaneRole)
	o.ByObject[&networkingv1.NetworkPolicy{}] = named(desired.EdgePolicy)
	o.ByObject[&policyv1.PodDisruptionBudget{}] = cache.ByObject{Label: ownedLabels().AsSelectorPreValidated()}
}

// secondNames are the objects of oooi whose kind has another name in cacheOwn.
func secondNames() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&rbacv1.RoleBinding{}: named(wire.ServiceAccount), &networkingv1.NetworkPolicy{}: named(wire.AccessObject),
	}
}

// ownWithin is watch.within of objects of oooi that another client may change as often as it likes.
const ownWithin = time.Second

// ownWatches are the watches of what oooi writes, except those of NADs and Leases.
func (r *Reconciler) ownWatches() []watch {
	return []watch{
		{object: &corev1.ConfigMap{}, clusters: r.ownOf(configMapKind), within: ownWithin},
		{object: &corev1.ConfigMap{}, clusters: r.neighborsOfPlan, predicates: []predicate.Predicate{planChanges}},
		{object: &corev1.ServiceAccount{}, clusters: r.ownOf(serviceAccountKind), within: ownWithin},
		{object: &rbacv1.Role{}, clusters: r.ownOf(roleKind), within: ownWithin},
		{object: &rbacv1.RoleBinding{}, clusters: r.ownOf(roleBindingKind), within: ownWithin},
		{object: &rbacv1.RoleBinding{}, clusters: r.ownOf(roleBindingKind), within: ownWithin, cache: r.SecondNames},
		{object: &networkingv1.NetworkPolicy{}, clusters: r.ownOf(networkPolicyKind), within: ownWithin},
		{object: &networkingv1.NetworkPolicy{}, clusters: r.ownOf(networkPolicyKind), within: ownWithin, cache: r.SecondNames},
		{object: &policyv1.PodDisruptionBudget{}, clusters: r.ownOf(budgetKind), within: ownWithin},
		{object: &appsv1.Deployment{}, clusters: r.ownOf(deploymentKind)},
	}
}

// ownOf returns the clusters that an object of kind in a control plane namespace is for. It notes that
// the cache shows the object.
func (r *Reconciler) ownOf(kind schema.GroupVersionKind) func(context.Context, client.Object) []reconcile.Request {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		key := ownKeyOf(kind, o)
		cached, err := r.cachedOwn(ctx, key)
		gone := err == nil && cached == nil
		if r.writes.seen(key, o, gone); gone {
			r.observed.forget(key.NamespacedName)
		}
		return r.inNamespace(ctx, o)
	}
}

// cachedOwn is the object as the cache has it, and must not be changed. Nil: it has none.
func (r *Reconciler) cachedOwn(ctx context.Context, key ownKey) (client.Object, error) {
	var reader client.Reader = r.Client
	second := key.kind == roleBindingKind && key.Name == wire.ServiceAccount || key.kind == networkPolicyKind && key.Name == wire.AccessObject
	if second && r.SecondNames != nil {
		reader = r.SecondNames
	}
	o, err := r.newOwn(key.kind)
	if err != nil {
		return nil, err
	}
	if err := reader.Get(ctx, key.NamespacedName, o, client.UnsafeDisableDeepCopy); err != nil {
		return nil, present(client.IgnoreNotFound(err))
	}
	return o, nil
}

// newOwn is an empty object of kind, of the type that is cached.
func (r *Reconciler) newOwn(kind schema.GroupVersionKind) (client.Object, error) {
	if kind == leaseKind {
		return reportLease(), nil
	}
	return newOf[client.Object](r.Client.Scheme(), kind)
}

// newOf is an empty object of the type that is registered for kind.
func newOf[T any](s *runtime.Scheme, kind schema.GroupVersionKind) (out T, err error) {
	o, err := s.New(kind)
	if err != nil {
		return out, err
	}
	out, ok := o.(T)
	if !ok {
		return out, fmt.Errorf("kind %s has another type", kind.Kind)
	}
	return out, nil
}

// readOwn is one object as the operator last knew it, foreign or not. Nil: there is none.
func (r *Reconciler) readOwn(ctx context.Context, key ownKey) (client.Object, error) {
	cached, err := r.cachedOwn(ctx, key)
	if err != nil {
		return nil, err
	}
	return r.latestOwn(key, cached)
}

// latestOwn is the later of cached and of what this process last wrote.
func (r *Reconciler) latestOwn(key ownKey, cached client.Object) (client.Object, error) {
	write, later := r.writes.later(key, cached)
	switch {
	case !later:
		return cached, nil
	case write.object == nil:
		return nil, nil
	}
	o, err := r.newOwn(key.kind)
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(write.object.Object, o); err != nil {
		return nil, fmt.Errorf("reading back %s %s: %w", key.kind.Kind, key.Name, err)
	}
	return o, nil
}

// listOwn are the objects of kind in ns that have the labels of oooi. They must not be changed.
func (r *Reconciler) listOwn(ctx context.Context, kind schema.GroupVersionKind, ns string) ([]client.Object, error) {
	list, err := r.newOwnList(kind)
	if err != nil {
		return nil, err
	}
	err = present(r.Client.List(ctx, list, client.InNamespace(ns), client.MatchingLabels(ownedLabels()), client.UnsafeDisableDeepCopy))
	if err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	cached, keys := map[ownKey]client.Object{}, []ownKey{}
	for _, item := range items {
		if o, ok := item.(client.Object); ok {
			key := ownKeyOf(kind, o)
			cached[key], keys = o, append(keys, key)
		}
	}
	for _, key := range r.writes.in(kind, ns) {
		if cached[key] == nil {
			keys = append(keys, key)
		}
	}
	var out []client.Object
	for _, key := range keys {
		o, err := r.latestOwn(key, cached[key])
		if err != nil {
			return nil, err
		}
		if o != nil {
			out = append(out, o)
		}
	}
	return out, nil
}

// newOwnList is an empty list of kind, of the type that is cached.
func (r *Reconciler) newOwnList(kind schema.GroupVersionKind) (client.ObjectList, error) {
	listKind := kind.GroupVersion().WithKind(kind.Kind + "List")
	if kind == leaseKind {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(listKind)
		return list, nil
	}
	return newOf[client.ObjectList](r.Client.Scheme(), listKind)
}

// verifyWrites reads live what this process wrote in ns long ago and no cache has shown since: the
// object may be gone. What cannot be read stays remembered, and is read at a later pass.
func (r *Reconciler) verifyWrites(ctx context.Context, ns string) {
	for _, key := range r.writes.overdue(ns, r.Now()) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(key.kind)
		switch err := r.Live.Get(ctx, key.NamespacedName, u); {
		case err == nil:
			r.writes.wrote(key, u, r.Now())
		case apierrors.IsNotFound(err), key.kind == leaseKind:
			// The operator may not get Leases, and remembers only that it deleted one.
			r.writes.forget(key)
		default:
			logr.FromContextOrDiscard(ctx).Info("object not verified", "kind", key.kind.Kind, "name", key.Name, "err", err.Error())
		}
	}
}

// metadataOf is o's metadata, as an object of this kind.
func metadataOf(kind schema.GroupVersionKind, o client.Object) metav1.PartialObjectMetadata {
	out := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
		Labels: o.GetLabels(), Annotations: o.GetAnnotations(), OwnerReferences: o.GetOwnerReferences(), Finalizers: o.GetFinalizers(),
		DeletionTimestamp: o.GetDeletionTimestamp(), CreationTimestamp: o.GetCreationTimestamp(),
	}}
	out.SetGroupVersionKind(kind)
	return out
}
