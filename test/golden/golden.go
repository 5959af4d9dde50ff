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
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Check that got is what the file at path says. A nil got says that there must
// be no such file.
func Check(t testing.TB, path string, got []byte) {
	t.Helper()
	if updating() {
		update(t, path, got)
		return
	}
	compare(t, path, read(t, path), got)
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

// read is nil where there is no file.
func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return b
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
