// Package process has the processes of a testbed: how they are started, marked, found again, waited for and ended, and
// their cgroups. Which ones there are is decided elsewhere.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Mark is the environment variable that all processes of a cluster carry, and
// their children too: the state directory they belong to.
const Mark = "OOOI_TESTBED_STATE"

// Daemon is a process that outlives the one that starts it.
type Daemon struct {
	Name    string   // of its log and pid file
	Dir     string   // state directory: log/<Name>.log and pid/<Name> are there
	NetNS   string   // path of the network namespace it runs in
	MountNS string   // path of a mount namespace to enter; "" stays in the host's
	Args    []string // program and arguments
	Env     []string // added to PATH and the mark
}

// Start starts a daemon of the cluster with that state directory in a session of its own, its output in its log, and
// gives its process id. It does not wait until it serves.
func Start(cluster string, d Daemon) (int, error) {
	argv := []string{"--net=" + d.NetNS}
	if d.MountNS != "" {
		argv = append(argv, "--mount="+d.MountNS)
	}
	for _, dir := range []string{"log", "pid"} {
		if err := os.MkdirAll(filepath.Join(d.Dir, dir), 0o755); err != nil {
			return 0, err
		}
	}
	log, err := os.Create(filepath.Join(d.Dir, "log", d.Name+".log"))
	if err != nil {
		return 0, err
	}
	defer log.Close()
	cmd := exec.Command("nsenter", append(append(argv, "--"), d.Args...)...)
	cmd.Env = append(Environment(cluster, d.Dir), d.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("%s: %w", d.Name, err)
	}
	pid := cmd.Process.Pid
	go func() { _ = cmd.Wait() }() // no zombie while the starter lives
	return pid, os.WriteFile(filepath.Join(d.Dir, "pid", d.Name), []byte(strconv.Itoa(pid)), 0o644)
}

// Environment is the environment of a cluster's processes: of the caller's they see only
// what they need, so that they do not use its proxy or its KUBECONFIG.
func Environment(clusterDir, markDir string) []string {
	return []string{
		"PATH=" + filepath.Join(clusterDir, "bin") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + filepath.Join(clusterDir, "home"),
		Mark + "=" + markDir,
	}
}

// Pid is the process id of a daemon that was started with that name and state
// directory; 0 means none runs.
func Pid(dir, name string) int {
	text, err := os.ReadFile(filepath.Join(dir, "pid", name))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return 0
	}
	const patience = 500 // to become another program takes long on a busy machine
	if !belongs(environ(pid, patience), dir) {
		return 0 // the number is another's by now
	}
	return pid
}

// Kill ends all processes that carry the mark of the state directory or of one
// beneath it, except this one and its ancestors: SIGTERM, and SIGKILL to those
// that are still there after the grace.
func Kill(dir string, grace time.Duration) error {
	signal := syscall.SIGTERM
	if grace == 0 {
		signal = syscall.SIGKILL
	}
	const last = time.Minute
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		pids := processes(dir)
		if len(pids) == 0 {
			return nil
		}
		if time.Since(start) > grace+last {
			return fmt.Errorf("processes %v of %s do not end", pids, dir)
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, signal)
		}
		if time.Since(start) >= grace {
			signal = syscall.SIGKILL
		}
	}
}

// processes are those that carry the mark, without this one and its ancestors.
func processes(dir string) []int {
	ours := ancestors(os.Getpid())
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && !ours[pid] && marked(pid, dir) && !zombie(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// marked says whether a process belongs to the state directory or to one beneath.
func marked(pid int, dir string) bool { return belongs(environ(pid, 5), dir) }

func belongs(environ []byte, dir string) bool {
	for _, v := range bytes.Split(environ, []byte{0}) {
		if value, ok := strings.CutPrefix(string(v), Mark+"="); ok {
			return value == dir || strings.HasPrefix(value, dir+"/")
		}
	}
	return false
}

// environ is a process's environment. While a process becomes another program it
// has none for a moment: that is waited for, so many times 2 milliseconds.
func environ(pid, patience int) []byte {
	for range patience {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || len(text) > 0 || zombie(pid) {
			return text
		}
		if _, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
			return nil // a thread of the kernel
		}
		time.Sleep(2 * time.Millisecond)
	}
	return nil
}

func ancestors(pid int) map[int]bool {
	line := map[int]bool{}
	for pid > 0 && !line[pid] {
		line[pid] = true
		_, pid = stat(pid)
	}
	return line
}

func zombie(pid int) bool {
	state, _ := stat(pid)
	return state == "Z"
}

// stat is a process's state and parent: fields 3 and 4 of proc(5) stat, after the
// name in brackets, which may hold spaces.
func stat(pid int) (state string, parent int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || err != nil {
		return "", 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}
