// This file reads what processes cost from /proc. It starts and ends none.

package idle

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// memory is the proportional set size of a process, in bytes: pages that n processes
// share count 1/n.
func memory(pid int) (int64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if w := strings.Fields(s.Text()); len(w) == 3 && w[0] == "Pss:" {
			kib, err := strconv.ParseInt(w[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no Pss", pid)
}

// descendants are a process and all that it started, by name.
func descendants(pid int) (map[int]string, error) {
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
			more, err := descendants(id)
			if err != nil {
				continue
			}
			for k, v := range more {
				out[k] = v
			}
		}
	}
	return out, nil
}
