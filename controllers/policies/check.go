// Package policies checks and applies the admission policies as they are shipped (package admission). They limit the
// operator and its edges, and check annotations. The operator can only read them. Without them it works, and reports
// that.
package policies

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/network/metrics"
)

// A Check reports which admission policies are in force.
type Check struct {
	Live    client.Reader
	Metrics metrics.Set
	Log     logr.Logger
	// Account is the operator's ServiceAccount.
	Account types.NamespacedName
	// Every is how often the policies are read.
	Every time.Duration
}

// Start implements manager.Runnable. It logs when the result changes.
func (c *Check) Start(ctx context.Context) error {
	policies, err := admission.Policies()
	if err != nil {
		return err
	}
	logged := map[string]string{}
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		for _, p := range policies {
			text, err := "", c.InForce(ctx, p)
			if err != nil {
				text = err.Error()
			}
			if last, known := logged[p.Policy.Name]; ctx.Err() == nil && (!known || last != text) {
				c.report(p, err)
				logged[p.Policy.Name] = text
			}
		}
	}, c.Every)
	return nil
}

func (c *Check) report(p admission.Policy, err error) {
	policy := p.Policy.Name
	c.Metrics.SetBool(metrics.AdmissionPolicyInForce, err == nil, policy)
	switch {
	case err != nil && p.Limits():
		c.Log.Error(err, "admission policy is not in force: the token of the operator or of an edge allows more than documented", "policy", policy)
		return
	case err != nil:
		c.Log.Error(err, "admission policy is not in force: only conditions report invalid annotations", "policy", policy)
		return
	}
	c.Log.Info("admission policy is in force", "policy", policy)
}

// InForce returns why p is not in force, or nil if it is.
func (c *Check) InForce(ctx context.Context, p admission.Policy) error {
	if p.Policy.Name == admission.Operator && c.Account.Name != admission.OperatorAccount {
		return fmt.Errorf("the policy covers ServiceAccounts with the name %s, and the operator runs as %s", admission.OperatorAccount, c.Account.Name)
	}
	live := admission.Policy{}
	for _, o := range []client.Object{&live.Policy, &live.Binding} {
		if err := c.Live.Get(ctx, client.ObjectKey{Name: p.Policy.Name}, o); err != nil {
			return err
		}
	}
	return differs(p, live)
}

// differs returns the difference between a policy as shipped and as it exists, or nil.
func differs(shipped, live admission.Policy) error {
	if !equality.Semantic.DeepEqual(shipped.Policy.Spec, live.Policy.Spec) {
		return errors.New("the ValidatingAdmissionPolicy is not as shipped")
	}
	if !equality.Semantic.DeepEqual(shipped.Binding.Spec, live.Binding.Spec) {
		return errors.New("the ValidatingAdmissionPolicyBinding is not as shipped")
	}
	for _, o := range []client.Object{&live.Policy, &live.Binding} {
		if o.GetDeletionTimestamp() != nil {
			return errors.New("the policy is being deleted")
		}
	}
	return nil
}
