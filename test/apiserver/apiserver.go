// Package apiserver gives tests a real API server with its etcd, what config/default installs, and
// the kinds of HyperShift, KubeVirt and OpenShift that oooi reads. Nothing else runs: no controller
// fills in a Deployment's status or collects garbage, so tests do.
package apiserver

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/test/programs"
)

// A Server is a real API server.
type Server struct {
	// Admin may do everything, without a limit of requests.
	Admin client.Client
	// Env has the administrator's configuration, and the directory of the programs.
	Env *envtest.Environment
}

// Scheme has the imported types of all kinds: tests write whole objects.
func Scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	out := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, hyperv1.AddToScheme, nadv1.AddToScheme, routev1.Install, kubevirtv1.AddToScheme,
	} {
		must(t, add(out))
	}
	return out
}

// Start runs a server until the test ends. It refuses what OpenShift's refuses, and does not
// write where it listens. flags are further ones by name, without leading dashes.
func Start(t testing.TB, flags map[string]string) *Server {
	t.Helper()
	env, _ := Run(t, asOpenShift(flags))
	return serverOf(t, env)
}

// asOpenShift configures an API server as Start describes it.
func asOpenShift(flags map[string]string) func(*envtest.Environment) {
	return func(env *envtest.Environment) {
		args := env.ControlPlane.GetAPIServer().Configure().
			Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement").
			Append("endpoint-reconciler-type", "none").
			// Hosted clusters of a test have hundreds of Services.
			Set("service-cluster-ip-range", "10.0.0.0/20")
		for name, value := range flags {
			args.Set(name, value)
		}
	}
}

func serverOf(t testing.TB, env *envtest.Environment) *Server {
	t.Helper()
	admin, err := client.New(env.Config, client.Options{Scheme: Scheme(t)})
	must(t, err)
	return &Server{Admin: admin, Env: env}
}

// startWithin is how long etcd and the API server have to start, each, and a new kind to be served: a minute and more on a
// busy machine.
const startWithin = 3 * time.Minute

// Run starts an API server with its etcd, whose configuration has no limit of requests, until stop is called or the test
// ends. configure changes it before; nil changes nothing.
//
// A server that does not start is replaced once: envtest waits five seconds, no more, for the namespace default.
func Run(t testing.TB, configure func(*envtest.Environment)) (env *envtest.Environment, stop func() error) {
	t.Helper()
	assets := programs.RequireAPIServer(t)
	start := func() error {
		env = &envtest.Environment{BinaryAssetsDirectory: assets, ControlPlaneStartTimeout: startWithin, ControlPlaneStopTimeout: startWithin}
		env.CRDInstallOptions.MaxTime = startWithin
		// Directories of the test, so that the programs find their certificates and data again when Restore starts them.
		env.ControlPlane.Etcd = &envtest.Etcd{DataDir: t.TempDir()}
		env.ControlPlane.GetAPIServer().CertDir = t.TempDir()
		if configure != nil {
			configure(env)
		}
		_, err := env.Start()
		return err
	}
	if err := start(); err != nil {
		t.Logf("an API server did not start, so another one does: %v", err)
		_ = env.Stop()
		if err := start(); err != nil {
			_ = env.Stop()
			t.Fatal(err)
		}
	}
	env.Config.QPS = -1
	stop = sync.OnceValue(env.Stop)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return env, stop
}

// Install applies config/default, as a user does.
func (s *Server) Install(t testing.TB) {
	t.Helper()
	root, err := programs.Root()
	must(t, err)
	kubectl := filepath.Join(s.Env.BinaryAssetsDirectory, "kubectl")
	text, err := exec.CommandContext(t.Context(), kubectl, "kustomize", filepath.Join(root, "config", "default")).Output()
	must(t, err)
	s.Apply(t, text)
}

// Apply creates every object of a manifest, whose namespaces exist.
func (s *Server) Apply(t testing.TB, manifest []byte) {
	t.Helper()
	for _, u := range Objects(t, manifest) {
		if err := s.Admin.Create(t.Context(), u); err != nil {
			t.Fatalf("creating %s %s: %v", u.GetKind(), u.GetName(), err)
		}
	}
}

