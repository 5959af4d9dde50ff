package main

import (
	"os"
	"path/filepath"
	"regexp"
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
	files, err := filepath.Glob("*.go")
	g.Expect(err).NotTo(HaveOccurred())
	var found []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		g.Expect(err).NotTo(HaveOccurred())
		if !regexp.MustCompile(`_test\.go$`).MatchString(f) && regexp.MustCompile(`https://github\.com/cldmnky/oooi/(blob|tree)`).Match(text) {
			found = append(found, f)
		}
	}
	g.Expect(found).To(Equal([]string{"pages.go"}))
}

// TestEntrypointsAreHidden: help and completion have what users run, and not what containers run. Both still run it.
func TestEntrypointsAreHidden(t *testing.T) {
	g := NewWithT(t)
	help, _, _ := oooi(t, "", "--help")
	names, _, _ := oooi(t, "", "__complete", "")
	for _, c := range []string{"manager", "admission"} {
		g.Expect(help).NotTo(MatchRegexp(`(?m)^  `+c+` `), help)
		g.Expect(names).NotTo(MatchRegexp(`(?m)^`+c+`\b`), names)
		text, _, code := oooi(t, "", c, "--help")
		g.Expect(code).To(BeZero())
		g.Expect(text).To(ContainSubstring("oooi " + c))
	}
	for _, c := range []string{"check", "lint", "map", "must-gather", "plan", "status"} {
		g.Expect(help).To(MatchRegexp(`(?m)^  `+c+` `), help)
	}
}
