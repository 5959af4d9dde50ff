package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// TestBundleIsFresh: what is committed, with the sample for OLM v1, is what config/ says.
func TestBundleIsFresh(t *testing.T) {
	g := NewWithT(t)
	want, err := generate(root)
	g.Expect(err).NotTo(HaveOccurred())
	got := map[string][]byte{}
	got[extensionFile], err = os.ReadFile(filepath.Join(root, extensionFile))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(filepath.WalkDir(filepath.Join(root, "bundle"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(root, path)
		got[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})).To(Succeed())
	if diff := cmp.Diff(text(want), text(got)); diff != "" {
		t.Errorf("bundle/ or the sample is not what config/ says; run make bundle (-want +got):\n%s", diff)
	}
}

// TestDeploymentsAreFound: one label finds the Deployments of the operator and those of edges.
func TestDeploymentsAreFound(t *testing.T) {
	g := NewWithT(t)
	for _, d := range serviceVersion(t).Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		g.Expect(d.Label).To(HaveKeyWithValue("app.kubernetes.io/part-of", "oooi"), d.Name)
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
	rules := slices.Concat(in.ClusterRules[operator], in.ClusterRules[keeper], in.Rules[operator], in.Rules[keeper])
	for _, role := range in.Shipped {
		rules = append(rules, role.Rules...)
	}
	for _, r := range rules {
		g.Expect(r.Resources).NotTo(Or(ContainElement("secrets"), ContainElement("*"), ContainElement("pods")))
		g.Expect(r.Verbs).NotTo(Or(ContainElement("*"), ContainElement("escalate"), ContainElement("impersonate"), ContainElement("deletecollection")))
		g.Expect(r.APIGroups).NotTo(ContainElement("*"))
		if slices.Contains(r.APIGroups, rbacv1.GroupName) {
			g.Expect(r.ResourceNames).To(Or(ConsistOf("oooi-controlplane"), ConsistOf("oooi-edge")))
		}
		if slices.Contains(r.APIGroups, "admissionregistration.k8s.io") {
			g.Expect(r.ResourceNames).To(ConsistOf("oooi-operator", "oooi-edge-leases", "oooi-annotations", "oooi-annotation-keys"))
		}
		if slices.Contains(r.APIGroups, "hypershift.openshift.io") && !slices.Equal(r.Resources, []string{"hostedclusters/status"}) {
			g.Expect(r.Verbs).To(ConsistOf("get", "list", "watch"))
		}
	}
	g.Expect(in.Shipped).To(ConsistOf(HaveField("Name", "oooi-controlplane")), "the rights of edges are Roles of the operator")
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
	g.Expect(written(in.ClusterRules[operator])).To(ConsistOf("get"))
	g.Expect(written(in.ClusterRules[keeper])).To(ConsistOf("create", "patch", "delete"))
	g.Expect(in.ClusterRules[keeper]).To(HaveLen(2), "and owns ClusterRole oooi-controlplane")
	g.Expect(in.Rules[keeper]).To(ConsistOf(rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}}))
	for _, role := range in.Shipped {
		g.Expect(written(role.Rules)).To(BeEmpty())
	}
}

// TestImagesHaveOneVersion: the tag of the operator's image is that of the image of edges. The
// keeper runs the operator's image. A mirror is told of all.
func TestImagesHaveOneVersion(t *testing.T) {
	g := NewWithT(t)
	in := installed(t)
	g.Expect(in.Deployments).To(HaveLen(2))
	manager, policies := in.Deployments[0].Spec.Template.Spec, in.Deployments[1].Spec.Template.Spec
	images, err := in.Images()
	g.Expect(err).NotTo(HaveOccurred())
	_, version, _ := strings.Cut(manager.Containers[0].Image, ":")
	g.Expect(images).To(HaveLen(3))
	g.Expect(images[0].Image).To(And(Equal(manager.Containers[0].Image), HaveSuffix("/oooi:"+version)))
	g.Expect(images[1].Image).To(HaveSuffix("/oooi-edge:" + version))
	g.Expect(images[2].Image).To(ContainSubstring("envoyproxy/envoy:distroless-"))
	g.Expect(policies.Containers[0].Image).To(Equal(manager.Containers[0].Image))
	g.Expect(policies.ServiceAccountName).NotTo(Equal(manager.ServiceAccountName))
}

