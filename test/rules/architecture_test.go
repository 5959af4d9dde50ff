package rules

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArchitecture: docs/ARCHITECTURE.md has each room in one row, and none above a room that it imports. It stays a page, and the files
// that it names exist.
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
	for _, named := range regexp.MustCompile("`((?:access|cmd|config|controllers|derive|dhcp|dns|docs|edge|envoy|explain|hcp|network|ntp|reported|test)/[^`]+)`").FindAllStringSubmatch(page, -1) {
		path := regexp.MustCompile("<[a-z]+>").ReplaceAllString(named[1], "*")
		if found, err := filepath.Glob(filepath.Join("..", "..", path)); err != nil || len(found) == 0 {
			t.Errorf("docs/ARCHITECTURE.md names %s, which does not exist", path)
		}
	}
}

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
