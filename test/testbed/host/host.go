// Package host contains what the testbed needs from this host: the paths of files, locks between processes, the output of commands,
// and Debian packages.
package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// CacheDir returns the directory for what is built once and used again: $OOOI_CACHE/testbed, else one below the user's cache
// directory.
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

// ProjectDir returns the root of this checkout. It is the working directory or one above. Otherwise ProjectDir returns an error.
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

// ReplaceLink makes path a symbolic link to target. It replaces an existing file.
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
