// Package golden compares what a test got with the file that says what it
// should be, and reads the stories below test/scenarios. A story is a world and
// every translation of it. What a story has in common with its base stands once,
// with the base; the story's own files hold the differences.
//
// UPDATE_GOLDEN=1 writes the files instead of comparing: read the difference
// before you commit it.
package golden

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// known has the stories that were read, by root. Tests find stories hundreds of times, and each patch is parsed for its base.
var known sync.Map

// Stories are all of them, each after its base. It fails where there is none.
func Stories(t testing.TB) []Story {
	t.Helper()
	root := Root(t)
	if out, ok := known.Load(root); ok {
		return slices.Clone(out.([]Story))
	}
	out, err := All(root)
	if err != nil || len(out) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	known.Store(root, out)
	return slices.Clone(out)
}

// Find is the story with this name.
func Find(t testing.TB, name string) Story {
	t.Helper()
	stories := Stories(t)
	i := index(stories, name)
	if i < 0 {
		t.Fatalf("no story %s", name)
	}
	return stories[i]
}

// Read is Whole, for a test.
func (s Story) Read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := s.Whole(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
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
	d, err := s.difference(name, got)
	if err != nil {
		t.Fatal(err)
	}
	if d != nil {
		got = nil
	}
	update(t, path, got)
	update(t, path+differenceSuffix, d)
}

// Check that got is what the file at path says. A nil got says that there must
// be no such file.
func Check(t testing.TB, path string, got []byte) {
	t.Helper()
	if updating() {
		update(t, path, got)
		return
	}
	want, err := optional(path)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, path, want, got)
}

func updating() bool { return os.Getenv("UPDATE_GOLDEN") != "" }

func compare(t testing.TB, path string, want, got []byte) {
	t.Helper()
	if diff := cmp.Diff(string(want), string(got)); diff != "" || (want == nil) != (got == nil) {
		t.Errorf("%s differs (-want +got); `make golden` accepts it:\n%s", path, diff)
	}
}

// update writes got, or removes the file where got is nil.
func update(t testing.TB, path string, got []byte) {
	t.Helper()
	err := os.Remove(path)
	if got != nil {
		err = os.WriteFile(path, got, 0o644)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// Root is the module's folder: a test runs in its package's.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above this test")
		}
		dir = filepath.Dir(dir)
	}
}
