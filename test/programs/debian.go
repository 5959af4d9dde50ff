// This file gives tests programs of Debian packages that cannot all be installed: each time daemon
// replaces the others, and the host's own.

package programs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// RequireUnpacked returns the path of a program in a Debian package, which is downloaded and unpacked below the
// user's cache, and not installed. The program is at one of paths, which are relative to the root directory. Without the
// package the test is skipped, or fails where CI=true. OOOI_UNIT skips it.
func RequireUnpacked(t testing.TB, name string, paths ...string) string {
	t.Helper()
	program, _ := RequireUnpackedWith(t, nil, name, paths...)
	return program
}

// RequireUnpackedWith is RequireUnpacked for a program that needs shared libraries of further packages, which are
// unpacked, too. The program runs with environment, a variable of the dynamic linker.
func RequireUnpackedWith(t testing.TB, libraries []string, name string, paths ...string) (program, environment string) {
	t.Helper()
	skipUnit(t, "needs package "+name)
	program, environment, err := unpacked(t.Context(), libraries, name, paths)
	if err != nil {
		lacks(t, err)
	}
	return program, environment
}

// RequirePythonModules returns the path of Python, and the variable with which it finds the modules of Debian packages.
// They are unpacked as RequireUnpacked does it, without their dependencies: the caller names those, too.
func RequirePythonModules(t testing.TB, packages ...string) (python, environment string) {
	t.Helper()
	skipUnit(t, "needs package "+packages[0])
	python = RequireInstalled(t, "python3")
	cache, err := packagesDir()
	dirs := make([]string, len(packages))
	for i, name := range packages {
		if err == nil {
			dirs[i], err = fileOf(t.Context(), cache, name, []string{"usr/lib/python3/dist-packages"})
		}
	}
	if err != nil {
		lacks(t, err)
	}
	return python, "PYTHONPATH=" + strings.Join(dirs, ":")
}

// packagesDir is where packages are unpacked.
func packagesDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	all := filepath.Join(cache, "oooi-packages")
	return all, os.MkdirAll(all, 0o755)
}

func unpacked(ctx context.Context, libraries []string, name string, paths []string) (program, environment string, err error) {
	all, err := packagesDir()
	if err != nil {
		return "", "", err
	}
	if program, err = fileOf(ctx, all, name, paths); err != nil {
		return "", "", err
	}
	var dirs []string
	for _, library := range libraries {
		if _, err := fileOf(ctx, all, library, []string{"usr/lib"}); err != nil {
			return "", "", err
		}
		of, err := filepath.Glob(filepath.Join(all, library, "usr", "lib", "*-linux-gnu*"))
		if err != nil || len(of) == 0 {
			return "", "", fmt.Errorf("package %s has no shared libraries: %w", library, err)
		}
		dirs = append(dirs, of...)
	}
	environment = "LD_LIBRARY_PATH=" + strings.Join(dirs, ":")
	ldd := exec.CommandContext(ctx, "ldd", program)
	ldd.Env = append(os.Environ(), environment)
	out, err := ldd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "not found") {
		return "", "", fmt.Errorf("ldd %s: %v: %s", program, err, out)
	}
	return program, environment, nil
}

// fileOf returns the first of paths in a package, which it unpacks to its name in all if it is not there.
func fileOf(ctx context.Context, all, name string, paths []string) (string, error) {
	dir := filepath.Join(all, name)
	if file := firstFile(dir, paths); file != "" {
		return file, nil
	}
	if err := unpack(ctx, name, all, paths); err != nil {
		return "", err
	}
	if file := firstFile(dir, paths); file != "" {
		return file, nil
	}
	return "", fmt.Errorf("package %s has none of %s", name, strings.Join(paths, ", "))
}

// firstFile returns the first of paths that is in dir, "" if none is.
func firstFile(dir string, paths []string) string {
	for _, path := range paths {
		if file := filepath.Join(dir, path); fileExists(file) {
			return file
		}
	}
	return ""
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// unpack unpacks a package, which has one of paths, to its name in all: as a whole or not at all.
func unpack(ctx context.Context, name, all string, paths []string) error {
	dir, err := os.MkdirTemp(all, "."+name+"-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	run := func(program string, args ...string) error {
		c := exec.CommandContext(ctx, program, args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, out)
		}
		return nil
	}
	if err := run("apt-get", "-q", "download", name); err != nil {
		// The package lists may be old, or missing. One process at a time may write them.
		lists, err := os.OpenFile(filepath.Join(all, ".lists"), os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return err
		}
		defer func() { _ = lists.Close() }()
		if err := unix.Flock(int(lists.Fd()), unix.LOCK_EX); err != nil {
			return err
		}
		if err := run("apt-get", "-q", "update"); err != nil {
			return err
		}
		if err := run("apt-get", "-q", "download", name); err != nil {
			return err
		}
	}
	if err := run("sh", "-c", "dpkg -x *.deb unpacked && chmod 755 unpacked"); err != nil {
		return err
	}
	return replace(filepath.Join(dir, "unpacked"), filepath.Join(all, name), paths)
}

// replace renames a directory to its place. What is there stays if it has one of paths: another test was
// faster, and runs it. Otherwise it is the package of another version.
func replace(dir, place string, paths []string) error {
	err := os.Rename(dir, place)
	if err == nil || firstFile(place, paths) != "" {
		return nil
	}
	if err := os.RemoveAll(place); err != nil {
		return err
	}
	return os.Rename(dir, place)
}
