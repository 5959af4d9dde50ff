// This file creates and removes cgroup roots for kubelets, with cgroups of version 1 or 2.

package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const cgroupRoot = "/sys/fs/cgroup"

// hierarchies returns the mount points of the cgroup hierarchies: one for version 2, or one for each set of controllers of
// version 1.
func hierarchies() []string {
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		return []string{cgroupRoot}
	}
	found, _ := filepath.Glob(filepath.Join(cgroupRoot, "*", "cgroup.procs")) // Never an error: the pattern is well-formed.
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found
}

// MakeCgroup creates a cgroup with this name at the root of every hierarchy, if it does not exist. It is for kubelet's option
// cgroupRoot: "/" + name.
func MakeCgroup(name string) error {
	for _, h := range hierarchies() {
		dir := filepath.Join(h, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		// A new cpuset of version 1 is empty, and an empty one accepts no process.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			all, err := os.ReadFile(filepath.Join(h, file))
			if err != nil {
				continue // Another hierarchy, or version 2.
			}
			if err := os.WriteFile(filepath.Join(dir, file), all, 0o644); err != nil {
				return err
			}
		}
		if h == cgroupRoot {
			if err := delegate(h, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// delegate enables all controllers of version 2 for the cgroups below dir.
func delegate(parent, dir string) error {
	controllers, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, c := range strings.Fields(string(controllers)) {
		for _, d := range []string{parent, dir} {
			if err := os.WriteFile(filepath.Join(d, "cgroup.subtree_control"), []byte("+"+c), 0o644); err != nil {
				return fmt.Errorf("cgroup controller %s: %w", c, err)
			}
		}
	}
	return nil
}

// CgroupNames returns the names of the cgroups directly below the root of any hierarchy.
func CgroupNames() []string {
	seen := map[string]bool{}
	for _, h := range hierarchies() {
		entries, _ := os.ReadDir(h)
		for _, e := range entries {
			seen[e.Name()] = true
		}
	}
	var names []string
	for name := range seen {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// RemoveCgroup kills every process in the cgroups with this name, and removes these cgroups and all below them. If there are none,
// it does nothing.
func RemoveCgroup(name string) error {
	const patience = time.Minute // A killed process leaves its cgroup some time later.
	var err error
	for start := time.Now(); time.Since(start) < patience; time.Sleep(20 * time.Millisecond) {
		err = nil
		for _, h := range hierarchies() {
			err = errors.Join(err, clearCgroup(filepath.Join(h, name)))
		}
		if err == nil {
			return nil
		}
	}
	return err
}

// clearCgroup kills the processes in the cgroup, and removes the cgroups there that are empty.
func clearCgroup(root string) error {
	var dirs []string
	walk := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return nil // A cgroup that no longer exists needs no removal.
	})
	sort.Sort(sort.Reverse(sort.StringSlice(dirs))) // Children come first.
	for _, dir := range dirs {
		pids, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for _, p := range strings.Fields(string(pids)) {
			if pid, err := strconv.Atoi(p); err == nil && pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			walk = errors.Join(walk, err)
		}
	}
	return walk
}
