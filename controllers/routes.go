// This file decides which HostedClusters are reconciled after changes. It reads only from caches.

package controllers

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
)

// reportsWithin is Watched.Within for reports. Edges write a report at most once a second.
const reportsWithin = time.Second

func (r *Reconciler) watches() []watch.Watched {
	controlPlane := &metav1.PartialObjectMetadata{}
	controlPlane.SetGroupVersionKind(own.HostedControlPlaneKind)
	return append(r.ownWatches(), []watch.Watched{
		{Object: &lenient.HostedCluster{}, Clusters: itself, Predicates: []predicate.Predicate{concerned}},
		{Object: &lenient.HostedCluster{}, Clusters: r.neighborsOfHostedCluster, Predicates: []predicate.Predicate{concernsNeighbors}},
		{Object: &lenient.NodePool{}, Clusters: r.ofNodePool},
		{Object: &lenient.NodePool{}, Clusters: r.neighborsOfNodePool, Predicates: []predicate.Predicate{concernsNeighbors}},
		{Object: controlPlane, Clusters: r.inNamespace, Predicates: []predicate.Predicate{comesOrGoes}},
		{Object: &lenient.NetworkAttachmentDefinition{}, Clusters: r.ofDefinition},
		{Object: &lenient.Route{}, Clusters: r.inNamespace},
		{Object: &corev1.Service{}, Clusters: r.ofService},
		{Object: &lenient.VirtualMachineInstance{}, Clusters: r.inNamespace, Predicates: []predicate.Predicate{comesMovesOrGoes}},
		{Object: own.ReportLease(), Clusters: r.ownOf(own.LeaseKind), Predicates: []predicate.Predicate{reportsOther}, Within: reportsWithin},
		{Object: &discoveryv1.EndpointSlice{}, Clusters: r.everyCluster, Predicates: []predicate.Predicate{ofAPIServer}},
		{Object: &discoveryv1.EndpointSlice{}, Clusters: r.inNamespace, Predicates: []predicate.Predicate{ofLoadBalancer}, Within: ownWithin},
	}...)
}

func itself(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
}

// everyCluster returns all relevant clusters, for a change that affects all of them.
func (r *Reconciler) everyCluster(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.reader().Clusters(ctx)
}

// inNamespace returns the relevant clusters whose control plane namespace is that of o.
func (r *Reconciler) inNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	return r.reader().Clusters(ctx, client.MatchingFields{watch.ByControlPlane: o.GetNamespace()})
}

// ofService returns the clusters for a Service. oooi's own Service also shows that the cache has the last write.
func (r *Reconciler) ofService(ctx context.Context, o client.Object) []reconcile.Request {
	if own.IsService(o.GetName()) {
		return r.ownOf(own.ServiceKind)(ctx, o)
	}
	return r.inNamespace(ctx, o)
}

func (r *Reconciler) ofNodePool(ctx context.Context, o client.Object) []reconcile.Request {
	np, ok := o.(*lenient.NodePool)
	if !ok {
		return nil
	}
	hc := &lenient.HostedCluster{}
	if r.Client.Get(ctx, client.ObjectKey{Namespace: np.Namespace, Name: objects.ClusterOf(np)}, hc) != nil || !own.Relevant(hc) {
		return nil // The HostedCluster is reconciled when it appears.
	}
	return itself(ctx, hc)
}

// neighborsOn returns the clusters on one of the given networks. Parameter of has the names of other clusters.
// neighborsOn also returns the clusters that had one of them as a neighbor at their last pass, because they may wait
// for it. If a read fails, it returns all clusters.
func (r *Reconciler) neighborsOn(ctx context.Context, on []network.Attachment, of ...types.NamespacedName) []reconcile.Request {
	found, err := r.reader().ClustersOn(ctx, on)
	if err != nil {
		return r.everyCluster(ctx, nil)
	}
	return r.with(found, of...)
}

// with returns the clusters in found, and those that had a cluster in parameter of as a neighbor at their last pass.
func (r *Reconciler) with(found map[types.NamespacedName]lenient.HostedCluster, of ...types.NamespacedName) []reconcile.Request {
	var out []reconcile.Request
	for key := range found {
		out = append(out, reconcile.Request{NamespacedName: key})
	}
	for _, key := range of {
		for _, req := range r.memory.around(key) {
			if _, known := found[req.NamespacedName]; !known {
				out = append(out, req)
			}
		}
	}
	return out
}

// neighborsOfHostedCluster returns the clusters on o's networks, and those that had o as a neighbor. If o was deleted,
// only the latter are known.
func (r *Reconciler) neighborsOfHostedCluster(ctx context.Context, o client.Object) []reconcile.Request {
	hc := &lenient.HostedCluster{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(o), hc)
	if apierrors.IsNotFound(err) {
		return r.memory.around(client.ObjectKeyFromObject(o))
	}
	if err != nil {
		return r.everyCluster(ctx, nil)
	}
	objects := hcp.Objects{HostedCluster: &hc.Fields.HostedCluster}
	if r.reader().ReadAttached(ctx, &objects, gather.EnoughNodePools) != nil {
		return r.everyCluster(ctx, nil)
	}
	serves, _, _, err := r.reader().PlanInForce(ctx, objects.HostedCluster)
	if err != nil {
		return r.everyCluster(ctx, nil)
	}
	return r.neighborsOn(ctx, networks.All(objects, serves), client.ObjectKeyFromObject(o))
}

