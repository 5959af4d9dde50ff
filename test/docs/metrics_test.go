// This file writes the tables of docs/metrics.md from the table of metrics.

package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cldmnky/oooi/network/metrics"
	"github.com/cldmnky/oooi/test/golden"
)

// metricsTable matches the table of metrics in the section of a program, and what is before it there.
var metricsTable = regexp.MustCompile("(?s)(\n## (\\w+)\n.*?\n\\| metric \\| labels \\| meaning \\|\n\\| --- \\| --- \\| --- \\|\n)((?:\\| `oooi_[^\n]*\n)*)")

// metricsPage is page with the tables of metrics that the programs have.
func metricsPage(page string) string {
	return metricsTable.ReplaceAllStringFunc(page, func(section string) string {
		m := metricsTable.FindStringSubmatch(section)
		out := m[1]
		for _, row := range metrics.Table() {
			if string(row.Of) != strings.ToLower(m[2]) {
				continue
			}
			labels := " "
			if len(row.Labels) > 0 {
				labels = " `" + strings.Join(row.Labels, "`, `") + "` "
			}
			out += fmt.Sprintf("| `%s` |%s| %s |\n", row.Name, labels, row.Help)
		}
		return out
	})
}

// TestGoldenMetrics: docs/metrics.md has each metric, and no other one.
func TestGoldenMetrics(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := metricsPage(string(page))
	for _, m := range metrics.Table() {
		if strings.Count(want, "\n| `"+m.Name+"` |") != 1 {
			t.Errorf("docs/metrics.md has no section with a table for %s", m.Name)
		}
	}
	golden.Check(t, filepath.Join(root, "docs", "metrics.md"), []byte(want))
}
