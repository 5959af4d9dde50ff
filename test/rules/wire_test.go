package rules

import (
	"go/ast"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWireUsesTheStandardLibrary: the operator and an edge agree on names without
// sharing anything else.
func TestWireUsesTheStandardLibrary(t *testing.T) {
	for _, s := range sources(t) {
		if s.pkg() != "edge/wire" || s.isTest() {
			continue
		}
		for _, i := range s.imports() {
			if strings.Contains(i, ".") && i != module+"network" {
				t.Errorf("%s imports %s: edge/wire imports network and the standard library only", s.path, i)
			}
		}
	}
}

// TestWhatAnEdgeLinks: what the containers of an edge run contains nothing of the operator, none of
// HyperShift, and no kinds of Kubernetes that an edge does not read. Each would be memory in every
// container, and CPU time in every probe.
func TestWhatAnEdgeLinks(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/oooi-edge")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	linked := strings.Fields(string(out))
	if len(linked) < 200 || !slices.Contains(linked, module+"edge/agent") {
		t.Fatalf("%d packages: is this test looking in the right place?", len(linked))
	}
	for _, path := range linked {
		for _, no := range []string{
			module + "controllers", module + "hcp", "sigs.k8s.io/controller-runtime", "github.com/openshift", "kubevirt.io",
			"k8s.io/client-go/kubernetes", "k8s.io/client-go/testing", "k8s.io/api/apps",
		} {
			if path == no || strings.HasPrefix(path, no+"/") {
				t.Errorf("cmd/oooi-edge links %s", path)
			}
		}
	}
}

// TestWhatTheAPIProxyLinks: no part of the operator or of an edge.
func TestWhatTheAPIProxyLinks(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/oooi-apiproxy")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	linked := strings.Fields(string(out))
	if len(linked) < 200 || !slices.Contains(linked, module+"hcp/apirewrite") {
		t.Fatalf("%d packages: is this test looking in the right place?", len(linked))
	}
	for _, path := range linked {
		for _, no := range []string{
			module + "controllers", module + "edge", module + "network", module + "envoy", "sigs.k8s.io/controller-runtime", "github.com/openshift", "kubevirt.io",
			"k8s.io/client-go/kubernetes", "k8s.io/client-go/testing", "github.com/prometheus",
		} {
			if path == no || strings.HasPrefix(path, no+"/") {
				t.Errorf("cmd/oooi-apiproxy links %s", path)
			}
		}
	}
}

// TestNamesOnTheWireExistOnce: a name of edge/wire is written there and nowhere else
// in product code.
func TestNamesOnTheWireExistOnce(t *testing.T) {
	names := map[string]string{}
	each(t, func(s source, l string) {
		// A plain word such as "dhcp" may mean something else elsewhere.
		if s.pkg() == "edge/wire" && len(l) > 5 && l[0] != '-' && strings.ContainsAny(l, "-./") {
			names[l] = s.path
		}
	})
	if len(names) < 15 {
		t.Fatalf("only %d names on the wire: %v", len(names), names)
	}
	each(t, func(s source, l string) {
		if where, there := names[l]; there && s.pkg() != "edge/wire" {
			t.Errorf("%s says %q, which stands in %s", s.path, l, where)
		}
	})
}

// each calls f with every string in product code that is neither an import nor a tag.
func each(t *testing.T, f func(s source, literal string)) {
	for _, s := range sources(t) {
		if !s.isProduct() {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					f(s, strings.Trim(n.Value, "`\""))
				}
			}
			return true
		})
	}
}
