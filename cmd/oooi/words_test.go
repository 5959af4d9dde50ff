package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestDocumentedCommands: what the documents tell a reader to type works as they
// say, from the module's root.
func TestDocumentedCommands(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	pages, err := filepath.Glob(filepath.Join("docs", "*.md"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	tried := map[string]bool{}
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		for _, m := range regexp.MustCompile(`(?m)^    bin/oooi ((plan|lint) [^|>\n]*)$`).FindAllStringSubmatch(string(text), -1) {
			tried[m[2]] = true
			t.Run(m[1], func(t *testing.T) {
				g := NewWithT(t)
				_, stderr, code := oooi(t, "", strings.Fields(m[1])...)
				g.Expect(stderr).To(BeEmpty())
				g.Expect(code).To(BeElementOf(0, 2, 3))
			})
		}
	}
	NewWithT(t).Expect(tried).To(And(HaveKey("plan"), HaveKey("lint")))
}
