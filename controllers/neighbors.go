// This file reads the hosted clusters that share a network with one, and decides which
// changes of one lead to a reconcile of the others. Package network decides how they
// share it.

package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network"
)

// gatherNeighbors reads the requests and the plans in force of the hosted clusters on w's
// networks. One that opted out or is being deleted counts while objects of oooi exist
// there.
func (r *Reconciler) gatherNeighbors(ctx context.Context, w *world) error {
	ours := hcp.NetworksOf(w.Objects, w.last)
	candidates, err := r.clustersOn(ctx, ours)
	if err != nil {
		return err
	}
	delete(candidates, client.ObjectKeyFromObject(w.HostedCluster))
	for _, candidate := range candidates {
		hc := &candidate.Fields.HostedCluster
		o := hcp.Objects{Nodes: w.Nodes, Management: w.Management, Proxy: w.Proxy, MultusIsolates: w.MultusIsolates, Permissions: w.Permissions}
		o.SetHostedCluster(&candidate)
		if err := r.gatherAttached(ctx, &o); err != nil {
			return err
		}
		serves, _, unread, err := r.planInForce(ctx, hc)
		if err != nil {
			return fmt.Errorf("reading what is served to %s: %w", clusterName(hc), err)
		}
		if err := r.gatherPublished(ctx, &o); err != nil {
			return err
		}
		if n, ok := hcp.NewNeighbor(o, serves).For(w.HostedCluster, ours); ok {
			w.others = append(w.others, n)
			w.unread = append(w.unread, unread...)
		}
	}
	slices.SortFunc(w.others, func(a, b network.OtherCluster) int { return strings.Compare(a.Name, b.Name) })
	r.neighborhoods.replace(client.ObjectKeyFromObject(w.HostedCluster), w.others)
	return nil
}