// neighborsOfNodePool returns the clusters on o's networks, and those that had o's cluster as a neighbor. It does not
// read o from the cache, because o may be deleted.
func (r *Reconciler) neighborsOfNodePool(ctx context.Context, o client.Object) []reconcile.Request {
	np, ok := o.(*lenient.NodePool)
	if !ok {
		return nil
	}
	hc := &hyperv1.HostedCluster{}
	hc.Namespace, hc.Name = np.Namespace, objects.ClusterOf(np)
	alone := hcp.Objects{HostedCluster: hc, NodePools: []hyperv1.NodePool{*np.Fields}}
	if r.reader().ReadNamed(ctx, &alone) != nil {
		return r.everyCluster(ctx, nil)
	}
	return r.neighborsOn(ctx, networks.All(alone, network.Plan{}), client.ObjectKeyFromObject(hc))
}

func (r *Reconciler) neighborsOfPlan(ctx context.Context, o client.Object) []reconcile.Request {
	its := r.inNamespace(ctx, o)
	var of []types.NamespacedName
	for _, req := range its {
		of = append(of, req.NamespacedName)
	}
	return slices.DeleteFunc(r.neighborsOn(ctx, watch.StoredPlan(o).Attachments(), of...), func(req reconcile.Request) bool { return slices.Contains(its, req) })
}

// ofDefinition returns the clusters for a NAD. An edge NAD is for the cluster of its control plane namespace. Any other
// NAD is for the clusters that use it, and their neighbors. After a change, both the previous and the new network
// count, and clusters that the NAD no longer allows.
func (r *Reconciler) ofDefinition(ctx context.Context, o client.Object) []reconcile.Request {
	if own.Is(o) {
		return r.ownOf(own.DefinitionKind)(ctx, o)
	}
	a := network.Attachment{Namespace: o.GetNamespace(), Name: o.GetName()}
	if nad, ok := o.(*lenient.NetworkAttachmentDefinition); ok {
		a.Layer2 = networks.Layer2(*nad.Fields)
	}
	found, err := r.reader().ClustersNaming(ctx, []network.Attachment{a})
	if err != nil {
		return r.everyCluster(ctx, nil)
	}
	return r.with(found)
}

// concernsNeighbors accepts events that may change which addresses a cluster wants or has. Initial events are dropped:
// the operator reconciles everything when it starts.
var concernsNeighbors = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return before.GetGeneration() != after.GetGeneration() || !maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
			before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() || neighborStatusOf(before) != neighborStatusOf(after)
	},
}

var planChanges = predicate.Funcs{
	CreateFunc: concernsNeighbors.Create,
	UpdateFunc: func(e event.UpdateEvent) bool { return watch.PlanText(e.ObjectOld) != watch.PlanText(e.ObjectNew) },
}

// A neighborStatus is the part of a HostedCluster's status that its neighbors depend on.
type neighborStatus struct {
	api        hyperv1.APIEndpoint
	ready      metav1.ConditionStatus
	reason     string
	generation int64
}

func neighborStatusOf(o client.Object) neighborStatus {
	hc, ok := o.(*lenient.HostedCluster)
	if !ok {
		return neighborStatus{}
	}
	s := neighborStatus{api: hc.Fields.Status.ControlPlaneEndpoint}
	if c := own.ConditionOf(&hc.Fields.HostedCluster); c != nil {
		s.ready, s.reason, s.generation = c.Status, c.Reason, c.ObservedGeneration
	}
	return s
}

// concerned accepts the events of HostedClusters that opted in, or may have objects of oooi.
var concerned = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool { return own.Relevant(e.ObjectOld) || own.Relevant(e.ObjectNew) },
}

// comesOrGoes accepts creations and deletions of objects, and the beginning of a deletion.
var comesOrGoes = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	},
}

// reportsOther accepts what comesOrGoes accepts, and updates of Leases that change the report.
var reportsOther = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		const report = wire.AnnotationReport
		return comesOrGoes.Update(e) || e.ObjectOld.GetAnnotations()[report] != e.ObjectNew.GetAnnotations()[report]
	},
}

// comesMovesOrGoes accepts what comesOrGoes accepts, and updates of VMs that change networks or addresses.
var comesMovesOrGoes = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return comesOrGoes.Update(e) || !reflect.DeepEqual(vmFields(e.ObjectOld), vmFields(e.ObjectNew))
	},
}

func vmFields(o client.Object) (out lenient.VirtualMachineInstance) {
	if vm, ok := o.(*lenient.VirtualMachineInstance); ok {
		out.Spec, out.Status, out.Unreadable = vm.Spec, vm.Status, vm.Unreadable
		if !vm.Finished() {
			out.Status.Phase = "" // A VM that starts need not wake its cluster.
		}
	}
	return out
}

// ofAPIServer accepts only the API server's own EndpointSlice. The addresses of pods, which come and go all the time,
// are read at the next reconcile.
var ofAPIServer = predicate.NewPredicateFuncs(func(o client.Object) bool { return client.ObjectKeyFromObject(o) == watch.APIServerSlice })

// ofLoadBalancer accepts creations of EndpointSlices of load balancers.
var ofLoadBalancer = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return isLoadBalancerSlice(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool { return isLoadBalancerSlice(e.ObjectNew) && comesOrGoes.Update(e) },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

func isLoadBalancerSlice(o client.Object) bool {
	s, ok := o.(*discoveryv1.EndpointSlice)
	return ok && services.IsLoadBalancerSlice(s)
}
