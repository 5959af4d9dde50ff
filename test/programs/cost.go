// This file reads what a process costs from /proc. It starts and ends none.

package programs

import (
	"fmt"
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

// Memory is what a process has resident now, and the most that it had so far, in bytes.
func Memory(pid int) (now, peak int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	sizes := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		if w := strings.Fields(line); len(w) == 3 && w[2] == "kB" {
			kib, err := strconv.ParseInt(w[1], 10, 64)
			if err != nil {
				return 0, 0, err
			}
			sizes[w[0]] = kib << 10
		}
	}
	now, peak = sizes["VmRSS:"], sizes["VmHWM:"]
	if now == 0 || peak == 0 {
		return 0, 0, fmt.Errorf("process %d has no memory", pid)
	}
	return now, peak, nil
}
