// This file applies what is desired: every write except that of the condition, with one field
// owner. It decides only the order, and never changes an object of others. remove.go removes objects.

package controllers

import (
	"context"
	"errors"
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
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network"
)

// An outcome is how things are after a decision was carried out.
type outcome struct {
	// edges are all Deployments of ours that stay, as the API server has them now.
	edges []Edge
	// unfinished says that the decision is not fully carried out yet, and nothing is reported.
	unfinished bool
	// problems are those of what remains of a hosted cluster that leaves.
	problems network.Problems
	again    time.Duration
	// failed are the objects that the API server did not take.
	failed []*writeError
}

func (r *Reconciler) apply(ctx context.Context, w world, d decision) (outcome, error) {
	switch d.action {
	case serve:
		return r.serve(ctx, w, d)
	case remove:
		return r.remove(ctx, w)
	case keep:
		return outcome{edges: w.edges, again: d.again}, r.announceRemoval(ctx, w, d)
	case leave:
		return outcome{edges: w.edges, again: d.again}, errors.Join(r.restrict(ctx, w, d), r.lead(ctx, w, d.leading))
	case ignore:
		if !w.HostedCluster.DeletionTimestamp.IsZero() {
			return r.giveBackDeleted(ctx, w), nil
		}
	}
	return outcome{edges: w.edges, again: d.again}, nil
}

// restrict writes what restricts the edges of the plan in force.
func (r *Reconciler) restrict(ctx context.Context, w world, d decision) error {
	if w.binding == nil && len(w.owned) > 0 && w.hasControlPlane() {
		if _, err := r.write(ctx, controlPlaneBinding(w, r.Options)); err != nil {
			return err
		}
	}
	for _, want := range d.desired {
		changed, err := r.write(ctx, want.DeepCopy())
		if err != nil {
			return err
		}
		if changed {
			logr.FromContextOrDiscard(ctx).Info("plan in force changed, though the new one is not applied", "kind", want.GetKind(), "name", want.GetName())
		}
	}
	return nil
}

// serve first binds the operator's own rights in the namespace; until they hold,
// nothing else can be written.
func (r *Reconciler) serve(ctx context.Context, w world, d decision) (outcome, error) {
	if _, err := r.write(ctx, controlPlaneBinding(w, r.Options)); err != nil {
		return outcome{edges: w.edges}, err
	}
	if w.binding == nil {
		return outcome{unfinished: true, again: whileBinding}, nil
	}
	done := map[disruption]bool{}
	defer r.announceDisruptions(w, d, func(x disruption) bool { return done[disruption{kind: x.kind, name: x.name}] })
	o := outcome{again: d.again}
	log := logr.FromContextOrDiscard(ctx)
	for _, want := range d.desired {
		if want.GroupVersionKind() == deploymentKind && d.does(want.GetName(), rollout.Hold) || o.lacksFor(want) {
			o.keep(w, want)
			continue
		}
		u := want.DeepCopy()
		changed, err := r.write(ctx, u)
		if err != nil && ofOneObject(err) {
			o.failed = append(o.failed, writeErrors(err)...)
			o.keep(w, want)
			continue
		}
		if err != nil {
			return outcome{edges: w.edges}, err
		}
		if changed {
			logApplied(log, d, u, w.holds(u))
		}
		done[disruption{kind: u.GroupVersionKind(), name: u.GetName()}] = true
		if u.GroupVersionKind() == deploymentKind {
			edge := appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &edge); err != nil {
				return outcome{edges: w.edges}, fmt.Errorf("reading back Deployment %s: %w", u.GetName(), err)
			}
			o.edges = append(o.edges, edgeOf(r.observed.settled(edge)))
		}
	}
	for _, live := range w.edges {
		if d.does(live.Name, rollout.Keep) {
			o.edges = append(o.edges, live)
		}
	}
	leases, removed, unread := r.leasesToCheck(ctx, w, d)
	w.owned = slices.Concat(w.owned, leases)
	_, err := r.prune(ctx, slices.DeleteFunc(obsolete(w, d), o.needs), func(o metav1.PartialObjectMetadata) {
		logRemoved(log, d, o)
		done[disruption{kind: o.GroupVersionKind(), name: o.Name}] = true
	})
	if unread == nil && err == nil {
		removed()
	}
	return o, errors.Join(o.err(), unread, err, r.lead(ctx, w, d.leading))
}

// write applies u unless it is there as desired, and leaves in u what the API server has. changed says
// whether that differs from what was there.
func (r *Reconciler) write(ctx context.Context, u *unstructured.Unstructured) (changed bool, err error) {
	key, desired := ownKeyOf(u.GroupVersionKind(), u), withHash(u)
	live, err := r.liveForWrite(ctx, key)
	if err != nil {
		return false, notApplied(u, err)
	}
	if owners := controlPlanesOf(u); live != nil && !slices.ContainsFunc(owners, func(name string) bool { return isOf(live, name) }) {
		return false, notApplied(u, errNotOwn)
	}
	if live != nil && (asDesired(live, desired) || r.writes.accepts(key, fingerprint(live, desired))) {
		u.Object = live.Object
		return false, nil
	}
	if bindsOtherRole(live, desired) {
		if err := r.delete(ctx, metadataOf(key.kind, live)); err != nil {
			return false, err
		}
		live = nil
	}
	u.Object = desired.DeepCopy().Object
	err = inTime(ctx, func(ctx context.Context) error {
		return r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(wire.Owner), client.ForceOwnership)
	})
	if err != nil {
		return false, notApplied(u, err)
	}
	r.writes.wrote(key, u, r.Now())
	if r.writes.accept(key, ""); !asDesired(u, desired) {
		r.writes.accept(key, fingerprint(u, desired))
	}
	if live != nil && live.GetUID() == u.GetUID() && live.GetResourceVersion() == u.GetResourceVersion() {
		return false, nil
	}
	r.Metrics.wrote(u.GetKind())
	return true, nil
}

// liveForWrite is the object that a write would change, nil where there is none. Before an object is
// created, the API server has the last word.
func (r *Reconciler) liveForWrite(ctx context.Context, key ownKey) (*unstructured.Unstructured, error) {
	o, err := r.readOwn(ctx, key)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return r.learn(ctx, key)
	}
	var fields any = o
	if nad, ok := o.(*lenient.NetworkAttachmentDefinition); ok {
		fields = nad.Fields
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(fields)
	if err != nil {
		return nil, fmt.Errorf("comparing %s %s: %w", key.kind.Kind, key.NamespacedName, err)
	}
	u := &unstructured.Unstructured{Object: object}
	u.SetGroupVersionKind(key.kind)
	return u, nil
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

// reportLeases are the names of the Leases that the Deployments d wants report to.
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
