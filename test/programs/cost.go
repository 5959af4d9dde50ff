// This file reads what a process costs from /proc. It starts and ends none.

package programs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPUTime is the time that a process and the children it waited for ran for.
func CPUTime(pid int) (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		return 0, fmt.Errorf("process %d: %w", pid, os.ErrNotExist)
	}
	var sum time.Duration
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // The thread has ended.
		}
		ran, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ran)
	}
	return sum, nil
}

// PSS is the proportional set size of a process, in bytes: pages that n processes share count
// 1/n. Anonymous is the part that is not of files.
func PSS(pid int) (all, anonymous int64, err error) {
	sizes, err := sizes(pid, "smaps_rollup")
	return sizes["Pss:"], sizes["Pss_Anon:"], err
}

// Descendants are a process and all that it started, by name.
func Descendants(pid int) (map[int]string, error) {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return nil, err
	}
	out := map[int]string{pid: strings.TrimSpace(string(name))}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil, err
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list) // A thread that has ended has no children.
		for _, child := range strings.Fields(string(text)) {
			id, err := strconv.Atoi(child)
			if err != nil {
				return nil, err
			}
			if more, err := Descendants(id); err == nil {
				maps.Copy(out, more)
			}
		}
	}
	return out, nil
}

// Memory is what a process has resident now, and the most that it had so far, in bytes.
func Memory(pid int) (now, peak int64, err error) {
	sizes, err := sizes(pid, "status")
	return sizes["VmRSS:"], sizes["VmHWM:"], err
}

// sizes are those in a file of a process, in bytes. Each of a running process has some.
func sizes(pid int, file string) (map[string]int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		if w := strings.Fields(line); len(w) == 3 && w[2] == "kB" {
			kib, err := strconv.ParseInt(w[1], 10, 64)
			if err != nil {
				return nil, err
			}
			out[w[0]] = kib << 10
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("process %d has no memory", pid)
	}
	return out, nil
}
