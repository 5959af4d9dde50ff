// Package golden compares what a test got with the file that says what it
// should be, and finds the stories under test/scenarios. UPDATE_GOLDEN=1 writes
// the files instead of comparing: read the difference before you commit it.
package golden

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A Story is one folder of test/scenarios: the same world as each package of
// the chain sees it.
type Story struct {
	Name, Dir string
}

// Stories are all of them, or a failure where there is none.
func Stories(t testing.TB) []Story {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(root(t), "test", "scenarios", "*", "objects.yaml"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	var out []Story
	for _, d := range dirs {
		out = append(out, Story{Name: filepath.Base(filepath.Dir(d)), Dir: filepath.Dir(d)})
	}
	return out
}

// root is the module's: a test runs in its package's folder.
func root(t testing.TB) string {
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

// Path of a file of the story.
func (s Story) Path(name string) string { return filepath.Join(s.Dir, name) }

// Read a file of the story. A file that is not there is nil: the story ends
// before that step.
func (s Story) Read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(s.Path(name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return b
}

// Check that got is what the file at path says. A nil got says that there must
// be no such file.
func Check(t testing.TB, path string, got []byte) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		update(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); `make golden` accepts it:\n%s", path, diff)
	}
}

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
