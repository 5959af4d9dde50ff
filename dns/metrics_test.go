package dns

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestReasonsAreDescribed: docs/metrics.md lists each reason for a dropped query or answer.
func TestReasonsAreDescribed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## DNS\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var reasons []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| `") && !strings.HasPrefix(line, "| `oooi_") {
			reasons = append(reasons, strings.Trim(strings.Split(line, "|")[1], " `"))
		}
	}
	slices.Sort(reasons)
	NewWithT(t).Expect(reasons).To(Equal(constants(t, "metrics.go", "shed")))
}

// constants are the values of the string constants in a file whose names have a prefix.
func constants(t *testing.T, file, prefix string) (out []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if strings.HasPrefix(name.Name, prefix) && i < len(spec.Values) {
				s, err := strconv.Unquote(spec.Values[i].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, s)
			}
		}
		return true
	})
	slices.Sort(out)
	return out
}
