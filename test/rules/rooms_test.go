// This file limits packages: how much one may hold, that none imports a package above it, and that no two have one name.

package rules

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// A package has at most so many files and lines, not counting tests.
const maxFiles, maxLines = 15, 2500

// tooLarge are the packages above a limit. None is added, and one that has become small enough is removed.
var tooLarge []string

// climbs are the packages that import one above them. None is added, and one that no longer does so is removed.
var climbs []string

// TestPackagesAreSmall: a package can be held in the head.
func TestPackagesAreSmall(t *testing.T) {
	files, lines := map[string]int{}, map[string]int{}
	for _, s := range sources(t) {
		if !s.isTest() {
			files[s.pkg()]++
			lines[s.pkg()] += s.lines
		}
	}
	for pkg := range files {
		large := files[pkg] > maxFiles || lines[pkg] > maxLines
		switch listed := slices.Contains(tooLarge, pkg); {
		case large && !listed:
			t.Errorf("%s has %d files with %d lines, and a package has at most %d with %d: move what belongs together to a package of its own", pkg, files[pkg], lines[pkg], maxFiles, maxLines)
		case listed && !large:
			t.Errorf("%s is small enough: remove it from the list", pkg)
		}
	}
	for _, pkg := range tooLarge {
		if files[pkg] == 0 {
			t.Errorf("%s is no package: remove it from the list", pkg)
		}
	}
}

// TestNoPackageClimbs: a package is composed by the one above it, and does not import that.
func TestNoPackageClimbs(t *testing.T) {
	climbing := map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		for _, i := range s.imports() {
			if ours, ok := strings.CutPrefix(i, module); ok && strings.HasPrefix(s.pkg(), ours+"/") {
				climbing[s.pkg()] = true
				if !slices.Contains(climbs, s.pkg()) {
					t.Errorf("%s imports %s, which is above it: move what both need to a package of its own", s.path, ours)
				}
			}
		}
	}
	for _, pkg := range climbs {
		if !climbing[pkg] {
			t.Errorf("%s imports nothing above it: remove it from the list", pkg)
		}
	}
}

// TestPackageNamesDiffer: one name, one meaning. A reader of `files.Add` knows which package that is.
func TestPackageNamesDiffer(t *testing.T) {
	first := map[string]string{}
	for pkg := range mayImport {
		name := path.Base(pkg)
		if other := first[name]; other != "" {
			t.Errorf("%s and %s have one name", pkg, other)
		}
		first[name] = pkg
	}
}
