// This file finds the operator among Deployments with its labels, which any user can give to another one.

package source

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// BindRight is the right to give roles to edges. Only the operator has it.
func BindRight() authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{Verb: "bind", Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Name: "oooi-controlplane"}
}

// Operators returns the Deployments in found whose ServiceAccount has BindRight. If there is only one, if none has the
// right, or if you may not ask the API server about rights, it returns found.
func Operators(ctx context.Context, api client.Reader, found []unstructured.Unstructured) (out []unstructured.Unstructured) {
	writer, ok := api.(client.Writer)
	if !ok || len(found) < 2 {
		return found
	}
	for _, d := range found {
		account, _, _ := unstructured.NestedString(d.Object, "spec", "template", "spec", "serviceAccountName")
		may, err := Allowed(ctx, writer, d.GetNamespace(), account, BindRight())
		if err != nil {
			return found
		}
		if may {
			out = append(out, d)
		}
	}
	if len(out) == 0 {
		return found
	}
	return out
}

// Allowed asks the API server whether a ServiceAccount has a right.
func Allowed(ctx context.Context, api client.Writer, namespace, account string, right authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:   "system:serviceaccount:" + namespace + ":" + account,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}, ResourceAttributes: &right,
	}}
	err := api.Create(ctx, review)
	return review.Status.Allowed, err
}
