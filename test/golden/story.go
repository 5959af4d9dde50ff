// This file reads stories and their golden files as wholes, whether they are
// stored whole or as differences to the base story.

package golden

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	objectsFile = "objects.yaml"
	patchFile   = "patch.yaml"
	// differenceSuffix follows the name of a golden file that is stored as a
	// difference.
	differenceSuffix = ".diff"
)

// A Story is one folder of test/scenarios: the same world as each package of
// the chain sees it.
type Story struct {
	Name, Dir string
	// Base is the name of the story that this one is patched onto. Empty: its
	// objects.yaml is whole.
	Base string
	base *Story
}

// Stories are all of them, those that are whole first, else by name. It fails
// where there is none.
func Stories(t testing.TB) []Story {
	t.Helper()
	all := filepath.Join(Root(t), "test", "scenarios")
	dirs, err := os.ReadDir(all)
	if err != nil {
		t.Fatal(err)
	}
	whole := map[string]*Story{}
	var out []Story
	for _, d := range dirs {
		s := Story{Name: d.Name(), Dir: filepath.Join(all, d.Name())}
		if _, err := os.Stat(filepath.Join(s.Dir, objectsFile)); err == nil {
			whole[s.Name] = &s
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		t.Fatal("no stories")
	}
	for _, d := range dirs {
		s := Story{Name: d.Name(), Dir: filepath.Join(all, d.Name())}
		text := read(t, filepath.Join(s.Dir, patchFile))
		if text == nil {
			continue
		}
		if s.Base = baseOf(text); whole[s.Base] == nil {
			t.Fatalf("story %s is patched onto %q, which is no story with %s", s.Name, s.Base, objectsFile)
		}
		s.base = whole[s.Base]
		out = append(out, s)
	}
	return out
}

// Find is the story with this name.
func Find(t testing.TB, name string) Story {
	t.Helper()
	stories := Stories(t)
	i := slices.IndexFunc(stories, func(s Story) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no story %s", name)
	}
	return stories[i]
}

// Shows is what the story shows: the comment at the top of its world, in one line.
func (s Story) Shows(t testing.TB) string {
	t.Helper()
	text := read(t, filepath.Join(s.Dir, objectsFile))
	if s.base != nil {
		text = read(t, filepath.Join(s.Dir, patchFile))
	}
	var words []string
	for line := range strings.Lines(string(text)) {
		comment, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		words = append(words, strings.TrimSpace(comment))
	}
	return strings.Join(words, " ")
}

// Read is a whole file of the story. Nil: the story ends before that step.
func (s Story) Read(t testing.TB, name string) []byte {
	t.Helper()
	if s.base == nil {
		return read(t, filepath.Join(s.Dir, name))
	}
	if name == objectsFile {
		text, err := patched(s.base.Read(t, objectsFile), read(t, filepath.Join(s.Dir, patchFile)))
		if err != nil {
			t.Fatalf("story %s: %v", s.Name, err)
		}
		return text
	}
	difference := read(t, filepath.Join(s.Dir, name+differenceSuffix))
	if difference == nil {
		return read(t, filepath.Join(s.Dir, name))
	}
	whole, err := apply(s.base.Read(t, name), difference)
	if err != nil {
		t.Fatalf("story %s: %s: %v", s.Name, name, err)
	}
	return whole
}

// File is the path of a file that holds what Read gives.
func (s Story) File(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(s.Dir, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, s.Read(t, name), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Check that got is what the story's file says, from its first byte to its last.
// A nil got says that the story ends before that step.
func (s Story) Check(t testing.TB, name string, got []byte) {
	t.Helper()
	path := filepath.Join(s.Dir, name)
	if !updating() {
		compare(t, path, s.Read(t, name), got)
		return
	}
	stored := s.stored(t, name, got)
	if stored != nil {
		got = nil
	}
	update(t, path, got)
	update(t, path+differenceSuffix, stored)
}

// stored is got as difference to the base's file. Nil where got is to be stored
// whole: what a user reads, and what has more differences than lines.
func (s Story) stored(t testing.TB, name string, got []byte) []byte {
	t.Helper()
	if s.base == nil || got == nil || slices.Contains([]string{"plan.txt", "condition.txt"}, name) {
		return nil
	}
	base := s.base.Read(t, name)
	if base == nil {
		return nil
	}
	d := difference(s.Base, name, base, got)
	if bytes.Count(d, []byte("\n")) >= bytes.Count(got, []byte("\n")) {
		return nil
	}
	if again, err := apply(base, d); err != nil || !bytes.Equal(again, got) {
		t.Fatalf("story %s: the difference of %s does not give the whole: %v", s.Name, name, err)
	}
	return d
}
