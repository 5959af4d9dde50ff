package controllers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/test/programs"
)

// An apiServer is a real one, with its etcd and nothing else: no controller
// fills in a Deployment's status or collects garbage, so tests do.
type apiServer struct {
	admin client.Client
	// operator is the operator's ServiceAccount, with the rights of config/.
	operator *rest.Config
	env      *envtest.Environment
}

// newAPIServer starts one that refuses what OpenShift's does, with what
// config/default installs.
func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	g := NewWithT(t)
	env := &envtest.Environment{BinaryAssetsDirectory: programs.RequireAPIServer(t)}
	env.ControlPlane.GetAPIServer().Configure().Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement").
		// Where it listens is the tests' to say.
		Append("endpoint-reconciler-type", "none")
	conf, err := env.Start()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, AddToScheme} {
		g.Expect(add(scheme)).To(Succeed())
	}
	conf.QPS = -1
	admin, err := client.New(conf, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	account := testOptions.ServiceAccount
	s := &apiServer{admin: admin, operator: impersonating(conf, account.Namespace, account.Name), env: env}
	s.install(t)
	s.awaitPolicies(t)
	port := int32(6443)
	g.Expect(admin.Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: apiServerSlice.Namespace, Name: apiServerSlice.Name},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.11"}}},
		Ports:       []discoveryv1.EndpointPort{{Port: &port}},
	})).To(Succeed())
	return s
}

// install applies config/default, as a user does.
func (s *apiServer) install(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	text, err := exec.CommandContext(t.Context(), filepath.Join(s.env.BinaryAssetsDirectory, "kubectl"), "kustomize", filepath.Join("..", "config", "default")).Output()
	g.Expect(err).NotTo(HaveOccurred())
	s.apply(t, text)
}

// awaitPolicies waits until the API server enforces the policies of config/admission.
func (s *apiServer) awaitPolicies(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	edge := s.as(t, "oooi-system", wire.ServiceAccount)
	g.Expect(s.admin.Apply(t.Context(), roleBinding(wire.ServiceAccount, "oooi-system", wire.ServiceAccount, "oooi-system"), client.FieldOwner("test"))).To(Succeed())
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "oooi-system", Name: "foreign"}}
	for who, c := range map[string]client.Client{admission.Operator: s.asOperator(t), admission.EdgeLeases: edge} {
		g.Eventually(func() error { return c.Create(t.Context(), lease.DeepCopy(), client.DryRunAll) }).WithTimeout(patience).
			Should(MatchError(ContainSubstring("ValidatingAdmissionPolicy '" + who + "'")))
	}
	g.Expect(s.admin.Delete(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "oooi-system", Name: wire.ServiceAccount}})).To(Succeed())
}

// as is a client with the rights of one ServiceAccount, that knows all kinds.
func (s *apiServer) as(t *testing.T, ns, name string) client.Client {
	t.Helper()
	c, err := client.New(impersonating(s.operator, ns, name), client.Options{Scheme: s.admin.Scheme()})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}

// impersonating is conf with the name and the groups of a ServiceAccount.
func impersonating(conf *rest.Config, ns, name string) *rest.Config {
	out := rest.CopyConfig(conf)
	out.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + ns + ":" + name,
		Groups:   []string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:" + ns},
	}
	return out
}

// asOperator is a client with the operator's rights.
func (s *apiServer) asOperator(t *testing.T) client.Client {
	t.Helper()
	return s.as(t, testOptions.ServiceAccount.Namespace, testOptions.ServiceAccount.Name)
}

// controlPlaneNamespace is one as HyperShift labels it.
func controlPlaneNamespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"hypershift.openshift.io/hosted-control-plane": "true"}}}
}

// writerIn is the operator where it may write for w, in a namespace that Pod Security restricts.
func (s *apiServer) writerIn(t *testing.T, w world) client.Client {
	t.Helper()
	g := NewWithT(t)
	ns := controlPlaneNamespace(hcp.ControlPlaneNamespace(w.HostedCluster))
	ns.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	g.Expect(client.IgnoreAlreadyExists(s.admin.Create(t.Context(), ns))).To(Succeed())
	c := s.asOperator(t)
	binding := client.ApplyConfigurationFromUnstructured(controlPlaneBinding(w, testOptions))
	g.Expect(c.Apply(t.Context(), binding, client.FieldOwner(wire.Owner), client.ForceOwnership)).To(Succeed())
	g.Eventually(func() error {
		return c.List(t.Context(), &policyv1.PodDisruptionBudgetList{}, client.InNamespace(ns.Name))
	}).
		WithTimeout(patience).Should(Succeed())
	return c
}

