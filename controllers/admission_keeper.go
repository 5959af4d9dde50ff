// This file applies the admission policies where nothing else installs them: the Operator
// Lifecycle Manager does not. It runs in a pod of its own, whose ServiceAccount may write these
// policies only. The operator's may not, because they limit the operator.

package controllers

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/edge/wire"
)

// An AdmissionKeeper applies the policies of package admission, and restores them.
type AdmissionKeeper struct {
	// Client has the rights to apply the policies, and to read ClusterRole oooi-edge.
	Client client.Client
	Log    logr.Logger
	// Interval is the time between two applications. It must be positive.
	Interval time.Duration
}

// Run applies the policies until ctx ends. A failure of the API server is logged and retried.
// An error means that this program was built from invalid policies.
func (k *AdmissionKeeper) Run(ctx context.Context) error {
	policies, err := admission.Policies()
	if err != nil {
		return err
	}
	tick := time.NewTicker(k.Interval)
	defer tick.Stop()
	for failed := true; ; {
		switch err := k.apply(ctx, policies); {
		case ctx.Err() != nil:
		case err != nil:
			failed = true
			k.Log.Error(err, "cannot apply the admission policies")
		case failed:
			failed = false
			k.Log.Info("admission policies are applied")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (k *AdmissionKeeper) apply(ctx context.Context, policies []admission.Policy) error {
	owners, err := k.owners(ctx)
	if err != nil {
		return err
	}
	for _, p := range policies {
		for _, o := range []client.Object{&p.Policy, &p.Binding} {
			o.SetOwnerReferences(owners)
			m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			if err != nil {
				return err
			}
			delete(m, "status")
			u := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: m})
			if err := k.Client.Apply(ctx, u, client.FieldOwner(wire.Owner), client.ForceOwnership); err != nil {
				return fmt.Errorf("applying %s %s: %w", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), err)
			}
		}
	}
	return nil
}

// owners is the ClusterRole of edges, so that the policies are deleted with it. After the
// operator is removed, that role and the edges remain. It is empty if the edges' rights come
// from another role.
func (k *AdmissionKeeper) owners(ctx context.Context) ([]metav1.OwnerReference, error) {
	role := &metav1.PartialObjectMetadata{}
	role.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"))
	if err := k.Client.Get(ctx, client.ObjectKey{Name: wire.ServiceAccount}, role); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return []metav1.OwnerReference{{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole", Name: role.Name, UID: role.UID}}, nil
}
