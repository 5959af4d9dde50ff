// This file removes objects of oooi: those that are no longer desired, or all of a hosted cluster. It decides only
// the order, so that no edge runs without an object that it needs.

package apply

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network/problem"
)

const (
	// whileRemoving is the time until the next pass if this one deleted something: a terminating edge may write a Lease meanwhile.
	whileRemoving = 2 * time.Second
	// whileTerminating is the time until the next pass if this one deleted nothing, because finalizers keep the
	// remaining objects.
	whileTerminating = 10 * time.Second
)

// remove deletes all objects of oooi. Once a later pass finds no other object, it deletes the operator's own rights.
// Until then, a terminating edge may write a lease.
func (r Writer) remove(ctx context.Context, w gather.World) (Outcome, error) {
	if w.Binding == nil {
		return r.bindToRemove(ctx, w)
	}
	back := r.giveAllBack(ctx, r.Live, w)
	all, err := r.liveOwned(ctx, w)
	if err != nil {
		return Outcome{Edges: w.Edges}, errors.Join(err, back)
	}
	if len(all) == 0 && back == nil {
		return Outcome{}, r.delete(ctx, *w.Binding)
	}
	log, o := logr.FromContextOrDiscard(ctx), Outcome{Again: whileTerminating}
	left, err := r.prune(ctx, all, func(x metav1.PartialObjectMetadata) {
		o.Again = whileRemoving
		logRemoved(log, decide.Decision{}, x)
	})
	for _, e := range w.Edges {
		if slices.ContainsFunc(left, func(x metav1.PartialObjectMetadata) bool { return isEdge(x) && x.Name == e.Name }) {
			o.Edges = append(o.Edges, e)
		}
	}
	o.Problems = problem.Problems{removing(left)}
	return o, errors.Join(err, back)
}

// bindToRemove restores the operator's rights if another client removed them while objects of oooi are left.
func (r Writer) bindToRemove(ctx context.Context, w gather.World) (Outcome, error) {
	if len(w.Owned) == 0 && !w.Led {
		return Outcome{}, nil
	}
	if err := r.ReadControlPlane(ctx, &w); err != nil || w.ControlPlane == nil {
		// Without a control plane, the objects are deleted with their owner.
		return Outcome{Edges: w.Edges}, err
	}
	_, err := r.Write(ctx, own.Binding(w.ControlPlane, r.Account))
	return Outcome{Edges: w.Edges, Unfinished: true, Again: whileBinding}, err
}

func removing(left []metav1.PartialObjectMetadata) problem.Problem {
	var objects, finalizers []string
	for _, o := range left {
		if terminates(o) {
			objects, finalizers = append(objects, o.Kind+" "+o.Name), append(finalizers, o.Finalizers...)
		}
	}
	if len(objects) == 0 {
		return problem.New(problem.RemovalRunning, problem.Subject{}, nil)
	}
	slices.Sort(finalizers)
	return problem.New(problem.RemovalHeld, problem.Subject{},
		problem.Args{"objects": objects, "finalizers": slices.Compact(finalizers)})
}

// prune deletes edges before the objects that they depend on, then the rights to write leases, then the leases. It
// calls gone for each deletion. left are the objects that remain: finalizers keep them, their deletion failed, or
// another remaining object depends on them.
func (r Writer) prune(
	ctx context.Context, objects []metav1.PartialObjectMetadata, gone func(metav1.PartialObjectMetadata),
) (left []metav1.PartialObjectMetadata, err error) {
	order := []string{
		own.DeploymentKind.Kind, own.BudgetKind.Kind, own.ServiceKind.Kind, own.NetworkPolicyKind.Kind, own.RoleBindingKind.Kind, own.RoleKind.Kind,
		own.ServiceAccountKind.Kind, own.DefinitionKind.Kind, own.ConfigMapKind.Kind, own.LeaseKind.Kind,
	}
	sorted := slices.SortedStableFunc(slices.Values(objects), func(a, b metav1.PartialObjectMetadata) int {
		return cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind))
	})
	var all []error
	for _, o := range sorted {
		if terminates(o) || slices.ContainsFunc(left, func(x metav1.PartialObjectMetadata) bool { return dependsOn(x, o) }) {
			left = append(left, o)
			continue
		}
		if err := r.delete(ctx, o); err != nil {
			left, all = append(left, o), append(all, err)
			continue
		}
		if gone(o); len(o.Finalizers) > 0 {
			left = append(left, o)
		}
	}
	return left, errors.Join(all...)
}

// terminates reports whether o is being deleted. Finalizers still keep it.
func terminates(o metav1.PartialObjectMetadata) bool { return !o.DeletionTimestamp.IsZero() }

func isEdge(o metav1.PartialObjectMetadata) bool { return o.GroupVersionKind() == own.DeploymentKind }

// dependsOn reports whether o needs other to serve or to write leases. An edge needs all objects of its network and
// of its cluster, except its budget, objects that admit pods, and other edges.
func dependsOn(o, other metav1.PartialObjectMetadata) bool {
	switch other.GroupVersionKind() {
	case own.DeploymentKind, own.BudgetKind, own.ServiceKind:
		return false
	case own.NetworkPolicyKind:
		return isEdge(o) && other.Name == desired.EdgePolicy
	case own.DefinitionKind, own.LeaseKind:
		return isEdge(o) && o.Labels[wire.LabelNetwork] == other.Labels[wire.LabelNetwork]
	}
	return isEdge(o)
}

// delete removes o with its UID as a precondition, so that another object of that name stays.
func (r Writer) delete(ctx context.Context, o metav1.PartialObjectMetadata) error {
	opts := []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}
	if o.UID != "" {
		opts = append(opts, client.Preconditions{UID: &o.UID})
	}
	if err := client.IgnoreNotFound(requests.InTime(ctx, func(ctx context.Context) error { return r.Client.Delete(ctx, &o, opts...) })); err != nil {
		return &WriteError{"removing", o, err}
	}
	r.rememberDeleted(ctx, o)
	return nil
}

// rememberDeleted remembers that o was deleted, until a cache shows the deletion. If the cache does not have o, there
// is nothing to wait for. Either the cache has already seen the deletion, or it does not hold objects of this kind.
func (r Writer) rememberDeleted(ctx context.Context, o metav1.PartialObjectMetadata) {
	key := own.KeyOf(o.GroupVersionKind(), &o)
	if r.Writes.Deleted(key, &o, r.Now()) {
		// The cache may lack o because it has not seen the write of o yet.
		return
	}
	if cached, err := r.Cached(ctx, key); err == nil && cached == nil {
		r.Writes.Forget(key)
	}
}
