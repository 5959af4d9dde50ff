// This file finds the reason why the API server did not store a lease. Reasons name no objects.

package kube

import (
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/cldmnky/oooi/dhcp/leases"
)

// writeError returns err, the error of a request that writes a lease, with its reason.
func writeError(err error) error { return &leases.WriteError{Reason: writeReason(err), Err: err} }

func writeReason(err error) string {
	var status apierrors.APIStatus
	switch {
	case !errors.As(err, &status):
		return "the API server does not answer"
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return "a ResourceQuota is exceeded"
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return "the namespace is being deleted"
	case apierrors.IsForbidden(err):
		return "a policy or missing rights forbid it"
	case apierrors.IsUnauthorized(err):
		return "the API server does not accept the token of the edge"
	case apierrors.IsTooManyRequests(err):
		return "the API server has too many requests"
	case status.Status().Code >= 500:
		return "the API server cannot process requests"
	}
	return "the API server refuses Leases of this kind"
}
