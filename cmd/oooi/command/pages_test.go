package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestPagesAreOfTheRelease: a release links to its own pages, and any other program to the newest ones.
func TestPagesAreOfTheRelease(t *testing.T) {
	g := NewWithT(t)
	g.Expect(pagesOf("v0.1.0")).To(Equal("https://github.com/cldmnky/oooi/blob/v0.1.0/docs/"))
	g.Expect(pagesOf("")).To(Equal("https://github.com/cldmnky/oooi/blob/main/docs/"))
}

// TestPagesHaveOnePlace: no other file of the program has the address of the pages.
func TestPagesHaveOnePlace(t *testing.T) {
	g := NewWithT(t)
	own, err := filepath.Glob("../*.go")
	g.Expect(err).NotTo(HaveOccurred())
	rooms, err := filepath.Glob("../*/*.go")
	g.Expect(err).NotTo(HaveOccurred())
	var found []string
	for _, f := range append(own, rooms...) {
		text, err := os.ReadFile(f)
		g.Expect(err).NotTo(HaveOccurred())
		if !strings.HasSuffix(f, "_test.go") && regexp.MustCompile(`https://github\.com/cldmnky/oooi/(blob|tree)`).Match(text) {
			found = append(found, f)
		}
	}
	g.Expect(found).To(Equal([]string{"../command/pages.go"}))
}
