// Package apply carries out decisions. It does all writes except the condition and the stored Report, with one field
// owner. It decides only the order, and never changes an object that is not oooi's.
package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network/metrics"
	"github.com/cldmnky/oooi/network/problem"
)

// An Outcome is the state after a decision was carried out.
type Outcome struct {
	// Edges are all Deployments of oooi that stay, as the API server has them now.
	Edges []gather.Edge
	// Unfinished is true if the decision is not fully carried out yet. Then nothing is reported.
	Unfinished bool
	// Problems are about objects that remain while all objects of a hosted cluster are removed.
	Problems problem.Problems
	Again    time.Duration
	// failed are the objects that the API server did not accept.
	failed []*WriteError
}

// A Writer carries out decisions for hosted clusters.
type Writer struct {
	gather.Reader
	// Account is the operator's own ServiceAccount, to which it binds ControlPlaneRole.
	Account types.NamespacedName
	Events  events.EventRecorder
	Metrics metrics.Set
	Memory  *Memory
}

// Apply carries out d, the decision about w.
func (r Writer) Apply(ctx context.Context, w gather.World, d decide.Decision) (Outcome, error) {
	switch d.Action {
	case decide.Serve:
		return r.serve(ctx, w, d)
	case decide.Remove:
		return r.remove(ctx, w)
	case decide.Keep:
		return Outcome{Edges: w.Edges, Again: d.Again}, r.announceRemoval(ctx, w, d)
	case decide.Leave:
		return Outcome{Edges: w.Edges, Again: d.Again}, errors.Join(r.restrict(ctx, w, d), r.lead(ctx, w, d.Leading))
	case decide.Ignore:
		if !w.HostedCluster.DeletionTimestamp.IsZero() {
			return r.giveBackDeleted(ctx, w), nil
		}
	}
	return Outcome{Edges: w.Edges, Again: d.Again}, nil
}

// restrict writes the objects that restrict or protect the edges of the plan in force, and removes those that d removes.
func (r Writer) restrict(ctx context.Context, w gather.World, d decide.Decision) error {
	if w.Binding == nil && len(w.Owned) > 0 && w.HasControlPlane() {
		if _, err := r.Write(ctx, own.Binding(w.ControlPlane, r.Account)); err != nil {
			return err
		}
	}
	for _, want := range d.Desired {
		changed, err := r.Write(ctx, want.DeepCopy())
		if err != nil {
			return err
		}
		if changed {
			logr.FromContextOrDiscard(ctx).Info("object of the plan in force changed, though the new plan is not applied", "kind", want.GetKind(), "name", want.GetName())
		}
	}
	done := map[own.Key]bool{}
	defer r.announceDisruptions(w, d, done)
	return r.removeAll(ctx, d, d.Removed, done)
}

// removeAll prunes objects, logs each deletion, and adds it to done.
func (r Writer) removeAll(ctx context.Context, d decide.Decision, objects []metav1.PartialObjectMetadata, done map[own.Key]bool) error {
	_, err := r.prune(ctx, objects, func(o metav1.PartialObjectMetadata) {
		logRemoved(logr.FromContextOrDiscard(ctx), d, o)
		done[own.KeyOf(o.GroupVersionKind(), &o)] = true
	})
	return err
}

// serve applies the desired objects and removes others. First, it binds the operator's own rights in the namespace.
// Until they are in effect, it can write nothing else.
func (r Writer) serve(ctx context.Context, w gather.World, d decide.Decision) (Outcome, error) {
	if _, err := r.Write(ctx, own.Binding(w.ControlPlane, r.Account)); err != nil {
		return Outcome{Edges: w.Edges}, err
	}
	if w.Binding == nil {
		return Outcome{Unfinished: true, Again: whileBinding}, nil
	}
	done := map[own.Key]bool{}
	defer r.announceDisruptions(w, d, done)
	o := Outcome{Again: d.Again}
	log := logr.FromContextOrDiscard(ctx)
	for _, want := range d.Desired {
		if want.GroupVersionKind() == own.DeploymentKind && d.Does(want.GetName(), rollout.Hold) || o.lacksFor(want) {
			o.keep(w, want)
			continue
		}
		u := want.DeepCopy()
		changed, err := r.Write(ctx, u)
		if err != nil && (errors.Is(err, own.ErrForeign) || requests.OfOneObject(err)) {
			o.failed = append(o.failed, writeErrors(err)...)
			o.keep(w, want)
			continue
		}
		if err != nil {
			return Outcome{Edges: w.Edges}, err
		}
		if changed {
			logApplied(log, d, u, exists(w, u))
		}
		done[own.KeyOf(u.GroupVersionKind(), u)] = true
		if u.GroupVersionKind() == own.DeploymentKind {
			edge := appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &edge); err != nil {
				return Outcome{Edges: w.Edges}, fmt.Errorf("reading back Deployment %s: %w", u.GetName(), err)
			}
			o.Edges = append(o.Edges, gather.EdgeOf(r.Observed.Settled(edge)))
		}
	}
	for _, live := range w.Edges {
		if d.Does(live.Name, rollout.Keep) {
			o.Edges = append(o.Edges, live)
		}
	}
	leases, removed, unread := r.leasesToCheck(ctx, w, d)
	w.Owned = slices.Concat(w.Owned, leases)
	err := r.removeAll(ctx, d, slices.DeleteFunc(obsolete(w, d), o.needs), done)
	if unread == nil && err == nil {
		removed()
	}
	return o, errors.Join(o.err(), unread, err, r.lead(ctx, w, d.Leading))
}

