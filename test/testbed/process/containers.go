// This file finds the processes of a pod's containers, and kills them without kubelet. What then happens to the pod is decided by
// kubelet.

package process

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ContainerProcesses returns the process IDs of a container or, for a pod, of all its containers and its sandbox, on any node. The
// oldest comes first: the sandbox of a pod. id is the container's ID, as in its status, or the pod's UID.
func ContainerProcesses(id string) []int {
	id = id[strings.LastIndexByte(id, '/')+1:] // without containerd://
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		panic(err) // of a pattern that is well-formed
	}
	var found []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // The process has ended.
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && inCgroup(string(text), id) {
			found = append(found, pid)
		}
	}
	slices.SortFunc(found, func(a, b int) int { return cmp.Or(cmp.Compare(started(a), started(b)), cmp.Compare(a, b)) })
	return found
}

// inCgroup reports whether a process is in the cgroup of a pod or a container. text is the content of its /proc/<pid>/cgroup.
func inCgroup(text, id string) bool {
	if id == "" {
		return false
	}
	for line := range strings.Lines(text) {
		for part := range strings.SplitSeq(strings.TrimSpace(line), "/") {
			if part == id || part == "pod"+id {
				return true
			}
		}
	}
	return false
}

// KillContainer sends SIGKILL to all processes of a container or pod.
func KillContainer(id string) error {
	pids := ContainerProcesses(id)
	if len(pids) == 0 {
		return fmt.Errorf("%s has no processes", id)
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // The process may have ended together with another one.
	}
	return nil
}
