// This file runs commands of the documentation that create objects of programs that are not here. The API server has their
// kinds with any content.

package apiserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	_ "github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// A reader types the commands of the documentation in a directory, as an administrator.
type reader struct {
	*Server
	dir, config string
}

// newReader starts an API server that checks rights, and has kinds such as "podmonitors.monitoring.coreos.com/v1 PodMonitor".
func newReader(t *testing.T, dir string, kinds ...string) reader {
	t.Helper()
	g := NewWithT(t)
	r := reader{Start(t, map[string]string{"authorization-mode": "RBAC"}), dir, filepath.Join(t.TempDir(), "kubeconfig")}
	g.Expect(os.WriteFile(r.config, r.Env.KubeConfig, 0o600)).To(Succeed())
	for _, k := range kinds {
		m := regexp.MustCompile(`^(\w+)\.(\S+)/(\S+) (\w+)$`).FindStringSubmatch(k)
		definition := programs.WriteFile(t, t.TempDir(), "kind.yaml", fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  names: {kind: %[4]s, listKind: %[4]sList, plural: %[1]s, singular: %[5]s}
  scope: Namespaced
  versions:
  - {name: %[3]s, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`, m[1], m[2], m[3], m[4], strings.ToLower(m[4])))
		r.InstallDefinitions(t, definition)
	}
	return r
}

// runs types the command of a page that begins with these words. oc is kubectl here.
func (r reader) runs(t *testing.T, page, words string) {
	t.Helper()
	g := NewWithT(t)
	command := regexp.MustCompile(`(?m)^    ` + words + `.*$`).FindString(string(projectFile(t, "docs/"+page)))
	g.Expect(command).NotTo(BeEmpty(), "docs/%s has no command %s", page, words)
	cmd := exec.CommandContext(t.Context(), filepath.Join(r.Env.BinaryAssetsDirectory, "kubectl"), append(strings.Fields(command)[1:], "--kubeconfig="+r.config)...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s: %s", command, out)
}

// count counts the objects of a kind in a namespace.
func (r reader) count(t *testing.T, group, version, kind, namespace string) int {
	t.Helper()
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind + "List"})
	NewWithT(t).Expect(r.Admin.List(t.Context(), &list, client.InNamespace(namespace))).To(Succeed())
	return len(list.Items)
}

// TestAlertsOnOpenShift: an installation with OLM has no alert. After the command of docs/gitops.md, OpenShift's Prometheus has all
// monitors and rules in a namespace that it reads, and finds the pods. The command of docs/install.md takes back what that added.
func TestAlertsOnOpenShift(t *testing.T) {
	g := NewWithT(t)
	r := newReader(t, t.TempDir(), "podmonitors.monitoring.coreos.com/v1 PodMonitor", "prometheusrules.monitoring.coreos.com/v1 PrometheusRule")
	g.Expect(r.Admin.Create(t.Context(), Objects(t, projectFile(t, "config/samples/olm.yaml"))[0])).To(Succeed(), "the namespace")
	text, err := exec.CommandContext(t.Context(), filepath.Join(r.Env.BinaryAssetsDirectory, "kubectl"), "kustomize", filepath.Join(projectRoot(t), "config", "openshift")).Output()
	g.Expect(err).NotTo(HaveOccurred())
	programs.WriteFile(t, r.dir, "openshift.yaml", string(text))
	prometheus, err := client.New(Impersonating(r.Env.Config, "openshift-monitoring", "prometheus-k8s"), client.Options{Scheme: Scheme(t)})
	g.Expect(err).NotTo(HaveOccurred())
	// finds returns what the API server says when Prometheus lists pods. It knows a new right a moment later.
	finds := func() metav1.StatusReason {
		return apierrors.ReasonForError(prometheus.List(t.Context(), &corev1.PodList{}))
	}
	// reads counts the objects of a kind that OpenShift's Prometheus reads: those in namespaces with this label (podMonitorNamespaceSelector
	// and ruleNamespaceSelector of assets/prometheus-k8s/prometheus.yaml in cluster-monitoring-operator).
	reads := func(kind string) (n int) {
		var namespaces corev1.NamespaceList
		g.Expect(r.Admin.List(t.Context(), &namespaces, client.MatchingLabels{"openshift.io/cluster-monitoring": "true"})).To(Succeed())
		for _, namespace := range namespaces.Items {
			n += r.count(t, "monitoring.coreos.com", "v1", kind, namespace.Name)
		}
		return n
	}

	g.Expect(reads("PrometheusRule")).To(BeZero())
	g.Expect(finds()).To(Equal(metav1.StatusReasonForbidden), "by itself, OpenShift's Prometheus finds no pods of other namespaces")
	r.runs(t, "gitops.md", "oc apply -f openshift.yaml")
	g.Expect(reads("PodMonitor")).To(Equal(2))
	g.Expect(reads("PrometheusRule")).To(Equal(1))
	g.Eventually(finds).Should(BeEmpty())
	unlabelled := &corev1.Namespace{ObjectMeta: named("", "oooi-system")}
	g.Expect(r.Admin.Patch(t.Context(), unlabelled, client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"openshift.io/cluster-monitoring": null}}}`)))).To(Succeed())
	g.Expect(reads("PodMonitor")).To(BeZero())
	r.runs(t, "gitops.md", "oc label namespace oooi-system")
	g.Expect(reads("PodMonitor")).To(Equal(2))
	g.Expect(apierrors.IsForbidden(prometheus.List(t.Context(), &corev1.SecretList{}))).To(BeTrue())

	r.runs(t, "install.md", "oc delete -f openshift.yaml")
	g.Expect(reads("PrometheusRule")).To(BeZero())
	g.Eventually(finds).Should(Equal(metav1.StatusReasonForbidden))
	g.Expect(r.Admin.Get(t.Context(), client.ObjectKey{Name: "oooi-system"}, &corev1.Namespace{})).To(Succeed(), "the operator's namespace stays")
}

