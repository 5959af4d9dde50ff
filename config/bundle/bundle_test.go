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
	in, err := read(filepath.Join(root, "config", "default"))
	g.Expect(err).NotTo(HaveOccurred())
	rules := slices.Concat(in.clusterRules, in.rules)
	for _, role := range in.shipped {
		rules = append(rules, role.Rules...)
	}
	for _, r := range rules {
		g.Expect(r.Resources).NotTo(Or(ContainElement("secrets"), ContainElement("*"), ContainElement("roles"), ContainElement("pods")))
		g.Expect(r.Verbs).NotTo(Or(ContainElement("*"), ContainElement("escalate"), ContainElement("impersonate"), ContainElement("deletecollection")))
		g.Expect(r.APIGroups).NotTo(ContainElement("*"))
		if slices.Contains(r.APIGroups, rbacv1.GroupName) {
			g.Expect(r.ResourceNames).To(ConsistOf("oooi-edge", "oooi-controlplane"))
		}
		if slices.Contains(r.APIGroups, "admissionregistration.k8s.io") {
			g.Expect(r.ResourceNames).To(ConsistOf("oooi-edge-leases"))
		}
		if slices.Contains(r.APIGroups, "hypershift.openshift.io") && !slices.Equal(r.Resources, []string{"hostedclusters/status"}) {
			g.Expect(r.Verbs).To(ConsistOf("get", "list", "watch"))
		}
	}
}

// TestEdgesRunTheOperatorsImage: changing the operator's image changes the edges' image
// too.
func TestEdgesRunTheOperatorsImage(t *testing.T) {
	g := NewWithT(t)
	in, err := read(filepath.Join(root, "config", "default"))
	g.Expect(err).NotTo(HaveOccurred())
	manager := in.deployment.Spec.Template.Spec.Containers[0]
	images, err := relatedImages(in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(images[0].Image).To(Equal(manager.Image))
	g.Expect(images[1].Image).To(ContainSubstring("envoyproxy/envoy:distroless-"))
}

func TestSamplesBuild(t *testing.T) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "config", "samples"))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(built.Size()).To(Equal(3))
}
