// This file holds every write except that of the condition: server-side apply with one field
// owner, and removal of objects of oooi that are no longer desired. It decides only the
// order, and never changes an object without the labels of oooi.

package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
)

// An outcome is how things are after a decision was carried out.
type outcome struct {
	// edges are all Deployments of ours that stay, as the API server has them now.
	edges []Edge
	// unfinished says that the decision is not fully carried out yet.
	unfinished bool
	again      time.Duration
}

func (r *Reconciler) apply(ctx context.Context, w world, d decision) (outcome, error) {
	switch d.action {
	case serve:
		return r.serve(ctx, w, d)
	case remove:
		return r.remove(ctx, w)
	case leave:
		return outcome{edges: w.edges, again: d.again}, r.restrict(ctx, w, d)
	}
	return outcome{edges: w.edges, again: d.again}, nil
}

// restrict writes what restricts the edges of the plan in force.
func (r *Reconciler) restrict(ctx context.Context, w world, d decision) error {
	for _, want := range d.desired {
		if _, err := r.write(ctx, w, want.DeepCopy()); err != nil {
			return err
		}
		logr.FromContextOrDiscard(ctx).Info("plan in force restricted", "kind", want.GetKind(), "name", want.GetName())
	}
	return nil
}

// serve first binds the operator's own rights in the namespace; until they hold,
// nothing else can be written.
func (r *Reconciler) serve(ctx context.Context, w world, d decision) (outcome, error) {
	if _, err := r.write(ctx, w, controlPlaneBinding(w, r.Options)); err != nil {
		return outcome{}, err
	}
	if w.binding == nil {
		return outcome{unfinished: true, again: whileBinding}, nil
	}
	done := map[disruption]bool{}
	defer r.announceDisruptions(w, d, func(x disruption) bool { return done[disruption{kind: x.kind, name: x.name}] })
	o := outcome{again: d.again}
	log := logr.FromContextOrDiscard(ctx)
	for _, want := range d.desired {
		if want.GroupVersionKind() == deploymentKind && d.does(want.GetName(), rollout.Hold) {
			if live, exists := w.edge(want.GetName()); exists {
				o.edges = append(o.edges, live)
			}
			continue
		}
		u := want.DeepCopy()
		changed, err := r.write(ctx, w, u)
		if err != nil {
			return outcome{}, err
		}
		if changed {
			logApplied(log, d, u, w.holds(u))
		}
		if changed && u.GroupVersionKind() == configMapKind {
			r.planChanged(ctx, w.HostedCluster)
		}
		done[disruption{kind: u.GroupVersionKind(), name: u.GetName()}] = true
		if u.GroupVersionKind() == deploymentKind {
			edge := appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &edge); err != nil {
				return outcome{}, fmt.Errorf("reading back Deployment %s: %w", u.GetName(), err)
			}
			o.edges = append(o.edges, edgeOf(edge))
		}
	}
	for _, live := range w.edges {
		if d.does(live.Name, rollout.Keep) {
			o.edges = append(o.edges, live)
		}
	}
	return o, r.prune(ctx, obsolete(w, d), func(o metav1.PartialObjectMetadata) {
		logRemoved(log, d, o)
		done[disruption{kind: o.GroupVersionKind(), name: o.Name}] = true
	})
}

// write applies u and leaves in it what the API server made of it. changed says
// whether that differs from what was read.
func (r *Reconciler) write(ctx context.Context, w world, u *unstructured.Unstructured) (changed bool, err error) {
	err = r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(wire.Owner), client.ForceOwnership)
	if err != nil {
		return false, fmt.Errorf("applying %s %s/%s: %w", u.GetKind(), u.GetNamespace(), u.GetName(), err)
	}
	if w.has(u) {
		return false, nil
	}
	r.Metrics.wrote(u.GetKind())
	return true, nil
}

// has reports whether w holds u in this very version.
func (w world) has(u *unstructured.Unstructured) bool {
	same := func(o metav1.PartialObjectMetadata) bool {
		return o.UID == u.GetUID() && o.ResourceVersion == u.GetResourceVersion()
	}
	return w.binding != nil && same(*w.binding) || slices.ContainsFunc(w.owned, same)
}

