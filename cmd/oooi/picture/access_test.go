package picture

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/test/blue"
	"github.com/cldmnky/oooi/test/facts"
	"github.com/cldmnky/oooi/test/golden"
)

// TestMapAccess: docs/map.md has the same as a picture, which is drawn below that of VMs.
func TestMapAccess(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "map.md"))
	g.Expect(err).NotTo(HaveOccurred())
	_, after, _ := strings.Cut(string(page), "## Callers in the management cluster\n")
	_, example, _ := strings.Cut(after, "\n\n    ")
	example, _, _ = strings.Cut(example, "\n\nThe")
	f := facts.Open()
	text := drawn(t, pictureOf(status.OutputOf(f, blue.At), f.Plan), "text")
	g.Expect(text).To(HavePrefix(drawn(t, bluePicture(), "text")))
	g.Expect(strings.TrimPrefix(text, drawn(t, bluePicture(), "text"))).To(Equal("\n" + regexp.MustCompile(`(?m)^    `).ReplaceAllString("    "+example, "") + "\n"))
}

// TestMapAccessGolden: docs/map-access.svg is the same picture.
func TestMapAccessGolden(t *testing.T) {
	f := facts.Open()
	golden.Check(t, filepath.Join("..", "..", "..", "docs", "map-access.svg"), []byte(drawn(t, pictureOf(status.OutputOf(f, blue.At), f.Plan), "svg")))
}
