// Package host is what the testbed uses of this machine: where files are, locks between processes,
// the output of commands, and Debian packages. It knows nothing of clusters.
package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// CacheDir holds what is built once and used again: $OOOI_CACHE/testbed, else under the
// user's cache directory.
func CacheDir() string {
	if d := os.Getenv("OOOI_CACHE"); d != "" {
		return filepath.Join(d, "testbed")
	}
	d, err := os.UserCacheDir()
	if err != nil {
		d = "/var/tmp"
	}
	return filepath.Join(d, "oooi", "testbed")
}

// ProjectDir is the root of this checkout, found upwards from the working directory. The testbed builds from its
// sources, and is an error outside of it.
func ProjectDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module github.com/cldmnky/oooi\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the testbed builds from source: run it inside the project's directory")
		}
	}
}

// ReplaceLink makes path a symbolic link to target, whatever it was before.
func ReplaceLink(target, path string) error {
	if now, err := os.Readlink(path); err == nil && now == target {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.Symlink(target, temp); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
