package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const root = "../.."

// TestBundleIsFresh: what is committed is what config/ says.
func TestBundleIsFresh(t *testing.T) {
	g := NewWithT(t)
	want, err := generate(root)
	g.Expect(err).NotTo(HaveOccurred())
	got := map[string][]byte{}
	dir := filepath.Join(root, "bundle")
	g.Expect(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		got[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})).To(Succeed())
	if diff := cmp.Diff(text(want), text(got)); diff != "" {
		t.Errorf("bundle/ is not what config/ says; run make bundle (-want +got):\n%s", diff)
	}
}

func text(files map[string][]byte) map[string]string {
	out := map[string]string{}
	for name, b := range files {
		out[name] = string(b)
	}
	return out
}

// offline are the validators of operator-framework/api that judge what a bundle
// with no custom resource has. Left out is MultipleArchitecturesValidator: it
// pulls the images with a container tool.
func offline() interfaces.Validators {
	return interfaces.Validators{
		validation.ClusterServiceVersionValidator,
		validation.CustomResourceDefinitionValidator,
		validation.BundleValidator,
		validation.OperatorHubV2Validator,
		validation.StandardCategoriesValidator,
		validation.StandardCapabilitiesValidator,
		validation.ObjectValidator,
		validation.OperatorGroupValidator,
		validation.AlphaDeprecatedAPIsValidator,
		validation.GoodPracticesValidator,
	}
}

// budgets is the one warning that stays: pairs of edges have a
// PodDisruptionBudget, in the namespaces of hosted clusters that opted in.
const budgets = "RBAC includes permission to create/update poddisruptionbudgets"

// TestBundleIsValid: the catalogs' own validators find neither an error nor
// anything else to warn of.
func TestBundleIsValid(t *testing.T) {
	g := NewWithT(t)
	bundle, err := manifests.GetBundleFromDir(filepath.Join(root, "bundle"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bundle.CSV.Spec.CustomResourceDefinitions.Owned).To(BeEmpty())
	g.Expect(bundle.CSV.Spec.CustomResourceDefinitions.Required).To(BeEmpty(), "a catalog would look for who provides HyperShift")
	g.Expect(findings(bundle)).To(ConsistOf(ContainSubstring(budgets)))

	bundle.CSV.Annotations["capabilities"] = "Perfect"
	bundle.CSV.Spec.Icon = nil
	g.Expect(len(findings(bundle))).To(BeNumerically(">", 1), "the validators look at it")
}

func findings(bundle *manifests.Bundle) []string {
	var found []string
	for _, r := range offline().Validate(bundle.ObjectsToValidate()...) {
		for _, e := range slices.Concat(r.Errors, r.Warnings) {
			found = append(found, e.Error())
		}
	}
	return found
}

// TestRights hold for every role that is shipped.
func TestRights(t *testing.T) {
	g := NewWithT(t)
	in := installed(t)
	rules := slices.Concat(in.clusterRules[operator], in.clusterRules[keeper], in.rules)
	for _, role := range in.shipped {
		rules = append(rules, role.Rules...)
	}
	for _, r := range rules {
		g.Expect(r.Resources).NotTo(Or(ContainElement("secrets"), ContainElement("*"), ContainElement("roles"), ContainElement("pods")))
		g.Expect(r.Verbs).NotTo(Or(ContainElement("*"), ContainElement("escalate"), ContainElement("impersonate"), ContainElement("deletecollection")))
		g.Expect(r.APIGroups).NotTo(ContainElement("*"))
		if slices.Contains(r.APIGroups, rbacv1.GroupName) {
			g.Expect(r.ResourceNames).To(Or(ConsistOf("oooi-edge", "oooi-controlplane"), ConsistOf("oooi-edge")))
		}
		if slices.Contains(r.APIGroups, "admissionregistration.k8s.io") {
			g.Expect(r.ResourceNames).To(ConsistOf("oooi-operator", "oooi-edge-leases"))
		}
		if slices.Contains(r.APIGroups, "hypershift.openshift.io") && !slices.Equal(r.Resources, []string{"hostedclusters/status"}) {
			g.Expect(r.Verbs).To(ConsistOf("get", "list", "watch"))
		}
	}
}

// TestOnlyTheKeeperWritesPolicies: no other right of an installation is over the kinds that
// limit the operator.
func TestOnlyTheKeeperWritesPolicies(t *testing.T) {
	g := NewWithT(t)
	in := installed(t)
	written := func(rules []rbacv1.PolicyRule) []string {
		var out []string
		for _, r := range rules {
			if slices.Contains(r.APIGroups, "admissionregistration.k8s.io") {
				out = append(out, r.Verbs...)
			}
		}
		return out
	}
	g.Expect(written(in.clusterRules[operator])).To(ConsistOf("get"))
	g.Expect(written(in.clusterRules[keeper])).To(ConsistOf("create", "patch"))
	g.Expect(in.clusterRules[keeper]).To(HaveLen(2), "and reads the ClusterRole that owns them")
	for _, role := range in.shipped {
		g.Expect(written(role.Rules)).To(BeEmpty())
	}
}

// TestProgramsRunOneImage: changing the operator's image changes the image of the edges and of
// the keeper too.
func TestProgramsRunOneImage(t *testing.T) {
	g := NewWithT(t)
	in := installed(t)
	g.Expect(in.deployments).To(HaveLen(2))
	manager, policies := in.deployments[0].Spec.Template.Spec, in.deployments[1].Spec.Template.Spec
	images, err := relatedImages(in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(images[0].Image).To(Equal(manager.Containers[0].Image))
	g.Expect(images[1].Image).To(ContainSubstring("envoyproxy/envoy:distroless-"))
	g.Expect(policies.Containers[0].Image).To(Equal(manager.Containers[0].Image))
	g.Expect(policies.ServiceAccountName).NotTo(Equal(manager.ServiceAccountName))
}

func installed(t *testing.T) installation {
	t.Helper()
	in, err := read(filepath.Join(root, "config", "olm"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return in
}

func TestSamplesBuild(t *testing.T) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "config", "samples"))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(built.Size()).To(Equal(3))
}
