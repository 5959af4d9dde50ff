// This file decides when requests that the API server does not take are a problem of their
// hosted cluster, and which objects need such an object. It is pure.

package controllers

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

const (
	// failsAfter is how long passes must fail until the condition has it. A conflict, or a webhook
	// that restarts, ends before.
	failsAfter = 3 * time.Second
	// sameFailure is how long the condition keeps its words while passes fail with others: an
	// error may have a time or a port in it, and each change triggers another pass.
	sameFailure = 10 * time.Second
)

// A failing is a series of passes of one cluster that failed. Zero: the last one did not.
type failing struct {
	// since is the time of the first pass.
	since time.Time
	// said are the problems that the condition has or will have first, and saidAt is since when.
	said   network.Problems
	saidAt time.Time
}

// next is f after a pass that failed with these problems at time now.
func (f failing) next(problems network.Problems, now time.Time) failing {
	if f.since.IsZero() {
		f.since = now
	}
	if !f.lasts(now) || now.Sub(f.saidAt) >= sameFailure {
		f.said, f.saidAt = problems, now
	}
	return f
}

// lasts reports whether f is a problem at time now.
func (f failing) lasts(now time.Time) bool { return now.Sub(f.since) >= failsAfter }

// A writeError is one object that the API server did not take.
type writeError struct {
	// verb is "applying" or "removing".
	verb   string
	object metav1.PartialObjectMetadata
	err    error
}

func (e *writeError) Error() string {
	return e.verb + " " + e.object.Kind + " " + e.object.Namespace + "/" + e.object.Name + ": " + e.err.Error()
}

func (e *writeError) Unwrap() error { return e.err }

// notApplied is the writeError about u.
func notApplied(u *unstructured.Unstructured, err error) *writeError {
	o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: u.GetNamespace(), Name: u.GetName(), Labels: u.GetLabels()}}
	o.SetGroupVersionKind(u.GroupVersionKind())
	return &writeError{"applying", o, err}
}

// ofOneObject reports whether the API server answered, and refuses only this object. Otherwise
// no other write would succeed.
func ofOneObject(err error) bool {
	var status apierrors.APIStatus
	return errors.Is(err, errNotOwn) || errors.As(err, &status) && !apierrors.IsTooManyRequests(err) && !apierrors.IsServiceUnavailable(err) &&
		!apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) && !apierrors.IsUnauthorized(err)
}

// blocks reports whether an object of this kind and network needs e's object: edges need their
// plan, account, rights and egress policy, and the NADs of their network. What is no edge needs nothing.
func (e *writeError) blocks(u *unstructured.Unstructured) bool {
	switch {
	case u.GroupVersionKind() != deploymentKind:
		return false
	case e.object.GroupVersionKind() == definitionKind:
		return e.ofNetwork(u.GetLabels()[wire.LabelNetwork])
	}
	return e.ofAll()
}

// ofAll reports whether all edges of the cluster need e's object.
func (e *writeError) ofAll() bool {
	kinds := []string{serviceAccountKind.Kind, roleKind.Kind, roleBindingKind.Kind, configMapKind.Kind, networkPolicyKind.Kind}
	return slices.Contains(kinds, e.object.Kind) && e.object.Name != wire.AccessObject
}

func (e *writeError) ofNetwork(label string) bool { return e.object.Labels[wire.LabelNetwork] == label }

// writeErrors are those among the errors that err joins.
func writeErrors(err error) []*writeError { return errorsOf[*writeError](err) }

// errorsOf are the errors of type E among those that err wraps or joins.
func errorsOf[E error](err error) []E {
	var out []E
	switch e := err.(type) {
	case E:
		return []E{e}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			out = append(out, errorsOf[E](one)...)
		}
	case interface{ Unwrap() error }:
		return errorsOf[E](e.Unwrap())
	}
	return out
}

// failures are the problems of a pass that failed with err, one for each object. A request that
// is about no object is a read.
func failures(err error) network.Problems {
	var out network.Problems
	for _, e := range writeErrors(err) {
		subject := network.Subject{Kind: e.object.Kind, Namespace: e.object.Namespace, Name: e.object.Name}
		switch {
		case errors.Is(e.err, errNotOwn):
			out = append(out, network.NewProblem(network.ObjectNotOwned, subject, nil))
		case len(errorsOf[*notWatched](e.err)) > 0:
		case e.verb == "removing":
			out = append(out, network.NewProblem(network.DeleteRefused, subject, network.Args{"error": sentence(e.err)}))
		default:
			out = append(out, network.NewProblem(network.WriteRefused, subject, network.Args{"error": sentence(e.err)}))
		}
	}
	for _, e := range errorsOf[*notWatched](err) {
		out = append(out, e.problem())
	}
	if len(out) == 0 {
		out = append(out, network.NewProblem(network.ReadFailed, network.Subject{}, network.Args{"error": sentence(err)}))
	}
	slices.SortStableFunc(out, func(a, b network.Problem) int { return cmp.Compare(a.Subject.String(), b.Subject.String()) })
	return out
}

// maxError is how many bytes of an error a problem has, so that its effect and its fix are seen.
const maxError = 400

// sentence is err on one line without a final dot, and without the URL of a request that was not answered.
func sentence(err error) string {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	return explain.Shorten(strings.TrimSuffix(strings.Join(strings.Fields(err.Error()), " "), "."), maxError)
}

// failed is d where the pass failed. Where the plan or what all edges need is not written, d is not applied.
// A plan that is kept stays in force, but without a deadline if that could not be stored.
func (d decision) failed(w world, problems network.Problems, err error) decision {
	errs := writeErrors(err)
	d.problems = slices.Clone(d.problems)
	for i, p := range d.problems {
		if p.Reason == network.RemovalScheduled && len(d.desired) > 0 {
			d.problems[i] = network.NewProblem(network.RemovalNotStored, p.Subject, network.Args{"network": p.Args["network"]}, p.Keys...)
		}
	}
	if d.action == keep {
		d.problems = slices.Concat(d.problems, problems)
		return d
	}
	if d.action != serve || len(errs) == 0 || slices.ContainsFunc(errs, (*writeError).ofAll) {
		d.action = leave
	}
	if len(d.plan.Networks) == 0 {
		d.plan = w.last
	}
	d.problems = slices.Concat(d.problems, problems)
	return d
}

// lacksFor reports whether u needs an object that was not written.
func (o *outcome) lacksFor(u *unstructured.Unstructured) bool {
	return slices.ContainsFunc(o.failed, func(e *writeError) bool { return e.blocks(u) })
}

// keep adds the edge that want is for as it exists.
func (o *outcome) keep(w world, want *unstructured.Unstructured) {
	if live, exists := w.edge(want.GetName()); exists && want.GroupVersionKind() == deploymentKind {
		o.edges = append(o.edges, live)
	}
}

// needs reports whether an obsolete object stays: what replaces it was not written.
func (o *outcome) needs(obsolete metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(o.failed, func(e *writeError) bool {
		return e.ofAll() || e.ofNetwork(obsolete.Labels[wire.LabelNetwork])
	})
}

// err joins all failures. Nil: there is none.
func (o *outcome) err() error {
	var all []error
	for _, e := range o.failed {
		all = append(all, e)
	}
	return errors.Join(all...)
}
