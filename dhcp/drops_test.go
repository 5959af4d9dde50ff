package dhcp

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDropReasons: docs/metrics.md explains each reason for a dropped message, and no other. All dropped messages are counted with one of
// these reasons.
func TestDropReasons(t *testing.T) {
	read := func(file string) string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	all := func(pattern, text string) (out []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return out
	}
	reasons := all(`drop = "([a-z-]+)"`, read("metrics.go"))
	_, section, _ := strings.Cut(read("../docs/metrics.md"), "## DHCP\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, table, _ := strings.Cut(section, "| reason |")
	if documented := all("(?m)^\\| `([a-z-]+)` \\|", table); !slices.Equal(documented, reasons) {
		t.Errorf("documented are %v, not %v", documented, reasons)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range sources {
		if strings.HasSuffix(file, "_test.go") || file == "metrics.go" {
			continue
		}
		text := read(file)
		if strings.Contains(text, "metrics.DHCPDropped") || regexp.MustCompile(`drops\("|return (v|nil), "[a-z]`).MatchString(text) {
			t.Errorf("%s counts a reason that is not in metrics.go", file)
		}
	}
}
