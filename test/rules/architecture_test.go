package rules

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArchitecture: docs/ARCHITECTURE.md has each room in one row, and none above a room that it imports. It stays a page.
func TestArchitecture(t *testing.T) {
	page := file(t, filepath.Join("docs", "ARCHITECTURE.md"))
	if n := strings.Count(page, "\n"); n > 120 {
		t.Errorf("docs/ARCHITECTURE.md has %d lines: more than 120", n)
	}
	_, rooms, _ := strings.Cut(page, "\n## Rooms\n")
	rooms, _, _ = strings.Cut(rooms, "\n## ")
	var above []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z/-]+)` \\| ([^|\n]+) \\|$").FindAllStringSubmatch(rooms, -1) {
		here := roomsOf(row[1], row[2])
		for _, room := range here {
			for _, imported := range mayImport[room] {
				if !slices.Contains(above, imported) && !slices.Contains(here, imported) {
					t.Errorf("docs/ARCHITECTURE.md: the row of %s is not below that of %s, which it imports", room, imported)
				}
			}
			if slices.Contains(above, room) {
				t.Errorf("docs/ARCHITECTURE.md has two rows for %s", room)
			}
		}
		above = append(above, here...)
	}
	all := slices.Sorted(maps.Keys(mayImport))
	if slices.Sort(above); !slices.Equal(above, all) {
		t.Errorf("docs/ARCHITECTURE.md has rows for %v, and the rooms are %v", above, all)
	}
}

// TestOperatorAndEdgeAreApart: neither imports the other, except for what the page names.
func TestOperatorAndEdgeAreApart(t *testing.T) {
	operator, edge := regexp.MustCompile("^(hcp|config|controllers)(/|$)"), regexp.MustCompile("^(dhcp|dns|ntp|access|envoy|edge)(/|$)")
	for room, all := range mayImport {
		for _, imported := range all {
			shared := imported == "edge/wire" || room == "controllers/desired" && imported == "envoy/resources"
			if operator.MatchString(room) && edge.MatchString(imported) && !shared || edge.MatchString(room) && operator.MatchString(imported) {
				t.Errorf("%s imports %s: one is of the operator, the other of an edge", room, imported)
			}
		}
	}
}

// TestNamedFilesExist: the files and folders of the tree that a document names exist.
func TestNamedFilesExist(t *testing.T) {
	root := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("reading documents: %v", err)
	}
	for _, page := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")) {
		name, _ := filepath.Rel(root, page)
		for _, named := range namedFile.FindAllStringSubmatch(file(t, name), -1) {
			path := regexp.MustCompile("<[a-z]+>").ReplaceAllString(named[1], "*")
			if found, err := filepath.Glob(filepath.Join(root, path)); err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which does not exist", name, path)
			}
		}
	}
}

var namedFile = regexp.MustCompile("`((?:access|cmd|config|controllers|derive|dhcp|dns|docs|edge|envoy|explain|hcp|network|ntp|reported|test)/[^` ]+)`")

// roomsOf returns the rooms of a row: the one in its first column, if that is a room, and those in its folder that the sentence names.
func roomsOf(folder, sentence string) (out []string) {
	names := []string{folder}
	for _, named := range regexp.MustCompile("`([a-z/-]+)`").FindAllStringSubmatch(sentence, -1) {
		names = append(names, folder+"/"+named[1])
	}
	for _, name := range names {
		if _, ok := mayImport[name]; ok {
			out = append(out, name)
		}
	}
	return out
}
