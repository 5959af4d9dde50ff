// This file decides which changes lead to which HostedCluster, and what the
// cache keeps of each kind. It reads from the cache only.

package controllers

import (
	"context"
	"reflect"
	"slices"
	"time"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
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
	"github.com/cldmnky/oooi/network"
)

// AddToScheme registers every kind that is read or written.
func AddToScheme(s *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, discoveryv1.AddToScheme, admissionregistrationv1.AddToScheme,
		hyperv1.AddToScheme, nadv1.AddToScheme, routev1.Install, kubevirtv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return err
		}
	}
	return nil
}

// CacheOptions keep of each kind what is read: of Deployments our own only, of Leases the
// reports of edges, of EndpointSlices the addresses of pods, and no managed fields. They name no
// kind that a cluster may lack.
func CacheOptions() cache.Options {
	return cache.Options{
		DefaultTransform: stripped,
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.Deployment{}:         {Label: ownedLabels().AsSelectorPreValidated()},
			reportLease():                {Label: labels.Set(wire.NamedLabels(wire.NameReport)).AsSelectorPreValidated(), Transform: strippedReport},
			&discoveryv1.EndpointSlice{}: {Transform: strippedSlice},
		},
	}
}

// stripped keeps the fields of nodes and VMs that are read. There are many, with large status
// fields.
func stripped(o any) (any, error) {
	switch o := o.(type) {
	case *corev1.Node:
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion, Labels: o.Labels, Annotations: hcp.NodeAnnotations(o),
			},
			Spec:   corev1.NodeSpec{PodCIDR: o.Spec.PodCIDR, PodCIDRs: o.Spec.PodCIDRs},
			Status: corev1.NodeStatus{NodeInfo: o.Status.NodeInfo, Addresses: o.Status.Addresses, Allocatable: o.Status.Allocatable},
		}, nil
	case *kubevirtv1.VirtualMachineInstance:
		return &kubevirtv1.VirtualMachineInstance{
			ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion},
			Spec:       kubevirtv1.VirtualMachineInstanceSpec{Networks: o.Spec.Networks},
			Status:     kubevirtv1.VirtualMachineInstanceStatus{Interfaces: interfaces(o)},
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

// interfaces are o's own interfaces and their addresses. Interfaces that only the guest agent
// reports have no name.
func interfaces(o *kubevirtv1.VirtualMachineInstance) []kubevirtv1.VirtualMachineInstanceNetworkInterface {
	var out []kubevirtv1.VirtualMachineInstanceNetworkInterface
	for _, i := range o.Status.Interfaces {
		if i.Name != "" {
			out = append(out, kubevirtv1.VirtualMachineInstanceNetworkInterface{Name: i.Name, MAC: i.MAC, IP: i.IP, IPs: i.IPs})
		}
	}
	return out
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
}

// reportsWithin is watch.within of reports. Edges write a report at most once a second.
const reportsWithin = time.Second

func (r *Reconciler) watches() []watch {
	controlPlane := &metav1.PartialObjectMetadata{}
	controlPlane.SetGroupVersionKind(hostedControlPlaneKind)
	inNamespace := func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.clusters(ctx, func(hc *hyperv1.HostedCluster) bool { return hcp.ControlPlaneNamespace(hc) == o.GetNamespace() })
	}
	return []watch{
		{object: &hyperv1.HostedCluster{}, clusters: itself, predicates: []predicate.Predicate{concerned}},
		{object: &hyperv1.HostedCluster{}, clusters: r.neighborsOfHostedCluster, predicates: []predicate.Predicate{concernsNeighbors}},
		{object: &hyperv1.NodePool{}, clusters: r.ofNodePool},
		{object: &hyperv1.NodePool{}, clusters: r.neighborsOfNodePool, predicates: []predicate.Predicate{concernsNeighbors}},
		{object: controlPlane, clusters: inNamespace, predicates: []predicate.Predicate{comesOrGoes}},
		{object: &nadv1.NetworkAttachmentDefinition{}, clusters: r.ofDefinition},
		{object: &routev1.Route{}, clusters: inNamespace},
		{object: &corev1.Service{}, clusters: inNamespace},
		{object: &kubevirtv1.VirtualMachineInstance{}, clusters: inNamespace, predicates: []predicate.Predicate{comesMovesOrGoes}},
		{object: &appsv1.Deployment{}, clusters: inNamespace},
		{object: reportLease(), clusters: inNamespace, predicates: []predicate.Predicate{reportsOther}, within: reportsWithin},
		{object: &discoveryv1.EndpointSlice{}, clusters: r.everyCluster, predicates: []predicate.Predicate{ofAPIServer}},
	}
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
		return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
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
		before, _ := e.ObjectOld.(*kubevirtv1.VirtualMachineInstance)
		after, ok := e.ObjectNew.(*kubevirtv1.VirtualMachineInstance)
		return comesOrGoes.Update(e) || ok && !reflect.DeepEqual(before.Status.Interfaces, after.Status.Interfaces)
	},
}

// ofAPIServer passes the API server's own EndpointSlice. Pods come and go all the time: their
// addresses are read at the next reconcile.
var ofAPIServer = predicate.NewPredicateFuncs(func(o client.Object) bool { return client.ObjectKeyFromObject(o) == apiServerSlice })

func ofOurs(o client.Object) bool {
	hc, ok := o.(*hyperv1.HostedCluster)
	return ok && (hcp.OptedIn(hc) || meta.FindStatusCondition(hc.Status.Conditions, ConditionType) != nil)
}

func itself(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
}

// clusters are the relevant clusters that match.
func (r *Reconciler) clusters(ctx context.Context, match func(*hyperv1.HostedCluster) bool) []reconcile.Request {
	list := &hyperv1.HostedClusterList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		// The cluster does not have the kind yet, so no object exists. Each is reconciled when
		// its watch begins.
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if hc := &list.Items[i]; ofOurs(hc) && match(hc) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(hc)})
		}
	}
	return out
}

func (r *Reconciler) ofNodePool(ctx context.Context, o client.Object) []reconcile.Request {
	np, ok := o.(*hyperv1.NodePool)
	if !ok {
		return nil
	}
	return r.clusters(ctx, func(hc *hyperv1.HostedCluster) bool {
		return hc.Namespace == np.Namespace && hc.Name == np.Spec.ClusterName
	})
}

// ofDefinition: an edge NAD is for the cluster of its control plane namespace. Any other NAD
// is for the clusters whose NodePools use it, and for their neighbors on it.
func (r *Reconciler) ofDefinition(ctx context.Context, o client.Object) []reconcile.Request {
	if ownedLabels().AsSelectorPreValidated().Matches(labels.Set(o.GetLabels())) {
		return r.clusters(ctx, func(hc *hyperv1.HostedCluster) bool { return hcp.ControlPlaneNamespace(hc) == o.GetNamespace() })
	}
	var out []reconcile.Request
	for _, req := range r.clusters(ctx, func(hc *hyperv1.HostedCluster) bool {
		named := hcp.Objects{HostedCluster: hc}
		return r.gatherAttached(ctx, &named) == nil && slices.ContainsFunc(hcp.NamedNADs(named), func(a network.Attachment) bool {
			return a.Namespace == o.GetNamespace() && a.Name == o.GetName()
		})
	}) {
		out = append(out, req)
		hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name}}
		out = append(out, r.neighborsOfHostedCluster(ctx, hc)...)
	}
	return out
}
