// Package requests has how long a request to the API server may take, and what its errors mean. It sends
// none itself.
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

// writeWithin is how long one write may take. After one that took longer, the pass ends.
const writeWithin = 5 * time.Second

// InTime does one write. Its error says that the API server did not answer in time.
func InTime(ctx context.Context, write func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	err := write(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("the API server did not answer within %s: %w", writeWithin, limited.Err())
	}
	return err
}

// TimedOut reports whether a request had no answer in time.
func TimedOut(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

// Present is err, or nil if the cluster does not have the kind, so no object of it exists.
func Present(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// Exists reports whether the API server has a kind. A kind that exists in other versions only is an error.
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

// Unanswered reports whether the API server was not reached, or is too busy.
func Unanswered(err error) bool {
	var request *url.Error
	return errors.As(err, &request) || utilnet.IsProbableEOF(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// OfOneObject reports whether the API server answered, and refuses only this object. Otherwise
// no other write would succeed.
func OfOneObject(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsTooManyRequests(err) && !apierrors.IsServiceUnavailable(err) &&
		!apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) && !apierrors.IsUnauthorized(err)
}

// ErrorsOf are the errors of type E among those that err wraps or joins.
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

// maxError is how many bytes of an error a problem has, so that its effect and its fix are seen.
const maxError = 400

// Sentence is err on one line without a final dot, and without the URL of a request that was not answered.
func Sentence(err error) string {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	return explain.Shorten(strings.TrimSuffix(strings.Join(strings.Fields(err.Error()), " "), "."), maxError)
}
