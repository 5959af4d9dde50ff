// This file decides which changes lead to which HostedCluster, and what the
// cache keeps of each kind. It reads from the cache only.

package controllers

import (
	"context"
	"reflect"
	"time"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
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
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network"
)

// AddToScheme registers every kind that is read or written. Kinds of others are decoded leniently.
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

// CacheOptions keep of each kind what is read: of the kinds that are written our own only, of
// Leases the reports of edges, of EndpointSlices the addresses of pods, of Services what edges and
// plans need, and no managed fields but those of others in Deployments. They name no kind that a
// cluster may lack. k learns from the informers which kinds are watched.
func CacheOptions(k *Kinds) cache.Options {
	o := cache.Options{
		NewInformer:      k.informer,
		DefaultTransform: stripped,
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.Deployment{}:         {Label: ownedLabels().AsSelectorPreValidated(), Transform: deploymentTransform()},
			reportLease():                {Label: labels.Set(wire.NamedLabels(wire.NameReport)).AsSelectorPreValidated(), Transform: strippedReport},
			&discoveryv1.EndpointSlice{}: {Transform: sliceTransform()},
			&corev1.Service{}:            {Transform: strippedService},
		},
	}
	cacheOwn(&o)
	return o
}

// stripped keeps the fields of nodes that are read. What else changes there, as labels and the boot
// ID, reconciles no cluster.
func stripped(o any) (any, error) {
	if o, ok := o.(*corev1.Node); ok {
		info := o.Status.NodeInfo
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion, Annotations: hcp.NodeAnnotations(o),
			},
			Spec: corev1.NodeSpec{PodCIDR: o.Spec.PodCIDR, PodCIDRs: o.Spec.PodCIDRs},
			Status: corev1.NodeStatus{
				NodeInfo:  corev1.NodeSystemInfo{ContainerRuntimeVersion: info.ContainerRuntimeVersion, OperatingSystem: info.OperatingSystem},
				Addresses: o.Status.Addresses, Allocatable: o.Status.Allocatable},
		}, nil
	}
	return cache.TransformStripManagedFields()(o)
}

// strippedReport keeps the report of a Lease. Edges write them, and an edge that a VM took over may
// write other annotations and reports that are too long.
func strippedReport(o any) (any, error) {
	if l, ok := o.(*metav1.PartialObjectMetadata); ok {
		report, has := l.Annotations[wire.AnnotationReport]
		l.Annotations = nil
		if has && len(report) <= network.MaxReportBytes {
			l.Annotations = map[string]string{wire.AnnotationReport: report}
		}
	}
	return stripped(o)
}

// strippedService keeps the fields of a Service that are read. There are very many. Those of oooi are whole.
func strippedService(o any) (any, error) {
	if s, ok := o.(*corev1.Service); ok && !isOwnService(s.Name) {
		return hcp.CachedService(s), nil
	}
	return stripped(o)
}

// sliceTransform keeps of an EndpointSlice the addresses of pods, and the API server's own one
// whole. There is one or more for each Service.
func sliceTransform() toolscache.TransformFunc {
	pod := &corev1.ObjectReference{Kind: "Pod"}
	return func(o any) (any, error) {
		s, ok := o.(*discoveryv1.EndpointSlice)
		if !ok || client.ObjectKeyFromObject(s) == apiServerSlice {
			return o, nil
		}
		return hcp.CachedSlice(s, pod), nil
	}
}

// reportLease is what is watched of the Leases that hold reports: metadata has it all.
func reportLease() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(leaseKind)
	return o
}

// A watch is one kind, and which clusters a change of one of its objects is for.
type watch struct {
	object     client.Object
	clusters   func(context.Context, client.Object) []reconcile.Request
	predicates []predicate.Predicate
	// within is how long changes are collected. It bounds how often an edge can make the
	// operator reconcile. 0: none are.
	within time.Duration
	// cache has the object. Nil: the manager's.
	cache cache.Cache
}

// reportsWithin is watch.within of reports. Edges write a report at most once a second.
const reportsWithin = time.Second

func (r *Reconciler) watches() []watch {
	controlPlane := &metav1.PartialObjectMetadata{}
	controlPlane.SetGroupVersionKind(hostedControlPlaneKind)
	return append(r.ownWatches(), []watch{
		{object: &lenient.HostedCluster{}, clusters: itself, predicates: []predicate.Predicate{concerned}},
		{object: &lenient.HostedCluster{}, clusters: r.neighborsOfHostedCluster, predicates: []predicate.Predicate{concernsNeighbors}},
		{object: &lenient.NodePool{}, clusters: r.ofNodePool},
		{object: &lenient.NodePool{}, clusters: r.neighborsOfNodePool, predicates: []predicate.Predicate{concernsNeighbors}},
		{object: controlPlane, clusters: r.inNamespace, predicates: []predicate.Predicate{comesOrGoes}},
		{object: &lenient.NetworkAttachmentDefinition{}, clusters: r.ofDefinition},
		{object: &lenient.Route{}, clusters: r.inNamespace},
		{object: &corev1.Service{}, clusters: r.ofService},
		{object: &lenient.VirtualMachineInstance{}, clusters: r.inNamespace, predicates: []predicate.Predicate{comesMovesOrGoes}},
		{object: reportLease(), clusters: r.ownOf(leaseKind), predicates: []predicate.Predicate{reportsOther}, within: reportsWithin},
		{object: &discoveryv1.EndpointSlice{}, clusters: r.everyCluster, predicates: []predicate.Predicate{ofAPIServer}},
		{object: &discoveryv1.EndpointSlice{}, clusters: r.inNamespace, predicates: []predicate.Predicate{ofLoadBalancer}, within: ownWithin},
	}...)
}

