// Which processes a pod's containers are, and how they are ended behind kubelet's
// back. The kubelet decides what happens to the pod.

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ContainerProcesses are the processes of a container, or of all containers of a pod
// and its sandbox, on any node: id is that of the container, as its status has it, or
// the pod's UID.
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
			continue // it has ended
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && inCgroup(string(text), id) {
			found = append(found, pid)
		}
	}
	slices.Sort(found)
	return found
}

// inCgroup says whether a process with that /proc/<pid>/cgroup is in the cgroup that
// kubelet makes for a pod or containerd for a container.
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

// KillContainer ends all processes of a container or pod at once.
func KillContainer(id string) error {
	pids := ContainerProcesses(id)
	if len(pids) == 0 {
		return fmt.Errorf("%s has no processes", id)
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended with another
	}
	return nil
}