// clustersOn are the hosted clusters that opted in, or may have objects of oooi, and that are on one of
// these networks: NodePools or VMs use one of the NADs, or another NAD of the same layer-2 network, or
// the plan in force serves it.
func (r *Reconciler) clustersOn(ctx context.Context, on []network.Attachment) (map[types.NamespacedName]lenient.HostedCluster, error) {
	out, namespaces := map[types.NamespacedName]lenient.HostedCluster{}, map[string]bool{}
	all, err := r.sameNetwork(ctx, on)
	if err != nil {
		return nil, err
	}
	for value := range all {
		pools, vms, plans := &lenient.NodePoolList{}, &lenient.VirtualMachineInstanceList{}, &corev1.ConfigMapList{}
		for _, list := range []client.ObjectList{pools, vms, plans} {
			if err := present(r.Client.List(ctx, list, client.MatchingFields{byNetwork: value}, client.UnsafeDisableDeepCopy)); err != nil {
				return nil, err
			}
		}
		for i := range pools.Items {
			np := &pools.Items[i]
			if err := r.addCluster(ctx, out, types.NamespacedName{Namespace: np.Namespace, Name: hcp.ClusterOf(np)}); err != nil {
				return nil, err
			}
		}
		for i := range vms.Items {
			namespaces[vms.Items[i].Namespace] = true
		}
		for i := range plans.Items {
			namespaces[plans.Items[i].Namespace] = true
		}
	}
	for ns := range namespaces {
		for _, req := range r.clusters(ctx, client.MatchingFields{byControlPlane: ns}) {
			if err := r.addCluster(ctx, out, req.NamespacedName); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// addCluster adds the HostedCluster of this name to all, if it is relevant.
func (r *Reconciler) addCluster(ctx context.Context, all map[types.NamespacedName]lenient.HostedCluster, key types.NamespacedName) error {
	if _, known := all[key]; known {
		return nil
	}
	hc := lenient.HostedCluster{}
	err := r.Client.Get(ctx, key, &hc)
	if err == nil && ofOurs(&hc) {
		all[key] = hc
	}
	return present(client.IgnoreNotFound(err))
}

// sameNetwork are the values of index byNetwork for these networks, and for all other NADs of the same
// layer-2 networks.
func (r *Reconciler) sameNetwork(ctx context.Context, on []network.Attachment) (map[string]bool, error) {
	values := map[string]bool{}
	for _, a := range on {
		if a.Layer2 == "" {
			nad := lenient.NetworkAttachmentDefinition{}
			err := r.Client.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, &nad)
			if err == nil {
				a.Layer2 = hcp.Layer2(*nad.Fields)
			}
			if err := present(client.IgnoreNotFound(err)); err != nil {
				return nil, err
			}
		}
		for _, value := range networkValues(a) {
			values[value] = true
		}
		if a.Layer2 == "" {
			continue
		}
		list := &lenient.NetworkAttachmentDefinitionList{}
		if err := present(r.Client.List(ctx, list, client.MatchingFields{byNetwork: layer2Value(a.Layer2)}, client.UnsafeDisableDeepCopy)); err != nil {
			return nil, err
		}
		for _, nad := range list.Items {
			values[nad.Namespace+"/"+nad.Name] = true
		}
	}
	return values, nil
}

// neighborsOn are the clusters on one of these networks, and those that had one of these clusters as a
// neighbor at their last pass: they may wait for it.
func (r *Reconciler) neighborsOn(ctx context.Context, on []network.Attachment, of ...types.NamespacedName) []reconcile.Request {
	found, err := r.clustersOn(ctx, on)
	if err != nil {
		return r.everyCluster(ctx, nil)
	}
	var out []reconcile.Request
	for key := range found {
		out = append(out, reconcile.Request{NamespacedName: key})
	}
	for _, key := range of {
		for _, req := range r.neighborhoods.around(key) {
			if _, known := found[req.NamespacedName]; !known {
				out = append(out, req)
			}
		}
	}
	return out
}

// neighborsOfHostedCluster are the clusters on o's networks, and those that had it as a neighbor. If o was
// deleted, its networks are unknown.
func (r *Reconciler) neighborsOfHostedCluster(ctx context.Context, o client.Object) []reconcile.Request {
	hc := &lenient.HostedCluster{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(o), hc)
	if apierrors.IsNotFound(err) {
		return r.neighborhoods.around(client.ObjectKeyFromObject(o))
	}
	if err != nil {
		return r.everyCluster(ctx, nil)
	}
	objects := hcp.Objects{HostedCluster: &hc.Fields.HostedCluster}
	if r.gatherAttached(ctx, &objects) != nil {
		return r.everyCluster(ctx, nil)
	}
	serves, _, _, err := r.planInForce(ctx, objects.HostedCluster)
	if err != nil {
		return r.everyCluster(ctx, nil)
	}
	return r.neighborsOn(ctx, hcp.NetworksOf(objects, serves), client.ObjectKeyFromObject(o))
}

// neighborsOfNodePool uses o itself, as it may be deleted.
func (r *Reconciler) neighborsOfNodePool(ctx context.Context, o client.Object) []reconcile.Request {
	np, ok := o.(*lenient.NodePool)
	if !ok {
		return nil
	}
	hc := &hyperv1.HostedCluster{}
	hc.Namespace, hc.Name = np.Namespace, hcp.ClusterOf(np)
	used := hcp.UsedNADs(hcp.Objects{HostedCluster: hc, NodePools: []hyperv1.NodePool{*np.Fields}})
	return r.neighborsOn(ctx, used, client.ObjectKeyFromObject(hc))
}

// neighborsOfPlan are the other clusters on the networks of a plan in force.
func (r *Reconciler) neighborsOfPlan(ctx context.Context, o client.Object) []reconcile.Request {
	its := r.inNamespace(ctx, o)
	var of []types.NamespacedName
	for _, req := range its {
		of = append(of, req.NamespacedName)
	}
	return slices.DeleteFunc(r.neighborsOn(ctx, storedPlan(o).Attachments(), of...), func(req reconcile.Request) bool { return slices.Contains(its, req) })
}

// ofDefinition: an edge NAD is for the cluster of its control plane namespace. Any other NAD
// is for the clusters that use it, and for their neighbors on its network. Of a NAD that changed,
// the network before and the network after count.
func (r *Reconciler) ofDefinition(ctx context.Context, o client.Object) []reconcile.Request {
	if isOwn(o) {
		return r.ownOf(definitionKind)(ctx, o)
	}
	a := network.Attachment{Namespace: o.GetNamespace(), Name: o.GetName()}
	if nad, ok := o.(*lenient.NetworkAttachmentDefinition); ok {
		a.Layer2 = hcp.Layer2(*nad.Fields)
	}
	return r.neighborsOn(ctx, []network.Attachment{a})
}

// concernsNeighbors passes events that may change which addresses a cluster wants or has. A
// changed plan passes planChanges. All that exists when the operator starts is
// reconciled anyway.
var concernsNeighbors = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return before.GetGeneration() != after.GetGeneration() || !maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
			before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() || neighborStatusOf(before) != neighborStatusOf(after)
	},
}

// planChanges passes changes of the plan in force in a ConfigMap.
var planChanges = predicate.Funcs{
	CreateFunc: concernsNeighbors.Create,
	UpdateFunc: func(e event.UpdateEvent) bool { return planText(e.ObjectOld) != planText(e.ObjectNew) },
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
	if c := conditionOf(&hc.Fields.HostedCluster); c != nil {
		s.ready, s.reason, s.generation = c.Status, c.Reason, c.ObservedGeneration
	}
	return s
}