// apply creates every object of a manifest, whose namespaces exist.
func (s *apiServer) apply(t *testing.T, manifest []byte) {
	t.Helper()
	for _, u := range objectsOf(t, manifest) {
		NewWithT(t).Expect(s.admin.Create(t.Context(), u)).To(Succeed(), "%s %s", u.GetKind(), u.GetName())
	}
}

func objectsOf(t *testing.T, manifest []byte) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := d.Decode(&u.Object)
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(u.Object) > 0 {
			out = append(out, u)
		}
	}
}

// installKinds makes the API server know HyperShift's kinds from HyperShift's
// own definitions, and the others.
func (s *apiServer) installKinds(t *testing.T) {
	t.Helper()
	hypershift := filepath.Join(moduleDir(t, "github.com/openshift/hypershift/api"), "hypershift", "v1beta1", "zz_generated.featuregated-crd-manifests")
	dir := t.TempDir()
	files := []string{
		filepath.Join(moduleDir(t, "github.com/openshift/api"), "route", "v1", "zz_generated.crd-manifests", "routes.crd.yaml"),
		filepath.Join(moduleDir(t, "github.com/k8snetworkplumbingwg/network-attachment-definition-client"), "artifacts", "networks-crd.yaml"),
	}
	for _, plural := range []string{"hostedclusters", "nodepools", "hostedcontrolplanes"} {
		files = append(files, filepath.Join(hypershift, plural+".hypershift.openshift.io", "AAA_ungated.yaml"))
	}
	g := NewWithT(t)
	g.Expect(os.WriteFile(filepath.Join(dir, "vmi.yaml"), []byte(programs.VMIDefinition), 0o600)).To(Succeed())
	for i, path := range files {
		g.Expect(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.yaml", i)), withoutAnnotations(t, path), 0o600)).To(Succeed())
	}
	_, err := envtest.InstallCRDs(s.env.Config, envtest.CRDInstallOptions{Paths: []string{dir}})
	g.Expect(err).NotTo(HaveOccurred())
}

// withoutAnnotations reads a CustomResourceDefinition and drops its annotations, except for the approval of a *.k8s.io
// group: HyperShift's ungated ones have a key that no API server takes.
func withoutAnnotations(t *testing.T, path string) []byte {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	crd := unstructured.Unstructured{}
	g.Expect(sigsyaml.Unmarshal(text, &crd.Object)).To(Succeed())
	const approval = "api-approved.kubernetes.io"
	annotations := map[string]string{}
	if v, ok := crd.GetAnnotations()[approval]; ok {
		annotations[approval] = v
	}
	crd.SetAnnotations(annotations)
	text, err = sigsyaml.Marshal(crd.Object)
	g.Expect(err).NotTo(HaveOccurred())
	return text
}

func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", module, err)
	}
	return strings.TrimSpace(string(out))
}

// run starts the operator with its own rights, until the test ends.
func (s *apiServer) run(t *testing.T) (*Reconciler, *prometheus.Registry) {
	t.Helper()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(AddToScheme(scheme)).To(Succeed())
	skipName := true
	mgr, err := ctrl.NewManager(s.operator, ctrl.Options{
		Scheme: scheme, Cache: CacheOptions(), Metrics: metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "oooi.densityops.com", LeaderElectionNamespace: "oooi-system", LeaderElectionReleaseOnCancel: true,
		Controller: config.Controller{SkipNameValidation: &skipName},
	})
	g.Expect(err).NotTo(HaveOccurred())
	registry := prometheus.NewRegistry()
	r := &Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("oooi"),
		Metrics: NewMetrics(registry), Options: testOptions, Now: time.Now,
	}
	g.Expect(r.SetupWithManager(mgr)).To(Succeed())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended: %v", err)
		}
	})
	return r, registry
}
