// This file reads the objects of oooi in control plane namespaces from caches. If a cache does not show a write of this
// process yet, it returns what was written.

package own

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
)

// A Key names one object of oooi.
type Key struct {
	Kind schema.GroupVersionKind
	types.NamespacedName
}

// KeyOf returns the key of o, an object of this kind.
func KeyOf(kind schema.GroupVersionKind, o metav1.Object) Key {
	return Key{kind, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}}
}

// A Name is the name that oooi's object of one kind has in each control plane namespace.
type Name struct {
	Kind schema.GroupVersionKind
	// Object is an empty object of the type that is cached.
	Object client.Object
	Name   string
	// Second is true if another row has the same kind. A cache holds one name of each kind, so that RBAC can allow only
	// this name.
	Second bool
}

// Names returns the names of all kinds.
func Names() []Name {
	return []Name{
		{ConfigMapKind, &corev1.ConfigMap{}, wire.PlanConfigMap, false},
		{ServiceAccountKind, &corev1.ServiceAccount{}, wire.ServiceAccount, false},
		{RoleKind, &rbacv1.Role{}, wire.ServiceAccount, false},
		{RoleBindingKind, &rbacv1.RoleBinding{}, ControlPlaneRole, false},
		{RoleBindingKind, &rbacv1.RoleBinding{}, wire.ServiceAccount, true},
		{NetworkPolicyKind, &networkingv1.NetworkPolicy{}, desired.EdgePolicy, false},
		{NetworkPolicyKind, &networkingv1.NetworkPolicy{}, wire.AccessObject, true},
	}
}

// Named returns the keys of the objects in Names in namespace ns, except BindingKey.
func Named(ns string) []Key {
	var out []Key
	for _, x := range Names() {
		if key := (Key{x.Kind, types.NamespacedName{Namespace: ns, Name: x.Name}}); key != BindingKey(ns) {
			out = append(out, key)
		}
	}
	return out
}

// BindingKey returns the key of the RoleBinding that gives the operator its rights in ns.
func BindingKey(ns string) Key {
	return Key{RoleBindingKind, types.NamespacedName{Namespace: ns, Name: ControlPlaneRole}}
}

// A Store reads the objects of oooi.
type Store struct {
	// Client reads from the cache, and Live from the API server.
	Client client.Client
	Live   client.Reader
	// SecondNames has the objects with second names. Nil: Client reads them.
	SecondNames cache.Cache
	Writes      *Writes
	Now         func() time.Time
}

// Cached returns the object in the cache, or nil if the cache does not have it. The object must not be changed.
func (s Store) Cached(ctx context.Context, key Key) (client.Object, error) {
	var reader client.Reader = s.Client
	isSecond := func(x Name) bool { return x.Second && x.Kind == key.Kind && x.Name == key.Name }
	if s.SecondNames != nil && slices.ContainsFunc(Names(), isSecond) {
		reader = s.SecondNames
	}
	o, err := s.newOwn(key.Kind)
	if err != nil {
		return nil, err
	}
	if err := reader.Get(ctx, key.NamespacedName, o, client.UnsafeDisableDeepCopy); err != nil {
		return nil, requests.Present(client.IgnoreNotFound(err))
	}
	return o, nil
}

func (s Store) newOwn(kind schema.GroupVersionKind) (client.Object, error) {
	if kind == LeaseKind {
		return ReportLease(), nil
	}
	return newOf[client.Object](s.Client.Scheme(), kind)
}

// newOf returns an empty object of the registered type.
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

// Read returns the last known state of one object, whether or not it is oooi's, or nil if it does not exist.
func (s Store) Read(ctx context.Context, key Key) (client.Object, error) {
	cached, err := s.Cached(ctx, key)
	if err != nil {
		return nil, err
	}
	return s.latestOwn(key, cached)
}

