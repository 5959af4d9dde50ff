package rules

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cldmnky/oooi/test/golden"
)

// TestGoldenArchitecture: docs/ARCHITECTURE.md has a row for each package, with what it may import.
func TestGoldenArchitecture(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "ARCHITECTURE.md")
	var named []string
	row := regexp.MustCompile("(?m)^\\| `([a-z/-]+)` \\| ([^|\n]+) \\| (-|`[a-z/-]+`(?:, `[a-z/-]+`)*) \\|$")
	want := row.ReplaceAllStringFunc(file(t, filepath.Join("docs", "ARCHITECTURE.md")), func(line string) string {
		cells := row.FindStringSubmatch(line)
		imports, known := mayImport[cells[1]]
		if !known {
			return line
		}
		named = append(named, cells[1])
		return "| `" + cells[1] + "` | " + cells[2] + " | " + packageList(imports) + " |"
	})
	golden.Check(t, path, []byte(want))
	for _, pkg := range slices.Sorted(maps.Keys(mayImport)) {
		if !slices.Contains(named, pkg) {
			t.Errorf("%s has no row for %s: what is it for?", path, pkg)
		}
	}
}

// packageList writes the packages that one may import.
func packageList(all []string) string {
	if len(all) == 0 {
		return "-"
	}
	return "`" + strings.Join(all, "`, `") + "`"
}
