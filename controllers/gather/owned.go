// This file reads the objects of oooi in a control plane namespace, and the plan in force.

package gather

import (
	"context"
	"slices"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// readOwned reads the objects of oooi for w's hosted cluster.
func (r Reader) readOwned(ctx context.Context, w *World) error {
	ns, name := hcp.ControlPlaneNamespace(w.HostedCluster), w.HostedCluster.Name
	r.Verify(ctx, ns)
	// Edges are read first, so that the condition has them even if another kind is not watched.
	if err := r.gatherKind(ctx, w, own.DeploymentKind); err != nil {
		return err
	}
	binding, err := r.Read(ctx, own.BindingKey(ns))
	if err != nil {
		return err
	}
	if own.IsOf(binding, name) {
		metadata := own.MetadataOf(own.RoleBindingKind, binding)
		w.Binding = &metadata
	}
	if w.Last, w.LastText, w.Unread, err = r.PlanInForce(ctx, w.HostedCluster); err != nil {
		return err
	}
	for _, key := range own.Named(ns) {
		o, err := r.Read(ctx, key)
		if err != nil {
			return err
		}
		if own.IsOf(o, name) {
			w.Owned = append(w.Owned, own.MetadataOf(key.Kind, o))
		}
	}
	for _, kind := range []schema.GroupVersionKind{own.DefinitionKind, own.BudgetKind} {
		if err := r.gatherKind(ctx, w, kind); err != nil {
			return err
		}
	}
	if err := r.gatherServices(ctx, w); err != nil {
		return err
	}
	if err := r.gatherUnlabeled(ctx, w); err != nil || w.Binding == nil && len(w.Owned) == 0 {
		return err
	}
	// Edges write Leases, which have no owner. They belong to the cluster of the edges.
	leases, err := r.List(ctx, own.LeaseKind, ns)
	for _, o := range leases {
		r.addOwned(w, own.LeaseKind, o)
	}
	w.EdgeReports = reportsOf(w.Owned, w.Last)
	return err
}

func (r Reader) gatherKind(ctx context.Context, w *World, kind schema.GroupVersionKind) error {
	all, err := r.List(ctx, kind, hcp.ControlPlaneNamespace(w.HostedCluster))
	for _, o := range all {
		if own.IsOf(o, w.HostedCluster.Name) {
			r.addOwned(w, kind, o)
		}
	}
	return err
}

// gatherServices finds the Services of oooi by name, because another client may have removed their labels.
func (r Reader) gatherServices(ctx context.Context, w *World) error {
	ns, list := hcp.ControlPlaneNamespace(w.HostedCluster), &corev1.ServiceList{}
	if err := requests.Present(r.Client.List(ctx, list, client.InNamespace(ns), client.UnsafeDisableDeepCopy)); err != nil {
		return err
	}
	keys := r.Writes.In(own.ServiceKind, ns)
	for i := range list.Items {
		w.Led = w.Led || services.IsLoadBalancer(&list.Items[i]) && services.LeadsToEdges(&list.Items[i])
		if key := own.KeyOf(own.ServiceKind, &list.Items[i]); own.IsService(key.Name) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		o, err := r.Read(ctx, key)
		if err != nil {
			return err
		}
		if own.IsOf(o, w.HostedCluster.Name) {
			r.addOwned(w, own.ServiceKind, o)
		}
	}
	return nil
}

func (r Reader) addOwned(w *World, kind schema.GroupVersionKind, o client.Object) {
	w.Owned = append(w.Owned, own.MetadataOf(kind, o))
	if d, ok := o.(*appsv1.Deployment); ok {
		w.Edges = append(w.Edges, EdgeOf(r.Observed.Settled(*d)))
	}
}

// gatherUnlabeled reads those edges of the plan in force that the cache lacks, because another client may have removed
// their labels.
func (r Reader) gatherUnlabeled(ctx context.Context, w *World) error {
	for _, n := range w.Last.Networks {
		for _, e := range n.Edges {
			key := own.Key{Kind: own.DeploymentKind, NamespacedName: types.NamespacedName{Namespace: hcp.ControlPlaneNamespace(w.HostedCluster), Name: wire.EdgeDeploymentName(n, e)}}
			if _, known := w.Edge(key.Name); known {
				continue
			}
			if _, err := r.Learn(ctx, key); err != nil {
				return err
			}
			o, err := r.Read(ctx, key)
			if err != nil {
				return err
			}
			if own.IsOf(o, w.HostedCluster.Name) {
				r.addOwned(w, own.DeploymentKind, o)
			}
		}
	}
	return nil
}

// PlanInForce returns the plan that the edges of hc serve, and its stored text. An unreadable plan is a fault.
func (r Reader) PlanInForce(ctx context.Context, hc *hyperv1.HostedCluster) (p network.Plan, text string, fault problem.Problems, err error) {
	ns := hcp.ControlPlaneNamespace(hc)
	o, err := r.Read(ctx, own.Key{Kind: own.ConfigMapKind, NamespacedName: types.NamespacedName{Namespace: ns, Name: wire.PlanConfigMap}})
	cm, ok := o.(*corev1.ConfigMap)
	if err != nil || !ok || !own.IsOf(o, hc.Name) {
		return p, "", nil, err
	}
	text = cm.Data[wire.PlanKey]
	p, fault = objects.ReadPlanInForce(ns, text)
	return p, text, fault, nil
}
