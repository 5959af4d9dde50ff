// This file decides when failed requests are a problem of their hosted cluster, and which objects depend on an object
// that was not written. It is pure.

package apply

import (
	"cmp"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network/problem"
)

// A WriteError is about one object that the API server did not accept.
type WriteError struct {
	// Verb is "applying" or "removing".
	Verb   string
	Object metav1.PartialObjectMetadata
	Err    error
}

// Error implements error.
func (e *WriteError) Error() string {
	return e.Verb + " " + e.Object.Kind + " " + e.Object.Namespace + "/" + e.Object.Name + ": " + e.Err.Error()
}

// Unwrap lets errors.Is and errors.As find the cause.
func (e *WriteError) Unwrap() error { return e.Err }

func notApplied(u *unstructured.Unstructured, err error) *WriteError {
	o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: u.GetNamespace(), Name: u.GetName(), Labels: u.GetLabels()}}
	o.SetGroupVersionKind(u.GroupVersionKind())
	return &WriteError{"applying", o, err}
}

// blocks reports whether u needs e's object. Edges need their plan, account, rights and egress policy, and the NADs
// of their network. Other objects need nothing.
func (e *WriteError) blocks(u *unstructured.Unstructured) bool {
	switch {
	case u.GroupVersionKind() != own.DeploymentKind:
		return false
	case e.Object.GroupVersionKind() == own.DefinitionKind:
		return e.ofNetwork(u.GetLabels()[wire.LabelNetwork])
	}
	return e.ofAll()
}

// ofAll reports whether all edges of the cluster need e's object.
func (e *WriteError) ofAll() bool {
	kinds := []string{own.ServiceAccountKind.Kind, own.RoleKind.Kind, own.RoleBindingKind.Kind, own.ConfigMapKind.Kind, own.NetworkPolicyKind.Kind}
	return slices.Contains(kinds, e.Object.Kind) && e.Object.Name != wire.AccessObject
}

func (e *WriteError) ofNetwork(label string) bool { return e.Object.Labels[wire.LabelNetwork] == label }

func writeErrors(err error) []*WriteError { return requests.ErrorsOf[*WriteError](err) }

// Failures returns the problems in err, the error of a failed pass: one for each object that was not written or
// removed, and one for each kind that is not watched. If there are none, it returns the problem that a read failed.
func Failures(err error) problem.Problems {
	var out problem.Problems
	for _, e := range writeErrors(err) {
		subject := problem.Subject{Kind: e.Object.Kind, Namespace: e.Object.Namespace, Name: e.Object.Name}
		switch {
		case errors.Is(e.Err, own.ErrForeign):
			out = append(out, problem.New(problem.ObjectNotOwned, subject, nil))
		case len(requests.ErrorsOf[*watch.NotWatched](e.Err)) > 0:
		case e.Verb == "removing":
			out = append(out, problem.New(problem.DeleteRefused, subject, problem.Args{"error": {requests.Sentence(e.Err)}}))
		default:
			out = append(out, problem.New(problem.WriteRefused, subject, problem.Args{"error": {requests.Sentence(e.Err)}}))
		}
	}
	for _, e := range requests.ErrorsOf[*watch.NotWatched](err) {
		out = append(out, e.Problem())
	}
	if len(out) == 0 {
		out = append(out, problem.New(problem.ReadFailed, problem.Subject{}, problem.Args{"error": {requests.Sentence(err)}}))
	}
	slices.SortStableFunc(out, func(a, b problem.Problem) int { return cmp.Compare(a.Subject.String(), b.Subject.String()) })
	return out
}

func (o *Outcome) lacksFor(u *unstructured.Unstructured) bool {
	return slices.ContainsFunc(o.failed, func(e *WriteError) bool { return e.blocks(u) })
}

func (o *Outcome) keep(w gather.World, want *unstructured.Unstructured) {
	if live, exists := w.Edge(want.GetName()); exists && want.GroupVersionKind() == own.DeploymentKind {
		o.Edges = append(o.Edges, live)
	}
}

// needs reports whether an obsolete object must stay, because an object of its network, or one that all edges need, was
// not written. That object could be its replacement.
func (o *Outcome) needs(obsolete metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(o.failed, func(e *WriteError) bool {
		return e.ofAll() || e.ofNetwork(obsolete.Labels[wire.LabelNetwork])
	})
}

func (o *Outcome) err() error {
	var all []error
	for _, e := range o.failed {
		all = append(all, e)
	}
	return errors.Join(all...)
}

// Failed returns d as it must be reported after the pass failed. If the plan was not written, or an object that all
// edges need, d counts as not applied. A removal is not announced if its deadline could not be stored.
func Failed(d decide.Decision, w gather.World, problems problem.Problems, err error) decide.Decision {
	errs := writeErrors(err)
	d.Problems = slices.Clone(d.Problems)
	for i, p := range d.Problems {
		if p.Reason == problem.RemovalScheduled && len(d.Desired) > 0 {
			d.Problems[i] = problem.New(problem.RemovalNotStored, p.Subject, problem.Args{"network": p.Args["network"]}, p.Keys...)
		}
	}
	d.Problems = slices.Concat(d.Problems, problems)
	if d.Action == decide.Keep {
		return d
	}
	if d.Action != decide.Serve || len(errs) == 0 || slices.ContainsFunc(errs, (*WriteError).ofAll) {
		d.Action = decide.Leave
	}
	if len(d.Plan.Networks) == 0 {
		d.Plan = w.Last
	}
	return d
}
