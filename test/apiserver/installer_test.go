// This file shows what the account that installs oooi with OLM v1 can do.

package apiserver

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/test/programs"
)

// A serviceVersion is what OLM creates from a ClusterServiceVersion.
type serviceVersion struct {
	Spec struct {
		Install struct {
			Spec struct {
				ClusterPermissions, Permissions []struct {
					ServiceAccountName string
					Rules              []rbacv1.PolicyRule
				}
				Deployments []struct {
					Name string
					Spec appsv1.DeploymentSpec
				}
			}
		}
	}
}

// TestExtensionInstaller: with the account of the sample, OLM v1 can create all objects of the
// bundle, change them and delete them. What else it can do is in docs/security.md.
func TestExtensionInstaller(t *testing.T) {
	g := NewWithT(t)
	s := Start(t, map[string]string{"authorization-mode": "RBAC"})
	for _, o := range Objects(t, projectFile(t, "config/samples/clusterextension.yaml")) {
		if o.GroupVersionKind().Group != "olm.operatorframework.io" { // OLM is not here
			g.Expect(s.Admin.Create(t.Context(), o)).To(Succeed())
		}
	}
	installer, err := client.New(Impersonating(s.Env.Config, "oooi-system", "oooi-installer"), client.Options{Scheme: Scheme(t)})
	g.Expect(err).NotTo(HaveOccurred())
	var csv serviceVersion
	g.Expect(sigsyaml.Unmarshal(projectFile(t, "bundle/manifests/oooi.clusterserviceversion.yaml"), &csv)).To(Succeed())
	g.Expect(csv.Spec.Install.Spec.Deployments).To(HaveLen(2))

	objects := append(csv.objects(), besides(t)...)
	for _, o := range objects {
		g.Expect(installer.Create(t.Context(), o)).To(Succeed(), "%T %s", o, o.GetName())
	}
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &corev1.ServiceAccountList{}, &policyv1.PodDisruptionBudgetList{}, &rbacv1.ClusterRoleBindingList{}} {
		g.Expect(installer.List(t.Context(), list)).To(Succeed(), "%T of all namespaces", list)
	}
	for _, o := range objects {
		g.Expect(installer.Get(t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
		o.SetLabels(map[string]string{"next": "version"})
		g.Expect(installer.Update(t.Context(), o)).To(Succeed(), "%T %s", o, o.GetName())
	}
	for _, o := range objects {
		g.Expect(installer.Delete(t.Context(), o)).To(Succeed(), "%T %s", o, o.GetName())
	}

	deployment := csv.Spec.Install.Spec.Deployments[0].Spec
	secrets := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}
	for _, o := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: named("", "more"), Rules: []rbacv1.PolicyRule{secrets}},
		&rbacv1.Role{ObjectMeta: named("kube-system", "more")},
		&corev1.ServiceAccount{ObjectMeta: named("kube-system", "more")},
		&corev1.Pod{ObjectMeta: named("oooi-system", "more"), Spec: deployment.Template.Spec},
	} {
		g.Expect(apierrors.IsForbidden(installer.Create(t.Context(), o))).To(BeTrue(), "%T", o)
	}
	foreign := &corev1.ServiceAccount{ObjectMeta: named("oooi-system", "foreign")}
	g.Expect(s.Admin.Create(t.Context(), foreign)).To(Succeed())
	g.Expect(apierrors.IsForbidden(installer.Delete(t.Context(), foreign))).To(BeTrue())

	whole := &appsv1.Deployment{ObjectMeta: named("kube-system", "any"), Spec: deployment}
	g.Expect(installer.Create(t.Context(), whole)).To(Succeed(), "docs/security.md and the sample warn of this")
}

// objects are what OLM v1 makes from the ClusterServiceVersion. The namespaced rights of a bundle for all
// namespaces become cluster-wide ones.
func (csv serviceVersion) objects() []client.Object {
	var out []client.Object
	install := csv.Spec.Install.Spec
	for _, d := range install.Deployments {
		out = append(out, &corev1.ServiceAccount{ObjectMeta: named("oooi-system", d.Name)}, &appsv1.Deployment{ObjectMeta: named("oooi-system", d.Name), Spec: d.Spec})
	}
	for i, p := range append(install.ClusterPermissions, install.Permissions...) {
		name := fmt.Sprintf("%s-%d", p.ServiceAccountName, i)
		out = append(out, &rbacv1.ClusterRole{ObjectMeta: named("", name), Rules: p.Rules}, &rbacv1.ClusterRoleBinding{
			ObjectMeta: named("", name),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: p.ServiceAccountName, Namespace: "oooi-system"}},
		})
	}
	return out
}

// besides are the other objects of the bundle.
func besides(t *testing.T) []client.Object {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(projectRoot(t), "bundle", "manifests", "*"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var out []client.Object
	for _, f := range files {
		for _, o := range Objects(t, projectFile(t, "bundle/manifests/"+filepath.Base(f))) {
			switch o.GetKind() {
			case "ClusterServiceVersion":
				continue
			case "PodDisruptionBudget":
				o.SetNamespace("oooi-system")
			}
			out = append(out, o)
		}
	}
	return out
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func projectRoot(t *testing.T) string {
	t.Helper()
	root, err := programs.Root()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return root
}

func projectFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(projectRoot(t), filepath.FromSlash(path)))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return text
}