// TestGitOpsSamples: the commands of docs/gitops.md add the health of HostedClusters to Argo CD's settings, which keep all others, and
// create what a hub of Advanced Cluster Management needs for the policy.
func TestGitOpsSamples(t *testing.T) {
	g := NewWithT(t)
	r := newReader(t, projectRoot(t), "policies.policy.open-cluster-management.io/v1 Policy", "placementbindings.policy.open-cluster-management.io/v1 PlacementBinding",
		"placements.cluster.open-cluster-management.io/v1beta1 Placement", "managedclustersetbindings.cluster.open-cluster-management.io/v1beta2 ManagedClusterSetBinding")
	settings := &corev1.ConfigMap{ObjectMeta: named("argocd", "argocd-cm"), Data: map[string]string{"url": "https://argocd.example.com"}}
	g.Expect(r.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: named("", "argocd")})).To(Succeed())
	g.Expect(r.Admin.Create(t.Context(), settings)).To(Succeed())
	r.runs(t, "gitops.md", "kubectl patch configmap argocd-cm")
	g.Expect(r.Admin.Get(t.Context(), client.ObjectKeyFromObject(settings), settings)).To(Succeed())
	g.Expect(settings.Data).To(And(HaveLen(2), HaveKey("url"), HaveKey("resource.customizations.health.hypershift.openshift.io_HostedCluster")))

	r.runs(t, "gitops.md", "kubectl create namespace")
	r.runs(t, "gitops.md", "kubectl apply -f config/samples/acm-policy.yaml")
	g.Expect(r.count(t, "policy.open-cluster-management.io", "v1", "Policy", "policies")).To(Equal(1))
	g.Expect(r.count(t, "cluster.open-cluster-management.io", "v1beta2", "ManagedClusterSetBinding", "policies")).To(Equal(1))
}
