// This file reads what the network of one hosted cluster is derived from. It reads no Secret.

package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network"
)

// gatherInput reads what the network is derived from.
func (r *Reconciler) gatherInput(ctx context.Context, w *world) error {
	if err := r.Kinds.complete(); err != nil {
		return err
	}
	if err := r.gatherControlPlane(ctx, w); err != nil {
		return err
	}
	if err := r.gatherAttached(ctx, &w.Objects); err != nil {
		return err
	}
	if err := r.gatherPublished(ctx, &w.Objects); err != nil {
		return err
	}
	if err := r.gatherEnvironment(ctx, w); err != nil {
		return err
	}
	if err := r.gatherEndpoints(ctx, w); err != nil {
		return err
	}
	return r.gatherNeighbors(ctx, w)
}

// gatherControlPlane reads the HostedControlPlane, which owns all objects of oooi.
func (r *Reconciler) gatherControlPlane(ctx context.Context, w *world) error {
	cp := &metav1.PartialObjectMetadata{}
	cp.SetGroupVersionKind(hostedControlPlaneKind)
	key := types.NamespacedName{Namespace: hcp.ControlPlaneNamespace(w.HostedCluster), Name: w.HostedCluster.Name}
	err := r.Client.Get(ctx, key, cp)
	if err == nil {
		w.controlPlane = cp
	}
	return present(client.IgnoreNotFound(err))
}

// gatherAttached reads which networks o's VMs are on.
func (r *Reconciler) gatherAttached(ctx context.Context, o *hcp.Objects) error {
	hc := o.HostedCluster
	pools := &lenient.NodePoolList{}
	of := client.MatchingFields{byCluster: hc.Name}
	if err := present(r.Client.List(ctx, pools, client.InNamespace(hc.Namespace), of, client.UnsafeDisableDeepCopy)); err != nil {
		return err
	}
	o.AddNodePools(pools.Items)
	vms := &lenient.VirtualMachineInstanceList{}
	err := present(r.Client.List(ctx, vms, client.InNamespace(hcp.ControlPlaneNamespace(hc)), client.UnsafeDisableDeepCopy))
	if err != nil {
		return err
	}
	o.AddVMs(vms.Items)
	return r.gatherDefinitions(ctx, o, hcp.NamedNADs(*o))
}

// gatherDefinitions reads those of these NADs that exist.
func (r *Reconciler) gatherDefinitions(ctx context.Context, o *hcp.Objects, named []network.Attachment) error {
	o.NetworkAttachmentDefinitions = nil
	var found []lenient.NetworkAttachmentDefinition
	for _, a := range named {
		nad := lenient.NetworkAttachmentDefinition{}
		err := r.Client.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, &nad)
		if err == nil {
			found = append(found, nad)
		}
		if err := present(client.IgnoreNotFound(err)); err != nil {
			return err
		}
	}
	o.AddNADs(found)
	return nil
}

// gatherPublished reads how o's control plane is published.
func (r *Reconciler) gatherPublished(ctx context.Context, o *hcp.Objects) error {
	ns := client.InNamespace(hcp.ControlPlaneNamespace(o.HostedCluster))
	routes, services := &lenient.RouteList{}, &corev1.ServiceList{}
	for _, list := range []client.ObjectList{routes, services} {
		if err := present(r.Client.List(ctx, list, ns, client.UnsafeDisableDeepCopy)); err != nil {
			return err
		}
	}
	o.AddRoutes(routes.Items)
	o.Services = services.Items
	pods := &discoveryv1.EndpointSliceList{}
	if err := r.Client.List(ctx, pods, ns, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	o.Pods, o.Slices = hcp.PodAddresses(pods.Items), hcp.LoadBalancerSlices(pods.Items)
	return nil
}

// present is err, or nil if the cluster does not have the kind, so no object of it exists.
func present(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}
