package rules

import (
	"go/ast"
	"go/token"
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

// TestAnEdgeDoesNotImportTheOperator: what an edge's containers run is neither the
// operator nor HyperShift's types.
func TestAnEdgeDoesNotImportTheOperator(t *testing.T) {
	checked := 0
	for _, s := range sources(t) {
		name, isCommand := strings.CutPrefix(s.path, "cmd/oooi/")
		runsInEdge := isCommand && slices.ContainsFunc([]string{"edge", "dhcp", "dns", "proxy", "server"}, func(p string) bool { return strings.HasPrefix(name, p) })
		if s.isTest() || !runsInEdge && !strings.HasPrefix(s.path, "edge/") {
			continue
		}
		checked++
		for _, i := range s.imports() {
			ours := strings.TrimPrefix(i, module)
			if ours == "controllers" || ours == "hcp" || strings.HasPrefix(ours, "controllers/") || strings.HasPrefix(ours, "hcp/") {
				t.Errorf("%s imports %s: names that both sides know belong to edge/wire", s.path, i)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d files run in an edge: is this test looking in the right place?", checked)
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

// each calls f with every string in product code that is no import and no tag.
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