// Write applies u if it differs from the existing object, and stores the result in u. changed is true if the object in
// the API server changed.
func (r Writer) Write(ctx context.Context, u *unstructured.Unstructured) (changed bool, err error) {
	key, desired := own.KeyOf(u.GroupVersionKind(), u), own.WithHash(u)
	live, err := r.liveForWrite(ctx, key)
	if err != nil {
		return false, notApplied(u, err)
	}
	if owners := own.ControlPlanesOf(u); live != nil && !slices.ContainsFunc(owners, func(name string) bool { return own.IsOf(live, name) }) {
		return false, notApplied(u, own.ErrForeign)
	}
	if live != nil && (own.AsDesired(live, desired) || r.Writes.Accepts(key, own.Fingerprint(live, desired))) {
		u.Object = live.Object
		return false, nil
	}
	if own.BindsOtherRole(live, desired) {
		if err := r.delete(ctx, own.MetadataOf(key.Kind, live)); err != nil {
			return false, err
		}
		live = nil
	}
	u.Object = desired.DeepCopy().Object
	err = requests.InTime(ctx, func(ctx context.Context) error {
		return r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(wire.Owner), client.ForceOwnership)
	})
	if err != nil {
		return false, notApplied(u, err)
	}
	r.Writes.Wrote(key, u, r.Now())
	if r.Writes.Accept(key, ""); !own.AsDesired(u, desired) {
		r.Writes.Accept(key, own.Fingerprint(u, desired))
	}
	if live != nil && live.GetUID() == u.GetUID() && live.GetResourceVersion() == u.GetResourceVersion() {
		return false, nil
	}
	r.Metrics.Counter(metrics.ObjectWrites).WithLabelValues(u.GetKind()).Inc()
	return true, nil
}

// liveForWrite returns the object that a write would change, or nil if the API server has none.
func (r Writer) liveForWrite(ctx context.Context, key own.Key) (*unstructured.Unstructured, error) {
	o, err := r.Read(ctx, key)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return r.Learn(ctx, key)
	}
	var fields any = o
	if nad, ok := o.(*lenient.NetworkAttachmentDefinition); ok {
		fields = nad.Fields
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(fields)
	if err != nil {
		return nil, fmt.Errorf("comparing %s %s: %w", key.Kind.Kind, key.NamespacedName, err)
	}
	u := &unstructured.Unstructured{Object: object}
	u.SetGroupVersionKind(key.Kind)
	return u, nil
}

// obsolete returns the objects of oooi that d does not want. Leases and reports, which edges write, are wanted if their
// network or their Deployment is.
func obsolete(w gather.World, d decide.Decision) []metav1.PartialObjectMetadata {
	networks, reports := map[string]bool{}, d.ReportLeases()
	for _, n := range d.Plan.Networks {
		networks[wire.NetworkLabel(n.Name)] = true
	}
	return slices.DeleteFunc(slices.Clone(w.Owned), func(o metav1.PartialObjectMetadata) bool {
		switch {
		case o.GroupVersionKind() == own.LeaseKind && o.Labels[wire.LabelName] == wire.NameReport:
			return reports[o.Name]
		case o.GroupVersionKind() == own.LeaseKind:
			return networks[o.Labels[wire.LabelNetwork]]
		}
		wanted := slices.ContainsFunc(d.Desired, func(u *unstructured.Unstructured) bool { return same(u, o) })
		return wanted || o.GroupVersionKind() == own.DeploymentKind && d.Does(o.Name, rollout.Keep)
	})
}

// same reports whether o is the object u.
func same(u *unstructured.Unstructured, o metav1.PartialObjectMetadata) bool {
	return own.KeyOf(u.GroupVersionKind(), u) == own.KeyOf(o.GroupVersionKind(), &o)
}

func exists(w gather.World, u *unstructured.Unstructured) bool {
	return slices.ContainsFunc(w.Owned, func(o metav1.PartialObjectMetadata) bool { return same(u, o) })
}

// reasonDisruption is the reason of the Event before connections are reset.
const reasonDisruption = "Disruption"

// announceDisruptions emits an Event about each disruption whose object is in done, once. A write that the API server
// refuses announces nothing.
func (r Writer) announceDisruptions(w gather.World, d decide.Decision, done map[own.Key]bool) {
	var texts []string
	ns := hcp.ControlPlaneNamespace(w.HostedCluster)
	for _, c := range d.Disruptions {
		if done[own.Key{Kind: c.Kind, NamespacedName: types.NamespacedName{Namespace: ns, Name: c.Name}}] {
			texts = append(texts, c.Text)
		}
	}
	if len(texts) > 0 {
		r.Events.Eventf(w.HostedCluster, nil, corev1.EventTypeNormal, reasonDisruption, ActionServe, "%s", explain.Disruptions(texts))
	}
}

// announceRemoval stores the deadline of d, and emits an Event about it.
func (r Writer) announceRemoval(ctx context.Context, w gather.World, d decide.Decision) error {
	for _, want := range d.Desired {
		if _, err := r.Write(ctx, want.DeepCopy()); err != nil {
			return err
		}
		logr.FromContextOrDiscard(ctx).Info("removal announced", "after", want.GetAnnotations()[decide.RemovalAnnotation])
		for _, p := range d.Problems {
			if p.Reason == problem.RemovalScheduled {
				r.Events.Eventf(w.HostedCluster, nil, corev1.EventTypeWarning, string(p.Reason), ActionRemove, "%s", explain.Problem(p).String())
			}
		}
	}
	return nil
}

const (
	ActionServe  = "Serve"
	ActionRemove = "Remove"
)

// whileBinding is how long the operator waits for its new rights to take effect.
const whileBinding = 100 * time.Millisecond
