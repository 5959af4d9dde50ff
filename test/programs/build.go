// This file builds programs that tests compare ours with, and writes their configuration.

package programs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Build compiles a package of the Go module in the directory dir, below the test's own, and returns the program's path. The
// program is named as the directory, in the user's cache.
func Build(t testing.TB, dir, pkg string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(cache, "oooi-packages", dir)
	if out, err := exec.CommandContext(t.Context(), "go", "-C", dir, "build", "-o", program, pkg).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v: %s", dir, err, out)
	}
	return program
}

// WriteFile writes a file that every user can read, and returns its path.
func WriteFile(t testing.TB, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
