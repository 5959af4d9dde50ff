// Package requests limits how long a request to the API server may take, and interprets its errors. It sends no
// requests itself.
package requests

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/explain"
)

// writeWithin limits one write. After that, the pass ends.
const writeWithin = 5 * time.Second

// InTime calls write, which sends one write. It returns an error if the API server does not answer within writeWithin.
func InTime(ctx context.Context, write func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	err := write(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("the API server did not answer within %s: %w", writeWithin, limited.Err())
	}
	return err
}

// TimedOut reports whether err means that a request got no answer in time.
func TimedOut(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

// Present returns err. It returns nil if the cluster does not have the kind, because then no object of it exists.
func Present(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// Exists reports whether the API server has a kind. It returns an error if the API server has the kind only in other versions.
func Exists(mapper meta.RESTMapper, gvk schema.GroupVersionKind) (bool, error) {
	_, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err == nil {
		return true, nil
	}
	if other, e := mapper.RESTMapping(gvk.GroupKind()); e == nil {
		return false, fmt.Errorf("the API server serves version %s of it, not %s", other.GroupVersionKind.Version, gvk.Version)
	}
	return false, client.IgnoreNotFound(Present(err))
}

// Unanswered reports whether err means that the API server was not reached, or is too busy.
func Unanswered(err error) bool {
	var request *url.Error
	return errors.As(err, &request) || utilnet.IsProbableEOF(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// OfOneObject reports whether the API server answered and refuses only this object, so that other writes may succeed.
func OfOneObject(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsTooManyRequests(err) && !apierrors.IsServiceUnavailable(err) &&
		!apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) && !apierrors.IsUnauthorized(err)
}

// ErrorsOf returns the errors of type E that err wraps or joins.
func ErrorsOf[E error](err error) []E {
	var out []E
	switch e := err.(type) {
	case E:
		return []E{e}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			out = append(out, ErrorsOf[E](one)...)
		}
	case interface{ Unwrap() error }:
		return ErrorsOf[E](e.Unwrap())
	}
	return out
}

// maxError is the largest size of an error in a problem, in bytes. It leaves room for the effect and the fix.
const maxError = 400

// Sentence returns err on one line, without a final dot, and without the URL of a request that got no answer.
func Sentence(err error) string {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	return explain.Shorten(strings.TrimSuffix(strings.Join(strings.Fields(err.Error()), " "), "."), maxError)
}
