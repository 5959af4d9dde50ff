// This file holds what the go.mod files list: the operator's lists the operator's own dependencies, and all modules
// of the project agree on versions.

package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// testTools are the modules that the operator's go.mod lists for its tests alone.
func testTools() []string {
	return []string{"github.com/google/go-cmp", "github.com/onsi/gomega", "kubevirt.io/api", "sigs.k8s.io/randfill"}
}

// A requirement is one line of a go.mod.
type requirement struct {
	module, version string
	direct          bool
}

var requirementLine = regexp.MustCompile(`(?m)^(?:require)?\s+([^\s/]+\.[^\s/]+/\S+) (v\S+)( // indirect)?$`)

func requirements(t *testing.T, path string) []requirement {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	var out []requirement
	for _, m := range requirementLine.FindAllStringSubmatch(string(text), -1) {
		out = append(out, requirement{module: m[1], version: m[2], direct: m[3] == ""})
	}
	if len(out) == 0 {
		t.Fatalf("%s lists nothing", path)
	}
	return out
}

// moduleOf returns the longest module path that an import path begins with, or "".
func moduleOf(path string, modules []string) string {
	best := ""
	for _, m := range modules {
		if (path == m || strings.HasPrefix(path, m+"/")) && len(m) > len(best) {
			best = m
		}
	}
	return best
}

// TestGoModListsTheOperatorsDependencies: a scanner bills each line to those who run the operator. What only the
// testbed or the bundle's generator needs is in their own go.mod.
func TestGoModListsTheOperatorsDependencies(t *testing.T) {
	var direct []string
	for _, r := range requirements(t, "go.mod") {
		if r.direct {
			direct = append(direct, r.module)
		}
	}
	used := map[string]bool{}
	for _, s := range sources(t) {
		if !s.isProduct() {
			continue
		}
		for _, i := range s.imports() {
			used[moduleOf(i, direct)] = true
		}
	}
	for _, m := range direct {
		switch tool := slices.Contains(testTools(), m); {
		case !used[m] && !tool:
			t.Errorf("go.mod requires %s, which no product code imports: avoid it, move its user to test/testbed, or list it in testTools", m)
		case used[m] && tool:
			t.Errorf("product code imports %s, which testTools lists as a tool of tests", m)
		}
	}
}

// TestModulesAgreeOnVersions: what is tested is what is shipped. The programs in test/testbed/modules are others'
// and choose their own versions; `make bench-compile` holds that they have most in common.
func TestModulesAgreeOnVersions(t *testing.T) {
	versions := map[string]string{}
	for _, r := range requirements(t, "go.mod") {
		versions[r.module] = r.version
	}
	for _, path := range []string{"config/bundle/go.mod", "config/release/go.mod", "test/testbed/go.mod"} {
		for _, r := range requirements(t, path) {
			if want, ok := versions[r.module]; ok && r.version != want {
				t.Errorf("%s requires %s %s, and go.mod %s", path, r.module, r.version, want)
			}
		}
	}
}
