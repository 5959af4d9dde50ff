package dns

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
)

// described are the metrics and reasons of the section about DNS in docs/metrics.md: what the rows of its tables begin with.
func described(t *testing.T) (metrics, reasons []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## DNS\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		switch {
		case !strings.HasPrefix(line, "| `"):
		case strings.HasPrefix(line, "| `oooi_"):
			metrics = append(metrics, strings.ReplaceAll(strings.TrimSpace(cells[1])+" "+strings.TrimSpace(cells[2]), "`", ""))
		default:
			reasons = append(reasons, strings.Trim(cells[1], " `"))
		}
	}
	slices.Sort(metrics)
	slices.Sort(reasons)
	return metrics, reasons
}

// TestMetricsAreDescribed: docs/metrics.md lists each metric with its labels, and each reason. A label that a client could
// choose would be one more label.
func TestMetricsAreDescribed(t *testing.T) {
	g := NewWithT(t)
	m := NewMetrics(prometheus.NewRegistry())
	described, reasons := described(t)
	descriptions := make(chan *prometheus.Desc, 100)
	for _, c := range m.all() {
		c.Describe(descriptions)
	}
	close(descriptions)
	pattern := regexp.MustCompile(`fqName: "(\w+)".*variableLabels: \{([\w,]*)\}`)
	var have []string
	for d := range descriptions {
		found := pattern.FindStringSubmatch(d.String())
		g.Expect(found).To(HaveLen(3), d.String())
		have = append(have, found[1]+" "+strings.ReplaceAll(found[2], ",", ", "))
	}
	slices.Sort(have)
	g.Expect(described).To(Equal(have))
	g.Expect(reasons).To(Equal(constants(t, "metrics.go", "shed")))
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