func (s Store) latestOwn(key Key, cached client.Object) (client.Object, error) {
	write, later := s.Writes.later(key, cached)
	switch {
	case !later:
		return cached, nil
	case write.object == nil:
		return nil, nil
	}
	o, err := s.newOwn(key.Kind)
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(write.object.Object, o); err != nil {
		return nil, fmt.Errorf("reading back %s %s: %w", key.Kind.Kind, key.Name, err)
	}
	return o, nil
}

// List returns the objects of kind in ns that have the labels of oooi. They must not be changed.
func (s Store) List(ctx context.Context, kind schema.GroupVersionKind, ns string) ([]client.Object, error) {
	list, err := s.newOwnList(kind)
	if err != nil {
		return nil, err
	}
	err = requests.Present(s.Client.List(ctx, list, client.InNamespace(ns), client.MatchingLabels(Labels()), client.UnsafeDisableDeepCopy))
	if err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	cached, keys := map[Key]client.Object{}, []Key{}
	for _, item := range items {
		if o, ok := item.(client.Object); ok {
			key := KeyOf(kind, o)
			cached[key], keys = o, append(keys, key)
		}
	}
	for _, key := range s.Writes.In(kind, ns) {
		if cached[key] == nil {
			keys = append(keys, key)
		}
	}
	var out []client.Object
	for _, key := range keys {
		o, err := s.latestOwn(key, cached[key])
		if err != nil {
			return nil, err
		}
		if o != nil {
			out = append(out, o)
		}
	}
	return out, nil
}

func (s Store) newOwnList(kind schema.GroupVersionKind) (client.ObjectList, error) {
	listKind := kind.GroupVersion().WithKind(kind.Kind + "List")
	if kind == LeaseKind {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(listKind)
		return list, nil
	}
	return newOf[client.ObjectList](s.Client.Scheme(), listKind)
}

// Verify reads objects in ns that this process wrote longer than UnseenFor ago and that no cache has shown since. They
// may no longer exist. If one cannot be read, a later pass tries again.
func (s Store) Verify(ctx context.Context, ns string) {
	for _, key := range s.Writes.overdue(ns, s.Now()) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(key.Kind)
		switch err := s.Live.Get(ctx, key.NamespacedName, u); {
		case err == nil:
			s.Writes.Wrote(key, u, s.Now())
		case apierrors.IsNotFound(err), key.Kind == LeaseKind:
			// The operator may not get Leases. It only remembers deletions.
			s.Writes.Forget(key)
		default:
			logr.FromContextOrDiscard(ctx).Info("object not verified", "kind", key.Kind.Kind, "name", key.Name, "err", err.Error())
		}
	}
}

// MetadataOf returns o's metadata, as an object of this kind.
func MetadataOf(kind schema.GroupVersionKind, o client.Object) metav1.PartialObjectMetadata {
	out := meta.AsPartialObjectMetadata(o)
	out.SetGroupVersionKind(kind)
	return *out
}

// Learn reads an object that no cache shows, and remembers it. It returns nil if the object does not exist.
func (s Store) Learn(ctx context.Context, key Key) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(key.Kind)
	if err := s.Live.Get(ctx, key.NamespacedName, u); err != nil {
		return nil, requests.Present(client.IgnoreNotFound(err))
	}
	if Is(u) || len(ControlPlanesOf(u)) > 0 {
		s.Writes.Wrote(key, u, s.Now())
	}
	return u, nil
}

// Serves reports whether objects of oooi exist for hc.
func (s Store) Serves(ctx context.Context, hc *hyperv1.HostedCluster) (bool, error) {
	ns := hcp.ControlPlaneNamespace(hc)
	for _, key := range append(Named(ns), BindingKey(ns)) {
		o, err := s.Read(ctx, key)
		if err != nil || IsOf(o, hc.Name) {
			return err == nil, err
		}
	}
	return false, nil
}

// ReportLease returns an empty Lease of the cached type: its metadata contains the report.
func ReportLease() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(LeaseKind)
	return o
}
