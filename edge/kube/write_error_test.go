package kube

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWriteReason: the reason that operators read for each way in which the API server does not take a lease. It has
// no name of an object, so it is the same for all leases.
func TestWriteReason(t *testing.T) {
	const name = "oooi.clusters.vlan100.192.168.100.20"
	forbidden := func(why string) error { return apierrors.NewForbidden(leaseResource, name, errors.New(why)) }
	terminating := apierrors.NewForbidden(leaseResource, name, errors.New("unable to create new content in namespace clusters-blue because it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	invalid := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Message: name + " is invalid"}}
	for reason, all := range map[string][]error{
		"the API server does not answer": {errors.New("dial tcp 10.0.0.1:443: connect: connection refused")},
		"a ResourceQuota is exceeded":    {forbidden("exceeded quota: objects, requested: count/leases=1, used: count/leases=9, limited: count/leases=9")},
		"the namespace is being deleted": {terminating},
		"a policy or missing rights forbid it": {
			forbidden("ValidatingAdmissionPolicy 'oooi-edge-leases' denied request"),
			forbidden(`User "oooi-edge" cannot create resource "leases"`),
		},
		"the API server does not accept the token of the edge": {apierrors.NewUnauthorized("token expired")},
		"the API server has too many requests":                 {apierrors.NewTooManyRequests("later", 1)},
		"the API server cannot process requests":               {apierrors.NewInternalError(errors.New("etcdserver: request timed out")), apierrors.NewServiceUnavailable("no")},
		"the API server refuses Leases of this kind":           {invalid, apierrors.NewBadRequest(name + " is no lease")},
	} {
		for _, err := range all {
			t.Run(fmt.Sprint(reason, ": ", err), func(t *testing.T) {
				g := gomega.NewWithT(t)
				g.Expect(writeReason(err)).To(gomega.Equal(reason))
				g.Expect(writeReason(fmt.Errorf("lease on 192.168.100.20: %w", err))).To(gomega.Equal(reason), "wrapped")
				g.Expect(writeError(err)).To(gomega.MatchError(err))
			})
		}
	}
}
