// This file reads the output of kustomize for config/olm.

package main

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// The Deployments in the ClusterServiceVersion (CSV). The ServiceAccount and the ClusterRole of each have the same name. The
// keeper runs `oooi admission`.
const (
	operator = "oooi"
	keeper   = "oooi-admission"
)

// An installation contains the objects of config/olm, grouped by their use in the bundle. The templates call its methods.
type installation struct {
	Namespace corev1.Namespace
	// Deployments are those of the operator and the keeper, in this order.
	Deployments []appsv1.Deployment
	// ClusterRules are the rights of each ServiceAccount in all namespaces, by its name.
	ClusterRules map[string][]rbacv1.PolicyRule
	// Rules are the rights of each ServiceAccount in the operator's namespace, by its name.
	Rules map[string][]rbacv1.PolicyRule
	// Shipped are the ClusterRoles that the operator binds at run time.
	Shipped []rbacv1.ClusterRole
	// Budgets are the PodDisruptionBudgets. The Operator Lifecycle Manager chooses their namespace.
	Budgets []policyv1.PodDisruptionBudget
}

// Version returns the version of the bundle, such as "0.1.0". It is the tag of the operator's image.
func (in installation) Version() string {
	image := in.Deployments[0].Spec.Template.Spec.Containers[0].Image
	return strings.TrimPrefix(image[strings.LastIndex(image, ":")+1:], "v")
}

// An image is a container image that a mirror of the bundle must contain.
type image struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// Images returns the operator's own image, and then those in the RELATED_IMAGE_ variables of its Deployment.
func (in installation) Images() ([]image, error) {
	manager := in.Deployments[0].Spec.Template.Spec.Containers[0]
	out := []image{{operator, manager.Image}}
	for _, e := range manager.Env {
		if name, ok := strings.CutPrefix(e.Name, "RELATED_IMAGE_"); ok {
			out = append(out, image{strings.ToLower(name), e.Value})
		}
	}
	if len(out) == 1 {
		return nil, fmt.Errorf("the operator names no RELATED_IMAGE_")
	}
	return out, nil
}

// Granted returns all rights that the bundle grants, in all namespaces and in the operator's.
func (in installation) Granted() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, name := range []string{operator, keeper} {
		rules = slices.Concat(rules, in.Rules[name], in.ClusterRules[name])
	}
	for _, role := range in.Shipped {
		rules = append(rules, role.Rules...)
	}
	return slices.CompactFunc(rules, func(a, b rbacv1.PolicyRule) bool { return a.String() == b.String() })
}

// read runs kustomize for dir, and groups the objects. It returns an error for an object that has no place in the bundle.
func read(dir string) (installation, error) {
	in := installation{ClusterRules: map[string][]rbacv1.PolicyRule{}, Rules: map[string][]rbacv1.PolicyRule{}}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return in, err
	}
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return in, err
		}
		if err := in.add(r.GetKind(), text); err != nil {
			return in, fmt.Errorf("%s %s: %w", r.GetKind(), r.GetName(), err)
		}
	}
	slices.SortFunc(in.Deployments, func(a, b appsv1.Deployment) int { return strings.Compare(a.Name, b.Name) })
	return in, nil
}

func (in *installation) add(kind string, text []byte) error {
	switch kind {
	case "Namespace": // OpenShift's console creates the namespace that the CSV suggests.
		return yaml.UnmarshalStrict(text, &in.Namespace)
	case "ServiceAccount", "ClusterRoleBinding", "RoleBinding": // The Operator Lifecycle Manager creates these from the CSV.
		return nil
	case "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding": // The keeper applies them.
		return nil
	case "Deployment":
		return appendTo(&in.Deployments, text)
	case "PodDisruptionBudget":
		return appendTo(&in.Budgets, text)
	case "Role":
		var role rbacv1.Role
		err := yaml.UnmarshalStrict(text, &role)
		account := operator
		if role.Name == keeper {
			account = keeper
		}
		in.Rules[account] = append(in.Rules[account], role.Rules...)
		return err
	case "ClusterRole":
		var role rbacv1.ClusterRole
		err := yaml.UnmarshalStrict(text, &role)
		if role.Name == operator || role.Name == keeper {
			in.ClusterRules[role.Name] = role.Rules
		} else {
			in.Shipped = append(in.Shipped, role)
		}
		return err
	}
	return fmt.Errorf("the bundle has no place for this kind")
}

func appendTo[T any](all *[]T, text []byte) error {
	var object T
	err := yaml.UnmarshalStrict(text, &object)
	*all = append(*all, object)
	return err
}