// holds reports whether w holds an object of u's kind and name.
func (w world) holds(u *unstructured.Unstructured) bool {
	return slices.ContainsFunc(w.owned, func(o metav1.PartialObjectMetadata) bool {
		return o.GroupVersionKind() == u.GroupVersionKind() && o.Name == u.GetName()
	})
}

// obsolete are the objects of oooi that d does not want. Edges write leases and reports:
// leases are wanted if their network is, reports if their writer is.
func obsolete(w world, d decision) []metav1.PartialObjectMetadata {
	networks, reports := map[string]bool{}, d.reportLeases()
	for _, n := range d.plan.Networks {
		networks[wire.NetworkLabel(n.Name)] = true
	}
	return slices.DeleteFunc(slices.Clone(w.owned), func(o metav1.PartialObjectMetadata) bool {
		switch {
		case o.GroupVersionKind() == leaseKind && o.Labels[wire.LabelName] == wire.NameReport:
			return reports[o.Name]
		case o.GroupVersionKind() == leaseKind:
			return networks[o.Labels[wire.LabelNetwork]]
		}
		wanted := slices.ContainsFunc(d.desired, func(u *unstructured.Unstructured) bool {
			return o.GroupVersionKind() == u.GroupVersionKind() && o.Name == u.GetName()
		})
		return wanted || o.GroupVersionKind() == deploymentKind && d.does(o.Name, rollout.Keep)
	})
}

// reportLeases are the names of the Leases that the Deployments d wants report to. A
// former version's Lease can have the same labels, so they identify none.
func (d decision) reportLeases() map[string]bool {
	wanted := func(deployment string) bool {
		return slices.ContainsFunc(d.desired, func(u *unstructured.Unstructured) bool {
			return u.GroupVersionKind() == deploymentKind && u.GetName() == deployment
		})
	}
	out := map[string]bool{}
	for _, n := range d.plan.Networks {
		out[wire.ACDReport(n).Name] = wanted(wire.ACDDeploymentName(n))
		for _, e := range n.Edges {
			out[wire.EdgeReport(n, e).Name] = wanted(wire.EdgeDeploymentName(n, e))
		}
	}
	return out
}

// remove deletes all objects of oooi. The operator's own rights are removed in a later pass
// that found no other object: a terminating edge may still write a lease.
func (r *Reconciler) remove(ctx context.Context, w world) (outcome, error) {
	if w.binding == nil {
		return outcome{}, nil
	}
	if len(w.owned) > 0 {
		log := logr.FromContextOrDiscard(ctx)
		err := r.prune(ctx, w.owned, func(o metav1.PartialObjectMetadata) { logRemoved(log, decision{}, o) })
		return outcome{unfinished: true, again: whileRemoving}, err
	}
	return outcome{}, r.delete(ctx, *w.binding)
}

// prune deletes edges before what they depend on, then the rights to write leases, then the
// leases. It reports each deletion.
func (r *Reconciler) prune(ctx context.Context, objects []metav1.PartialObjectMetadata, gone func(metav1.PartialObjectMetadata)) error {
	order := []string{
		deploymentKind.Kind, budgetKind.Kind, networkPolicyKind.Kind, roleBindingKind.Kind,
		serviceAccountKind.Kind, definitionKind.Kind, configMapKind.Kind, leaseKind.Kind,
	}
	sorted := slices.SortedStableFunc(slices.Values(objects), func(a, b metav1.PartialObjectMetadata) int {
		return cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind))
	})
	for _, o := range sorted {
		if err := r.delete(ctx, o); err != nil {
			return err
		}
		gone(o)
	}
	return nil
}

// delete removes o as it was read: another object of its name stays.
func (r *Reconciler) delete(ctx context.Context, o metav1.PartialObjectMetadata) error {
	opts := []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}
	if o.UID != "" {
		opts = append(opts, client.Preconditions{UID: &o.UID})
	}
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, &o, opts...)); err != nil {
		return fmt.Errorf("removing %s %s/%s: %w", o.Kind, o.Namespace, o.Name, err)
	}
	return nil
}
