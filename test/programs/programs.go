// Package programs gives the product's tests the real programs that the testbed
// builds: an Envoy, an API server with its etcd. The testbed is a Go module of its
// own, so this package runs its command and imports none of it.
package programs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// RequireEnvoy returns the path of a real Envoy: the variable ENVOY, or what `testbed envoy` finds or fetches. Without
// one the test is skipped, or fails where CI=true. OOOI_UNIT skips it.
func RequireEnvoy(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("ENVOY"); path != "" {
		return path
	}
	if os.Getenv("OOOI_UNIT") != "" {
		t.Skip("needs an Envoy; OOOI_UNIT is set")
	}
	path, err := testbed(t, "envoy")
	skipWithout(t, err)
	return path
}

// RequireInstalled returns the path of a program that `make test-deps` installs. Without it the test is skipped, or
// fails where CI=true.
func RequireInstalled(t testing.TB, name string) string {
	t.Helper()
	program, err := exec.LookPath(name)
	skipWithout(t, err)
	return program
}

// RequireCNIPlugins returns the directory of the CNI plugins that edges use: the variable CNI_PLUGINS, or what
// `testbed cni-plugins` builds. OOOI_UNIT skips the test.
func RequireCNIPlugins(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("CNI_PLUGINS"); dir != "" {
		return dir
	}
	if os.Getenv("OOOI_UNIT") != "" {
		t.Skip("needs CNI plugins; OOOI_UNIT is set")
	}
	dir, err := testbed(t, "cni-plugins")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// RequireKonnectivity returns the directory of proxy-server and proxy-agent: the variable KONNECTIVITY, or what
// `testbed konnectivity` builds. OOOI_UNIT skips the test.
func RequireKonnectivity(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("KONNECTIVITY"); dir != "" {
		return dir
	}
	if os.Getenv("OOOI_UNIT") != "" {
		t.Skip("needs konnectivity; OOOI_UNIT is set")
	}
	dir, err := testbed(t, "konnectivity")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// skipWithout skips the test if err says why a program is not there, or fails it where CI=true.
func skipWithout(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

// RequireAPIServer returns the directory of etcd, kube-apiserver and kubectl: the variable KUBEBUILDER_ASSETS, or what
// `testbed assets` builds, for minutes when it is not in its cache. OOOI_UNIT skips the test.
func RequireAPIServer(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		return dir
	}
	if os.Getenv("OOOI_UNIT") != "" {
		t.Skip("needs a real API server; OOOI_UNIT is set")
	}
	dir, err := testbed(t, "assets")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// testbed runs a verb of the testbed's command, which prints a path.
func testbed(t testing.TB, verb string) (string, error) {
	module, err := testbedModule()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(t.Context(), "go", "-C", module, "run", "./cmd/run", "./cmd/testbed", verb)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("testbed %s: %w", verb, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// testbedModule is the testbed's directory in the project that the working directory is in.
func testbedModule() (string, error) {
	root, err := Root()
	return filepath.Join(root, "test", "testbed"), err
}

// Root is the directory of the project that the working directory is in.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "test", "testbed", "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no test/testbed/go.mod above the working directory")
		}
	}
}