func installed(t *testing.T) installation {
	t.Helper()
	in, err := read(filepath.Join(root, "config", "olm"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return in
}

// serviceVersion is the one of the bundle, which has no field that its kind does not know.
func serviceVersion(t *testing.T) (csv v1alpha1.ClusterServiceVersion) {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(filepath.Join(root, "bundle/manifests/oooi.clusterserviceversion.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(yaml.UnmarshalStrict(text, &csv)).To(Succeed())
	return csv
}

func TestSamplesBuild(t *testing.T) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "config", "samples"))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(built.Size()).To(Equal(3))
}

// TestPoliciesOutliveTheOperator: config/operator is the operator alone. Without it, the policies limit the
// edges that serve on. The rights of edges are in no manifest: the operator writes them next to the edges.
func TestPoliciesOutliveTheOperator(t *testing.T) {
	g := NewWithT(t)
	names := func(dir string) []string {
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "config", dir))
		g.Expect(err).NotTo(HaveOccurred())
		var out []string
		for _, r := range built.Resources() {
			out = append(out, r.GetKind()+" "+r.GetName())
		}
		return out
	}
	policies, program := names("admission"), names("operator")
	g.Expect(policies).To(ConsistOf(
		"ValidatingAdmissionPolicy oooi-operator", "ValidatingAdmissionPolicyBinding oooi-operator",
		"ValidatingAdmissionPolicy oooi-edge-leases", "ValidatingAdmissionPolicyBinding oooi-edge-leases",
		"ValidatingAdmissionPolicy oooi-annotations", "ValidatingAdmissionPolicyBinding oooi-annotations",
		"ValidatingAdmissionPolicy oooi-annotation-keys", "ValidatingAdmissionPolicyBinding oooi-annotation-keys"))
	g.Expect(program).To(ContainElements("Deployment oooi", "PodDisruptionBudget oooi"))
	for _, p := range policies {
		g.Expect(program).NotTo(ContainElement(p))
	}
	all := names("default")
	g.Expect(all).To(ConsistOf(slices.Concat(policies, program)))
	g.Expect(all).NotTo(ContainElement(ContainSubstring("Role oooi-edge")))
}

// TestMirrorsKnowEveryImage: "disconnected" is claimed, so relatedImages has each image that a pod of
// the operator runs, or that it creates pods with.
func TestMirrorsKnowEveryImage(t *testing.T) {
	g := NewWithT(t)
	in := installed(t)
	csv := serviceVersion(t)
	g.Expect(csv.Annotations).To(HaveKeyWithValue("features.operators.openshift.io/disconnected", "true"))
	var related []string
	for _, r := range csv.Spec.RelatedImages {
		related = append(related, r.Image)
	}
	for _, d := range in.Deployments {
		for _, c := range d.Spec.Template.Spec.Containers {
			g.Expect(related).To(ContainElement(c.Image))
			for _, e := range c.Env {
				if strings.Contains(e.Value, "/") {
					g.Expect(related).To(ContainElement(e.Value), e.Name)
				}
			}
		}
	}
	for _, image := range related {
		g.Expect(image).To(Or(HavePrefix("ghcr.io/cldmnky/"), ContainSubstring("@sha256:")), "the release knows the digests of our own")
	}
}

// TestSuggestedNamespace: a namespace that the console creates has the Pod Security level of config/.
func TestSuggestedNamespace(t *testing.T) {
	g := NewWithT(t)
	in := installed(t)
	csv := serviceVersion(t)
	var suggested corev1.Namespace
	g.Expect(yaml.UnmarshalStrict([]byte(csv.Annotations["operatorframework.io/suggested-namespace-template"]), &suggested)).To(Succeed())
	g.Expect(suggested.Name).To(Equal(csv.Annotations["operatorframework.io/suggested-namespace"]))
	g.Expect(suggested.Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))
	g.Expect(suggested.Labels).To(HaveKeyWithValue("openshift.io/cluster-monitoring", "true"), "OpenShift's Prometheus reads monitors only there")
	g.Expect(suggested).To(Equal(in.Namespace))
	sample, err := os.ReadFile(filepath.Join(root, "config/samples/olm.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var applied corev1.Namespace
	first, _, _ := strings.Cut(string(sample), "\n---\n")
	g.Expect(yaml.UnmarshalStrict([]byte(first), &applied)).To(Succeed())
	g.Expect(applied).To(Equal(in.Namespace))
}

// TestOperatorHubPage: the page is short, and has one link. It is to the documentation of this version, which exists.
func TestOperatorHubPage(t *testing.T) {
	g := NewWithT(t)
	csv := serviceVersion(t)
	g.Expect(len(csv.Spec.Description)).To(BeNumerically("<", 3000))
	rows := regexp.MustCompile("(?m)^\\| `[a-z-]+` \\|").FindAllString(csv.Spec.Description, -1)
	g.Expect(len(rows)).To(And(BeNumerically(">", 2), BeNumerically("<=", 5)), "annotations")
	g.Expect(csv.Spec.Links).To(HaveLen(1))
	page := csv.Spec.Links[0].URL
	links := regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(csv.Spec.Description, -1)
	g.Expect(links).To(HaveLen(1))
	g.Expect(links[0][1]).To(Equal(page))
	g.Expect(strings.Count(csv.Spec.Description, "://")).To(Equal(1), "no other address")
	file, ofVersion := strings.CutPrefix(page, "https://github.com/cldmnky/oooi/blob/v"+csv.Spec.Version.String()+"/")
	g.Expect(ofVersion).To(BeTrue(), page)
	g.Expect(filepath.Join(root, file)).To(BeAnExistingFile())

	_, err := installed(t).Keys("network", "netwrok")
	g.Expect(err).To(MatchError("there is no annotation netwrok"))
}
