// This file applies the admission policies if nothing else installs them, as with the Operator Lifecycle Manager. It
// runs in a pod of its own. The operator must not write these policies, because they limit it.

package policies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/config/rbac"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
)

// retryPolicies is how soon a failed application of policies is repeated.
const retryPolicies = 2 * time.Second

// A Keeper applies the policies of package admission, and restores them if they change. Its namespace owns what the
// Operator Lifecycle Manager does not delete: the policies and ClusterRole oooi-controlplane. They outlive the
// operator, limit the edges that still serve, and are deleted with the namespace. The Keeper reports a changed role,
// which nothing restores.
type Keeper struct {
	// Client must have the rights of ServiceAccount oooi-admission (config/olm/admission.yaml), and must not read from a cache.
	Client    client.Client
	Log       logr.Logger
	Namespace string
	// Interval is the time between two applications. It must be positive.
	Interval time.Duration

	// problem is why the policies or the role are not as shipped. Nil: they are.
	problem atomic.Pointer[error]
}

// Run applies the policies until ctx ends. It retries after errors of the API server, and logs each change of the
// error. It returns an error only if this program was built from invalid files.
func (k *Keeper) Run(ctx context.Context) error {
	policies, err := admission.Policies()
	if err != nil {
		return err
	}
	role, err := rbac.ControlPlane()
	if err != nil {
		return err
	}
	for logged, known := "", false; ; known = true {
		next, text := k.Interval, ""
		err := k.Apply(ctx, policies, role)
		if err != nil {
			next, text = min(next, retryPolicies), err.Error()
		}
		k.problem.Store(&err)
		switch {
		case ctx.Err() != nil || known && logged == text:
		case err != nil:
			k.Log.Error(err, "the admission policies and ClusterRole "+own.ControlPlaneRole+" are not as shipped")
		default:
			k.Log.Info("admission policies are applied")
		}
		logged = text
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(next):
		}
	}
}

// Ready is the readiness probe: it returns why the policies or ClusterRole oooi-controlplane are not as shipped, or nil.
func (k *Keeper) Ready(*http.Request) error {
	if p := k.problem.Load(); p != nil {
		return *p
	}
	return errors.New("the admission policies are not applied yet")
}

// Apply applies the policies, and returns how the existing role differs from role.
func (k *Keeper) Apply(ctx context.Context, policies []admission.Policy, role *rbacv1.ClusterRole) error {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(own.NamespaceKind)
	if err := k.Client.Get(ctx, client.ObjectKey{Name: k.Namespace}, namespace); err != nil {
		return fmt.Errorf("reading Namespace %s: %w", k.Namespace, err)
	}
	owner := metav1.OwnerReference{
		APIVersion: own.NamespaceKind.GroupVersion().String(), Kind: own.NamespaceKind.Kind, Name: namespace.Name, UID: namespace.UID,
	}
	for _, p := range policies {
		for _, o := range []client.Object{&p.Policy, &p.Binding} {
			if err := k.applyPolicy(ctx, o, owner); err != nil {
				return err
			}
		}
	}
	return k.ownRole(ctx, role, owner)
}

// applyPolicy applies o. If the object still differs, for example because another client added a match condition, it
// replaces the whole spec.
func (k *Keeper) applyPolicy(ctx context.Context, o client.Object, owner metav1.OwnerReference) error {
	kind := o.GetObjectKind().GroupVersionKind()
	shipped, live, err := k.applyOwned(ctx, kind, o, owner)
	if err != nil || equality.Semantic.DeepEqual(shipped["spec"], live.Object["spec"]) {
		return err
	}
	patch, err := json.Marshal([]any{map[string]any{"op": "replace", "path": "/spec", "value": shipped["spec"]}})
	if err != nil {
		return err
	}
	if err := k.Client.Patch(ctx, live, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(wire.Owner)); err != nil {
		return fmt.Errorf("replacing %s %s: %w", kind.Kind, o.GetName(), err)
	}
	return nil
}

// ownRole makes owner an owner of ClusterRole oooi-controlplane, and returns other differences from shipped. The API
// server would refuse to restore the role, because the Keeper does not have the rights in it.
func (k *Keeper) ownRole(ctx context.Context, shipped *rbacv1.ClusterRole, owner metav1.OwnerReference) error {
	live := &rbacv1.ClusterRole{}
	if err := k.Client.Get(ctx, client.ObjectKey{Name: own.ControlPlaneRole}, live); err != nil {
		return fmt.Errorf("reading ClusterRole %s: %w", own.ControlPlaneRole, err)
	}
	only := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: own.ControlPlaneRole}}
	_, _, err := k.applyOwned(ctx, own.ClusterRoleKind, only, owner)
	return errors.Join(err, roleDiffers(shipped, live))
}

// aggregation is the prefix of labels that add the rules of a ClusterRole to another one.
const aggregation = "rbac.authorization.k8s.io/"

// roleDiffers returns why live is not the shipped ClusterRole, or nil. Of labels, only those of the API server count,
// because the Operator Lifecycle Manager adds its own.
func roleDiffers(shipped, live *rbacv1.ClusterRole) error {
	why := ""
	switch {
	case live.DeletionTimestamp != nil:
		why = "it is being deleted"
	case !equality.Semantic.DeepEqual(shipped.Rules, live.Rules) || live.AggregationRule != nil:
		why = "it has other rules"
	case len(live.Finalizers) > 0:
		why = "it has finalizers"
	}
	for label := range live.Labels {
		if strings.HasPrefix(label, aggregation) {
			why = "it has the label " + label
		}
	}
	if why == "" {
		return nil
	}
	return fmt.Errorf("ClusterRole %s is not as shipped: %s. To restore it: kubectl replace -f bundle/manifests/%[1]s.clusterrole.yaml", live.Name, why)
}

// applyOwned applies o with an owner. It changes only the fields that o sets, and returns what it applied, and what exists now.
func (k *Keeper) applyOwned(ctx context.Context, kind schema.GroupVersionKind, o client.Object, owner metav1.OwnerReference) (
	map[string]any, *unstructured.Unstructured, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, nil, err
	}
	delete(m, "status")
	u := &unstructured.Unstructured{Object: m}
	u.SetGroupVersionKind(kind)
	u.SetOwnerReferences([]metav1.OwnerReference{owner})
	if err := k.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(wire.Owner), client.ForceOwnership); err != nil {
		return nil, nil, fmt.Errorf("applying %s %s: %w", kind.Kind, o.GetName(), err)
	}
	return m, u, nil
}
