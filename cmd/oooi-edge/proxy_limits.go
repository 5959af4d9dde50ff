// This file reads from the kernel how much memory and how many open files a container has. It
// decides nothing: package envoy makes limits of the numbers.

package main

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// openFiles returns how many files a process of this container may have open, at most: the hard limit. All
// containers of a pod have the same one. Zero: it is not known.
func openFiles() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return l.Max
}

// containerMemory returns the memory limit of this process in bytes: the smallest of its cgroup and of those
// around it. Zero: there is none. Root is "/".
func containerMemory(root string) uint64 {
	f, err := os.Open(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	smallest := uint64(math.MaxUint64)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// hierarchy:controllers:path, see cgroups(7). A container sees its own cgroup as the root, whatever the path.
		parts := strings.SplitN(lines.Text(), ":", 3)
		if len(parts) != 3 {
			continue
		}
		hierarchy, file := "", ""
		switch {
		case parts[1] == "":
			file = "memory.max"
		case parts[1] == "memory":
			hierarchy, file = "memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for path := filepath.Clean("/" + parts[2]); ; path = filepath.Dir(path) {
			smallest = min(smallest, limitIn(filepath.Join(root, "sys/fs/cgroup", hierarchy, path, file)))
			if path == "/" {
				break
			}
		}
	}
	if smallest > math.MaxInt64/2 {
		return 0
	}
	return smallest
}

// limitIn returns the number in a file of a cgroup. Without a number there is no limit.
func limitIn(file string) uint64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return math.MaxUint64
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return math.MaxUint64
	}
	return n
}