// handler returns what enqueues w's clusters.
func (w watch) handler() handler.EventHandler {
	if w.within == 0 {
		return handler.EnqueueRequestsFromMapFunc(w.clusters)
	}
	enqueue := func(ctx context.Context, o client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, req := range w.clusters(ctx, o) {
			q.AddAfter(req, w.within)
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

// concerned passes HostedClusters that opted in, or may have something of ours.
var concerned = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool { return ofOurs(e.ObjectOld) || ofOurs(e.ObjectNew) },
}

// comesOrGoes passes creations and deletions. Other events have no effect.
var comesOrGoes = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	},
}

// reportsOther also passes Leases whose report changed.
var reportsOther = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		const report = wire.AnnotationReport
		return comesOrGoes.Update(e) || e.ObjectOld.GetAnnotations()[report] != e.ObjectNew.GetAnnotations()[report]
	},
}

// comesMovesOrGoes also passes VMs whose addresses changed.
var comesMovesOrGoes = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return comesOrGoes.Update(e) || !reflect.DeepEqual(vmFieldsOf(e.ObjectOld), vmFieldsOf(e.ObjectNew))
	},
}

// A vmFields is what is read of a VM.
type vmFields struct {
	networks   []kubevirtv1.Network
	interfaces []kubevirtv1.VirtualMachineInstanceNetworkInterface
	unreadable []lenient.Unreadable
}

func vmFieldsOf(o client.Object) vmFields {
	vm, ok := o.(*lenient.VirtualMachineInstance)
	if !ok {
		return vmFields{}
	}
	out := vmFields{unreadable: vm.Unreadable}
	if fields := vm.Read(); fields != nil {
		out.networks, out.interfaces = fields.Spec.Networks, fields.Status.Interfaces
	}
	return out
}

// ofAPIServer passes the API server's own EndpointSlice. Pods come and go all the time: their
// addresses are read at the next reconcile.
var ofAPIServer = predicate.NewPredicateFuncs(func(o client.Object) bool { return client.ObjectKeyFromObject(o) == apiServerSlice })

// ofLoadBalancer passes EndpointSlices of load balancers that come. HyperShift and Kubernetes write them.
var ofLoadBalancer = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return isLoadBalancerSlice(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool { return isLoadBalancerSlice(e.ObjectNew) && comesOrGoes.Update(e) },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

func isLoadBalancerSlice(o client.Object) bool {
	s, ok := o.(*discoveryv1.EndpointSlice)
	return ok && hcp.IsLoadBalancerSlice(s)
}

// ofOurs reports whether a HostedCluster opted in, or has the condition of oooi.
func ofOurs(o client.Object) bool {
	var hc *hyperv1.HostedCluster
	switch o := o.(type) {
	case *lenient.HostedCluster:
		hc = &o.Fields.HostedCluster
	case *hyperv1.HostedCluster:
		hc = o
	default:
		return false
	}
	return hcp.OptedIn(hc) || conditionOf(hc) != nil
}

func itself(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
}

// clusters are the relevant clusters that an option selects.
func (r *Reconciler) clusters(ctx context.Context, which ...client.ListOption) []reconcile.Request {
	list := &lenient.HostedClusterList{}
	if err := r.Client.List(ctx, list, append(which, client.UnsafeDisableDeepCopy)...); err != nil {
		// The cluster does not have the kind yet, so no object exists. Each is reconciled when
		// its watch begins.
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if hc := &list.Items[i]; ofOurs(hc) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(hc)})
		}
	}
	return out
}

// everyCluster are all relevant clusters: what changed is common to them.
func (r *Reconciler) everyCluster(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.clusters(ctx)
}

// inNamespace are the relevant clusters whose control plane namespace o is in.
func (r *Reconciler) inNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	return r.clusters(ctx, client.MatchingFields{byControlPlane: o.GetNamespace()})
}

// ofService are the clusters that a Service is for. It may be one of oooi.
func (r *Reconciler) ofService(ctx context.Context, o client.Object) []reconcile.Request {
	if isOwnService(o.GetName()) {
		return r.ownOf(serviceKind)(ctx, o)
	}
	return r.inNamespace(ctx, o)
}

func (r *Reconciler) ofNodePool(ctx context.Context, o client.Object) []reconcile.Request {
	np, ok := o.(*lenient.NodePool)
	if !ok {
		return nil
	}
	hc := &lenient.HostedCluster{}
	if r.Client.Get(ctx, client.ObjectKey{Namespace: np.Namespace, Name: hcp.ClusterOf(np)}, hc) != nil || !ofOurs(hc) {
		return nil // It is reconciled when it appears.
	}
	return itself(ctx, hc)
}
