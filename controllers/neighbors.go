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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

// gatherNeighbors reads the requests and the plans in force of the hosted clusters on w's
// networks. One that opted out or is being deleted counts while objects of oooi exist
// there.
func (r *Reconciler) gatherNeighbors(ctx context.Context, w *world) error {
	all := &hyperv1.HostedClusterList{}
	if err := present(r.Client.List(ctx, all, client.UnsafeDisableDeepCopy)); err != nil {
		return err
	}
	ours := hcp.AttachedNetworks(w.Objects)
	for i := range all.Items {
		hc := &all.Items[i]
		if clusterName(hc) == clusterName(w.HostedCluster) || !ofOurs(hc) {
			continue
		}
		o := hcp.Objects{HostedCluster: hc, Nodes: w.Nodes, Management: w.Management, Proxy: w.Proxy, MultusIsolates: w.MultusIsolates, Permissions: w.Permissions}
		if err := r.gatherAttached(ctx, &o); err != nil {
			return err
		}
		goes := !hc.DeletionTimestamp.IsZero() || !hcp.OptedIn(hc)
		if !goes && !meet(ours, hcp.AttachedNetworks(o)) {
			continue
		}
		serves, unread, err := r.servedIn(ctx, hcp.ControlPlaneNamespace(hc))
		if err != nil {
			return fmt.Errorf("reading what is served to %s: %w", clusterName(hc), err)
		}
		if err := r.gatherPublished(ctx, &o); err != nil {
			return err
		}
		if n, ok := hcp.OtherCluster(w.Objects, o, serves); ok {
			w.others = append(w.others, n)
			w.unread = append(w.unread, unread...)
		}
	}
	slices.SortFunc(w.others, func(a, b network.OtherCluster) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// servedIn is the plan in force in ns. The operator has rights there only after it had to
// create an object.
func (r *Reconciler) servedIn(ctx context.Context, ns string) (network.Plan, network.Problems, error) {
	binding, err := r.ownedByName(ctx, roleBindingKind, ns, ControlPlaneRole)
	if err != nil || len(binding) == 0 {
		return network.Plan{}, nil, err
	}
	return r.planInForce(ctx, ns)
}

// meet reports whether a and b have a network in common.
func meet(a, b []network.Attachment) bool {
	return slices.ContainsFunc(a, func(x network.Attachment) bool { return slices.ContainsFunc(b, x.SameNetwork) })
}

// neighborsOf are the clusters that share a network with o, and those of which a network
// waits for another cluster: they may wait for this change.
func (r *Reconciler) neighborsOf(ctx context.Context, o hcp.Objects) []reconcile.Request {
	if err := r.gatherDefinitions(ctx, &o); err != nil {
		return nil
	}
	changed := hcp.AttachedNetworks(o)
	return r.clusters(ctx, func(hc *hyperv1.HostedCluster) bool {
		if r.memory.of(client.ObjectKeyFromObject(hc)).shared {
			return true
		}
		other := hcp.Objects{HostedCluster: hc}
		return r.gatherAttached(ctx, &other) == nil && meet(changed, hcp.AttachedNetworks(other))
	})
}

// neighborsOfHostedCluster are the neighbors of o, or all clusters if o was deleted: its
// networks are unknown then.
func (r *Reconciler) neighborsOfHostedCluster(ctx context.Context, o client.Object) []reconcile.Request {
	hc := &hyperv1.HostedCluster{}
	if apierrors.IsNotFound(r.Client.Get(ctx, client.ObjectKeyFromObject(o), hc)) {
		return r.clusters(ctx, func(*hyperv1.HostedCluster) bool { return true })
	}
	objects := hcp.Objects{HostedCluster: hc}
	if r.gatherAttached(ctx, &objects) != nil {
		return nil
	}
	return r.neighborsOf(ctx, objects)
}

// neighborsOfNodePool uses o itself, as it may be deleted.
func (r *Reconciler) neighborsOfNodePool(ctx context.Context, o client.Object) []reconcile.Request {
	np, ok := o.(*hyperv1.NodePool)
	if !ok {
		return nil
	}
	hc := &hyperv1.HostedCluster{}
	hc.Namespace, hc.Name = np.Namespace, np.Spec.ClusterName
	return r.neighborsOf(ctx, hcp.Objects{HostedCluster: hc, NodePools: []hyperv1.NodePool{*np}})
}

// concernsNeighbors passes events that may change which addresses a cluster wants or has. A
// changed plan is sent by planChanged. All that exists when the operator starts is
// reconciled anyway.
var concernsNeighbors = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return before.GetGeneration() != after.GetGeneration() || !maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
			before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() || neighborStatusOf(before) != neighborStatusOf(after)
	},
}

// A neighborStatus is the part of a HostedCluster's status that its neighbors depend on.
type neighborStatus struct {
	api        hyperv1.APIEndpoint
	ready      metav1.ConditionStatus
	reason     string
	generation int64
}

func neighborStatusOf(o client.Object) neighborStatus {
	hc, ok := o.(*hyperv1.HostedCluster)
	if !ok {
		return neighborStatus{}
	}
	s := neighborStatus{api: hc.Status.ControlPlaneEndpoint}
	if c := conditionOf(hc); c != nil {
		s.ready, s.reason, s.generation = c.Status, c.Reason, c.ObservedGeneration
	}
	return s
}

// planChanged triggers a reconcile of hc's neighbors, since its plan in force changed.
func (r *Reconciler) planChanged(ctx context.Context, hc *hyperv1.HostedCluster) {
	if r.plans == nil {
		return
	}
	select {
	case r.plans <- event.GenericEvent{Object: hc}:
	case <-ctx.Done():
	}
}
