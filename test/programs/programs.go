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

// RequireEnvoy returns the path of a real Envoy: the variable ENVOY, or what `testbed envoy` finds or fetches.
func RequireEnvoy(t testing.TB) string {
	t.Helper()
	return require(t, "ENVOY", "envoy")
}

// RequireCNIPlugins returns the directory of the CNI plugins that edges use: the variable CNI_PLUGINS, or what
// `testbed cni-plugins` builds.
func RequireCNIPlugins(t testing.TB) string {
	t.Helper()
	return require(t, "CNI_PLUGINS", "cni-plugins")
}

// RequireKonnectivity returns the directory of proxy-server and proxy-agent: the variable KONNECTIVITY, or what
// `testbed konnectivity` builds.
func RequireKonnectivity(t testing.TB) string {
	t.Helper()
	return require(t, "KONNECTIVITY", "konnectivity")
}

// RequireNetpold returns the path of the program that enforces NetworkPolicies: the variable NETPOLD, or what
// `testbed netpold` builds.
func RequireNetpold(t testing.TB) string {
	t.Helper()
	return require(t, "NETPOLD", "netpold")
}

// RequireAPIServer returns the directory of etcd, kube-apiserver and kubectl: the variable KUBEBUILDER_ASSETS, or what
// `testbed assets` builds, for minutes when it is not in its cache.
func RequireAPIServer(t testing.TB) string {
	t.Helper()
	return require(t, "KUBEBUILDER_ASSETS", "assets")
}

// require returns the value of a variable, or else what a verb of the testbed's command prints. OOOI_UNIT skips the test if
// the variable is not set.
func require(t testing.TB, variable, verb string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		return path
	}
	skipUnit(t, verb+" of the testbed")
	path, err := testbed(t, verb)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// RequireOwn returns the path of a program of this project, "oooi" or "oooi-edge": the variable OOOI_BINARY or
// OOOI_EDGE_BINARY, or what is built now.
func RequireOwn(t testing.TB, name string) string {
	t.Helper()
	if path := os.Getenv(strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_BINARY"); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), name)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "github.com/cldmnky/oooi/cmd/"+name).CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v: %s", name, err, out)
	}
	return path
}

// RequireInstalled returns the path of a program that `make test-deps` installs. Without it the test is skipped, or
// fails where CI=true. OOOI_UNIT skips it.
func RequireInstalled(t testing.TB, name string) string {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		lacks(t, err)
	}
	return program
}

// RequireRoot skips the test, or fails it where CI=true, if it does not run as root. OOOI_UNIT skips it.
func RequireRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		lacks(t, errors.New("this test needs root"))
	}
}

// lacks skips the test, as err says why it cannot run here, or fails it where CI=true. OOOI_UNIT skips it in any case.
func lacks(t testing.TB, err error) {
	t.Helper()
	skipUnit(t, err.Error())
	if os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	t.Skip(err)
}

// skipUnit skips the test if OOOI_UNIT is set, as the test needs more than a unit test has.
func skipUnit(t testing.TB, needs string) {
	t.Helper()
	if os.Getenv("OOOI_UNIT") != "" {
		t.Skipf("OOOI_UNIT is set: %s", needs)
	}
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
