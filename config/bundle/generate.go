// This file decides which files the bundle has, from what kustomize makes of
// config/olm. It never writes.

package main

import (
	"fmt"
	"path/filepath"
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

// The package as a catalog knows it.
const (
	packageName = "oooi"
	channel     = "candidate"
	// operator and keeper are the programs in the CSV: the names of their Deployments and
	// ServiceAccounts, and of the ClusterRoles that are bound to these.
	operator = "oooi"
	keeper   = "oooi-admission"
)

// An installation is config/olm, by what the bundle does with it.
type installation struct {
	// namespace is the operator's.
	namespace corev1.Namespace
	// deployments are those of operator and keeper, in this order.
	deployments []appsv1.Deployment
	// clusterRules are what each ServiceAccount may do everywhere, by its name.
	clusterRules map[string][]rbacv1.PolicyRule
	// rules are what each ServiceAccount may do in the operator's namespace, by its name.
	rules map[string][]rbacv1.PolicyRule
	// shipped are the ClusterRoles that the operator binds at run time.
	shipped []rbacv1.ClusterRole
	// budgets are the PodDisruptionBudgets. The Operator Lifecycle Manager chooses their namespace.
	budgets []policyv1.PodDisruptionBudget
}

// generate is every file of the bundle, by its path below bundle/.
func generate(root string) (map[string][]byte, error) {
	in, err := read(filepath.Join(root, "config", "olm"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		"metadata/annotations.yaml":   marshal(map[string]any{"annotations": labels()}),
		"tests/scorecard/config.yaml": []byte(scorecard),
	}
	icon, err := filepath.Abs(filepath.Join(root, "config", "bundle", "icon.svg"))
	if err != nil {
		return nil, err
	}
	csv, err := serviceVersion(in, icon)
	if err != nil {
		return nil, err
	}
	files["manifests/"+packageName+".clusterserviceversion.yaml"] = marshal(csv)
	for _, role := range in.shipped {
		files["manifests/"+role.Name+".clusterrole.yaml"] = marshal(role)
	}
	for _, b := range in.budgets {
		b.Namespace = ""
		files["manifests/"+b.Name+".poddisruptionbudget.yaml"] = marshal(b)
	}
	return files, nil
}

// version is that of the operator's image, such as "0.1.0". Everything else has it from there.
func (in installation) version() string {
	image := in.deployments[0].Spec.Template.Spec.Containers[0].Image
	return strings.TrimPrefix(image[strings.LastIndex(image, ":")+1:], "v")
}

// read builds dir and sorts what it holds. Something the bundle has no place
// for is an error, so that it is not left out unseen.
func read(dir string) (installation, error) {
	in := installation{clusterRules: map[string][]rbacv1.PolicyRule{}, rules: map[string][]rbacv1.PolicyRule{}}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return in, err
	}
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return in, err
		}
		if err := in.add(r.GetKind(), r.GetName(), text); err != nil {
			return in, fmt.Errorf("%s %s: %w", r.GetKind(), r.GetName(), err)
		}
	}
	slices.SortFunc(in.deployments, func(a, b appsv1.Deployment) int { return strings.Compare(a.Name, b.Name) })
	return in, nil
}

func (in *installation) add(kind, name string, text []byte) error {
	switch kind {
	case "Namespace":
		// The console creates it as the CSV suggests.
		return yaml.UnmarshalStrict(text, &in.namespace)
	case "ServiceAccount", "ClusterRoleBinding", "RoleBinding":
		// The Operator Lifecycle Manager makes these from the CSV.
		return nil
	case "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
		// The keeper applies them.
		return nil
	case "Deployment":
		d := appsv1.Deployment{}
		err := yaml.UnmarshalStrict(text, &d)
		in.deployments = append(in.deployments, d)
		return err
	case "PodDisruptionBudget":
		b := policyv1.PodDisruptionBudget{}
		err := yaml.UnmarshalStrict(text, &b)
		in.budgets = append(in.budgets, b)
		return err
	case "Role":
		role := rbacv1.Role{}
		err := yaml.UnmarshalStrict(text, &role)
		account := operator
		if name == keeper {
			account = keeper
		}
		in.rules[account] = append(in.rules[account], role.Rules...)
		return err
	case "ClusterRole":
		role := rbacv1.ClusterRole{}
		if err := yaml.UnmarshalStrict(text, &role); err != nil {
			return err
		}
		if name == operator || name == keeper {
			in.clusterRules[name] = role.Rules
		} else {
			in.shipped = append(in.shipped, role)
		}
		return nil
	}
	return fmt.Errorf("the bundle has no place for this kind")
}

// labels are the bundle image's, which metadata/annotations.yaml repeats.
func labels() map[string]string {
	return map[string]string{
		"operators.operatorframework.io.bundle.mediatype.v1":       "registry+v1",
		"operators.operatorframework.io.bundle.manifests.v1":       "manifests/",
		"operators.operatorframework.io.bundle.metadata.v1":        "metadata/",
		"operators.operatorframework.io.bundle.package.v1":         packageName,
		"operators.operatorframework.io.bundle.channels.v1":        channel,
		"operators.operatorframework.io.bundle.channel.default.v1": channel,
		"operators.operatorframework.io.test.mediatype.v1":         "scorecard+v1",
		"operators.operatorframework.io.test.config.v1":            "tests/scorecard/",
		// 4.18 is Kubernetes 1.31: minKubeVersion says the same.
		"com.redhat.openshift.versions": "v4.18",
	}
}

// scorecard selects the one test that has something to look at without a CRD.
const scorecard = `apiVersion: scorecard.operatorframework.io/v1alpha3
kind: Configuration
metadata:
  name: config
stages:
- parallel: true
  tests:
  - entrypoint: [scorecard-test, olm-bundle-validation]
    image: quay.io/operator-framework/scorecard-test:v1.42.2
    labels:
      suite: olm
      test: olm-bundle-validation-test
`
