// Package watch follows which kinds the cluster has and which of them are watched. It decides what caches keep of
// each kind, and has their indexes. Reads of kinds that are not watched do not wait.
package watch

import (
	"context"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/reported"
)

// AddToScheme registers every kind that is read or written. Kinds of other projects are decoded leniently.
func AddToScheme(s *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, discoveryv1.AddToScheme, admissionregistrationv1.AddToScheme,
		networkingv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme,
		lenient.AddToScheme,
	} {
		if err := add(s); err != nil {
			return err
		}
	}
	return nil
}

// CacheOptions returns the options of a cache that keeps only what is read of each kind. Of kinds that oooi writes, it
// keeps only objects of oooi. Of Leases, it keeps the reports of edges, of EndpointSlices the addresses of pods, and of
// Services the fields that edges and plans need. The cache keeps managed fields only in Deployments, and only those of
// other clients. The options do not name kinds that a cluster may lack. Informers report to k.
func CacheOptions(k *Kinds) cache.Options {
	o := cache.Options{
		NewInformer:      k.Informer,
		DefaultTransform: Stripped,
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.Deployment{}:         {Label: own.Labels().AsSelectorPreValidated(), Transform: deploymentTransform()},
			own.ReportLease():            {Label: labels.Set(wire.NamedLabels(wire.NameReport)).AsSelectorPreValidated(), Transform: strippedReport},
			&discoveryv1.EndpointSlice{}: {Transform: sliceTransform()},
			&corev1.Service{}:            {Transform: strippedService},
		},
	}
	cacheOwn(&o)
	return o
}

// Stripped is a cache transform. It keeps only the fields of nodes that are read, so that other changes do not
// reconcile clusters. From other objects, it removes managed fields. A node in maintenance counts as unschedulable.
func Stripped(o any) (any, error) {
	if o, ok := o.(*corev1.Node); ok {
		info := o.Status.NodeInfo
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion, Annotations: management.NodeAnnotations(o),
			},
			Spec: corev1.NodeSpec{PodCIDR: o.Spec.PodCIDR, PodCIDRs: o.Spec.PodCIDRs, Unschedulable: management.InMaintenance(o)},
			Status: corev1.NodeStatus{
				NodeInfo:  corev1.NodeSystemInfo{ContainerRuntimeVersion: info.ContainerRuntimeVersion, OperatingSystem: info.OperatingSystem},
				Addresses: o.Status.Addresses, Allocatable: o.Status.Allocatable},
		}, nil
	}
	return cache.TransformStripManagedFields()(o)
}

// strippedReport is a cache transform that keeps only what is read of a Lease with a report. An edge that a VM took
// over may write other metadata, and reports that are too long.
func strippedReport(o any) (any, error) {
	l, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil
	}
	out := &metav1.PartialObjectMetadata{TypeMeta: l.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: l.Namespace, Name: l.Name, UID: l.UID, ResourceVersion: l.ResourceVersion, DeletionTimestamp: l.DeletionTimestamp, Labels: map[string]string{},
	}}
	for _, key := range []string{wire.LabelPartOf, wire.LabelManagedBy, wire.LabelName, wire.LabelNetwork, wire.LabelEdge} {
		if value, has := l.Labels[key]; has {
			out.Labels[key] = value
		}
	}
	if report, has := l.Annotations[wire.AnnotationReport]; has && len(report) <= reported.MaxBytes {
		out.Annotations = map[string]string{wire.AnnotationReport: report}
	}
	return out, nil
}

// strippedService is a cache transform that keeps only what is read of a Service, because there are very many Services.
// Services of oooi are kept whole.
func strippedService(o any) (any, error) {
	if s, ok := o.(*corev1.Service); ok && !own.IsService(s.Name) {
		return services.CachedService(s), nil
	}
	return Stripped(o)
}

// sliceTransform returns a cache transform that keeps only the addresses of pods in an EndpointSlice. The API server's
// own EndpointSlice is kept whole.
func sliceTransform() toolscache.TransformFunc {
	pod := &corev1.ObjectReference{Kind: "Pod"}
	return func(o any) (any, error) {
		s, ok := o.(*discoveryv1.EndpointSlice)
		if !ok || client.ObjectKeyFromObject(s) == APIServerSlice {
			return o, nil
		}
		return services.CachedSlice(s, pod), nil
	}
}

// A Watched is one kind, with a function that returns the clusters for a changed object.
type Watched struct {
	Object     client.Object
	Clusters   func(context.Context, client.Object) []reconcile.Request
	Predicates []predicate.Predicate
	// Within is how long changes are collected, to limit how often an edge makes the operator reconcile. 0: not at all.
	Within time.Duration
	// Cache has the objects. Nil: the manager's cache.
	Cache cache.Cache
}

// Handler returns a handler that enqueues w's clusters.
func (w Watched) Handler() handler.EventHandler {
	if w.Within == 0 {
		return handler.EnqueueRequestsFromMapFunc(w.Clusters)
	}
	enqueue := func(ctx context.Context, o client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, req := range w.Clusters(ctx, o) {
			q.AddAfter(req, w.Within)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, e.Object, q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, e.Object, q)
		},
	}
}

// APIServerSlice is the EndpointSlice that API servers write for themselves.
var APIServerSlice = types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}
