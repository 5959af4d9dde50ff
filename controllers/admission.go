// This file restricts an edge to its own Leases, which RBAC cannot: it has no name prefixes,
// and the edge's namespace also holds leader election Leases of the hosted control plane. A
// ValidatingAdmissionPolicy does so, one for all edges. The operator creates it when it
// starts, since the Operator Lifecycle Manager installs none. It covers only
// ServiceAccounts with the name of the edges' one.

package controllers

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	admissionregistrationv1ac "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
)

// leasePolicy is the name of the policy and of its binding.
const leasePolicy = "oooi-edge-leases"

// Expressions of the policy in CEL.
const (
	// anEdge: no name of a ServiceAccount has a colon in it.
	anEdge = `request.userInfo.username.startsWith('system:serviceaccount:') && ` +
		`request.userInfo.username.endsWith(':` + wire.ServiceAccount + `')`
	// ownName: the name of a DHCP lease or of a report.
	ownName = `(object == null ? oldObject : object).metadata.name.matches('^oooi(-report)?[.]')`
)

// carries is the expression that o is null or has the labels of oooi.
func carries(o string) string {
	has := func(label string) string {
		return fmt.Sprintf("'%s' in %s.metadata.labels && %s.metadata.labels['%s'] == '%s'", label, o, o, label, wire.Owner)
	}
	return fmt.Sprintf("%s == null || has(%s.metadata.labels) && %s && %s", o, o, has(wire.LabelPartOf), has(wire.LabelManagedBy))
}

// An admission maintains the policy while the operator runs.
type admission struct {
	client client.Client
	live   client.Reader
	log    logr.Logger
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*admission) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. Everything is served without the policy, so a
// failure is logged and retried.
func (a *admission) Start(ctx context.Context) error {
	tick := time.NewTicker(resyncReady)
	defer tick.Stop()
	for {
		if err := a.keep(ctx); err != nil && ctx.Err() == nil {
			a.log.Error(err, "cannot apply the admission policy: edges can write any Lease in their namespace", "policy", leasePolicy)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (a *admission) keep(ctx context.Context) error {
	owner, err := a.owner(ctx)
	if err != nil {
		return err
	}
	policy, binding := leaseAdmission()
	policy.WithLabels(wire.NamedLabels(nameOperator)).WithOwnerReferences(owner...)
	binding.WithLabels(wire.NamedLabels(nameOperator)).WithOwnerReferences(owner...)
	for _, o := range []runtime.ApplyConfiguration{policy, binding} {
		if err := a.client.Apply(ctx, o, client.FieldOwner(wire.Owner), client.ForceOwnership); err != nil {
			return fmt.Errorf("applying the policy over Leases of edges: %w", err)
		}
	}
	return nil
}

// owner is the ClusterRole of edges, so that the policy is deleted with it. It is empty if the
// edges' rights come from another role.
func (a *admission) owner(ctx context.Context) ([]*metav1ac.OwnerReferenceApplyConfiguration, error) {
	role := &metav1.PartialObjectMetadata{}
	role.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"))
	if err := a.live.Get(ctx, types.NamespacedName{Name: wire.ServiceAccount}, role); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return []*metav1ac.OwnerReferenceApplyConfiguration{metav1ac.OwnerReference().
		WithAPIVersion(rbacv1.SchemeGroupVersion.String()).WithKind("ClusterRole").WithName(wire.ServiceAccount).WithUID(role.UID)}, nil
}

// leaseAdmission returns the policy and its binding, without labels and owner.
func leaseAdmission() (
	*admissionregistrationv1ac.ValidatingAdmissionPolicyApplyConfiguration,
	*admissionregistrationv1ac.ValidatingAdmissionPolicyBindingApplyConfiguration,
) {
	validation := func(message, expression string) *admissionregistrationv1ac.ValidationApplyConfiguration {
		return admissionregistrationv1ac.Validation().WithMessage(message).WithExpression(expression).WithReason(metav1.StatusReasonForbidden)
	}
	const mine = "an edge writes Leases that carry the labels " + wire.LabelPartOf + " and " + wire.LabelManagedBy + " of oooi, and no others"
	leases := schema.GroupVersionResource(coordinationv1.SchemeGroupVersion.WithResource("leases"))
	policy := admissionregistrationv1ac.ValidatingAdmissionPolicy(leasePolicy).
		WithSpec(admissionregistrationv1ac.ValidatingAdmissionPolicySpec().
			WithFailurePolicy(admissionregistrationv1.Fail).
			WithMatchConstraints(admissionregistrationv1ac.MatchResources().WithResourceRules(
				admissionregistrationv1ac.NamedRuleWithOperations().
					WithAPIGroups(leases.Group).WithAPIVersions(leases.Version).WithResources(leases.Resource).
					WithOperations(admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete))).
			WithMatchConditions(admissionregistrationv1ac.MatchCondition().WithName("an-edge").WithExpression(anEdge)).
			WithValidations(
				validation("an edge writes Leases whose name begins with oooi. or oooi-report., and no others", ownName),
				validation(mine, carries("object")),
				validation(mine, carries("oldObject"))))
	binding := admissionregistrationv1ac.ValidatingAdmissionPolicyBinding(leasePolicy).
		WithSpec(admissionregistrationv1ac.ValidatingAdmissionPolicyBindingSpec().
			WithPolicyName(leasePolicy).
			WithValidationActions(admissionregistrationv1.Deny))
	return policy, binding
}
