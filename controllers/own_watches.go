// This file decides which HostedClusters are reconciled after changes of objects of oooi.

package controllers

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/watch"
)

// ownWithin is Watched.Within for objects of oooi that another client may change very often.
const ownWithin = time.Second

// ownWatches returns the watches of objects that oooi writes, except NADs and Leases.
func (r *Reconciler) ownWatches() []watch.Watched {
	out := []watch.Watched{
		{Object: &corev1.ConfigMap{}, Clusters: r.neighborsOfPlan, Predicates: []predicate.Predicate{planChanges}},
		{Object: &policyv1.PodDisruptionBudget{}, Clusters: r.ownOf(own.BudgetKind), Within: ownWithin},
		{Object: &appsv1.Deployment{}, Clusters: r.ownOf(own.DeploymentKind)},
	}
	for _, x := range own.Names() {
		w := watch.Watched{Object: x.Object, Clusters: r.ownOf(x.Kind), Within: ownWithin}
		if x.Second {
			w.Cache = r.SecondNames
		}
		out = append(out, w)
	}
	return out
}

// ownOf returns a function that finds the clusters for an object of kind in a control plane namespace. It also
// records that the cache shows the object.
func (r *Reconciler) ownOf(kind schema.GroupVersionKind) func(context.Context, client.Object) []reconcile.Request {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		key := own.KeyOf(kind, o)
		cached, err := r.own().Cached(ctx, key)
		gone := err == nil && cached == nil
		if r.writes.Seen(key, o, gone); gone {
			r.observed.Forget(key.NamespacedName)
		}
		return r.inNamespace(ctx, o)
	}
}