// InstallKinds makes the API server know all Definitions.
func (s *Server) InstallKinds(t testing.TB) {
	t.Helper()
	dir := t.TempDir()
	for name, crd := range Definitions(t) {
		text, err := sigsyaml.Marshal(crd.Object)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name+".yaml"), text, 0o600))
	}
	s.InstallDefinitions(t, dir)
}

// InstallDefinitions makes the API server know the CustomResourceDefinitions in files or directories.
func (s *Server) InstallDefinitions(t testing.TB, paths ...string) {
	t.Helper()
	_, err := envtest.InstallCRDs(s.Env.Config, envtest.CRDInstallOptions{Paths: paths, MaxTime: startWithin})
	must(t, err)
}

// Definitions are the CustomResourceDefinitions of HyperShift's kinds, which are HyperShift's own, and of
// the other kinds that oooi reads, by name.
func Definitions(t testing.TB) map[string]*unstructured.Unstructured {
	t.Helper()
	hypershift := filepath.Join(ModuleDir(t, "github.com/openshift/hypershift/api"), "hypershift", "v1beta1", "zz_generated.featuregated-crd-manifests")
	files := []string{
		filepath.Join(ModuleDir(t, "github.com/openshift/api"), "route", "v1", "zz_generated.crd-manifests", "routes.crd.yaml"),
		filepath.Join(ModuleDir(t, "github.com/k8snetworkplumbingwg/network-attachment-definition-client"), "artifacts", "networks-crd.yaml"),
	}
	for _, plural := range []string{"hostedclusters", "nodepools", "hostedcontrolplanes"} {
		files = append(files, filepath.Join(hypershift, plural+".hypershift.openshift.io", "AAA_ungated.yaml"))
	}
	vmi := Objects(t, []byte(programs.VMIDefinition))[0]
	out := map[string]*unstructured.Unstructured{vmi.GetName(): vmi}
	for _, path := range files {
		crd := withoutAnnotations(t, path)
		out[crd.GetName()] = crd
	}
	return out
}

// withoutAnnotations reads a CustomResourceDefinition and drops its annotations, except for the approval of a *.k8s.io
// group: HyperShift's ungated ones have a key that no API server takes.
func withoutAnnotations(t testing.TB, path string) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	crd := &unstructured.Unstructured{}
	must(t, sigsyaml.Unmarshal(text, &crd.Object))
	const approval = "api-approved.kubernetes.io"
	annotations := map[string]string{}
	if v, ok := crd.GetAnnotations()[approval]; ok {
		annotations[approval] = v
	}
	crd.SetAnnotations(annotations)
	return crd
}

// Objects are the objects of a manifest.
func Objects(t testing.TB, manifest []byte) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := d.Decode(&u.Object)
		if err == io.EOF {
			return out
		}
		must(t, err)
		if len(u.Object) > 0 {
			out = append(out, u)
		}
	}
}

// moduleDirs are the directories that ModuleDir found, by module.
var moduleDirs sync.Map

// ModuleDir is the directory of a Go module that go.mod names.
func ModuleDir(t testing.TB, module string) string {
	t.Helper()
	if dir, ok := moduleDirs.Load(module); ok {
		return dir.(string)
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", module, err)
	}
	dir := strings.TrimSpace(string(out))
	moduleDirs.Store(module, dir)
	return dir
}

// Impersonating is config with the name and the groups of a ServiceAccount.
func Impersonating(config *rest.Config, ns, name string) *rest.Config {
	out := rest.CopyConfig(config)
	out.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + ns + ":" + name,
		Groups:   []string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:" + ns},
	}
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Serve sets d's status as if its pod were there as desired, and ready. It reports whether that changes it.
func Serve(d *appsv1.Deployment) (changed bool) {
	if d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == 1 {
		return false
	}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	return true
}
