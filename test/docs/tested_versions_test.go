package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var testedVersion = regexp.MustCompile(`(?m)^\| (HyperShift|Kubernetes|KubeVirt|Multus) \| ([0-9.]+) \|`)

// TestTestedVersions: the page for users names the versions that tests use, and no others.
func TestTestedVersions(t *testing.T) {
	var want, got []string
	for _, tested := range []struct{ part, file, version string }{
		{"HyperShift", "test/testbed/modules/hypershift/go.mod", `github\.com/openshift/hypershift v(\S+)`},
		{"HyperShift", "Makefile", `(?m)^compared = v(\S+)$`},
		{"Kubernetes", "test/testbed/modules/kube/go.mod", `k8s\.io/kubernetes v(1\.\S+)`},
		{"Kubernetes", "test/oldest/go.mod", `k8s\.io/apiserver v(0\.\S+)`},
		{"Multus", "test/testbed/modules/cni/go.mod", `multus-cni\.v4 v(\S+)`},
		{"KubeVirt", "go.mod", `kubevirt\.io/api v(\S+)`},
	} {
		text, err := os.ReadFile(filepath.Join(root, tested.file))
		if err != nil {
			t.Fatal(err)
		}
		version := regexp.MustCompile(tested.version).FindStringSubmatch(string(text))
		if version == nil {
			t.Fatalf("%s names no version of %s", tested.file, tested.part)
		}
		number := version[1]
		if minor, library := strings.CutPrefix(number, "0."); library && tested.part == "Kubernetes" {
			number = "1." + minor // its libraries have version 0 for 1
		}
		want = append(want, tested.part+" "+number)
	}
	for _, row := range testedVersion.FindAllStringSubmatch(documents(t)["install.md"], -1) {
		got = append(got, row[1]+" "+row[2])
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("docs/install.md has other tested versions than the modules (-modules +page):\n%s", d)
	}
	onlyThere(t, strings.TrimPrefix(want[0], "HyperShift "))
}

// onlyThere: the version of HyperShift on the test cluster is in its go.mod and on the page, so that a new one is a change there alone.
func onlyThere(t *testing.T, version string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin"}, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains([]string{".go", ".md", ".yaml", ".txt"}, filepath.Ext(path)) || filepath.Base(path) == "install.md":
			return nil
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), version) {
			t.Errorf("%s names HyperShift %s: docs/install.md does", path, version)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
