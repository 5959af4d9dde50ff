// Package process starts the processes of a testbed, finds them again by a mark, waits for them and ends them. It also creates
// their cgroups.
package process

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Mark is an environment variable of all processes of a cluster and their children. Its value is the state directory that they
// belong to.
const Mark = "OOOI_TESTBED_STATE"

// A Daemon is a process that continues after the process that started it has ended.
type Daemon struct {
	Name    string   // of its log and its pid file
	Dir     string   // state directory, with log/<Name>.log and pid/<Name>
	NetNS   string   // path of its network namespace
	MountNS string   // path of its mount namespace; "" means the host's
	Args    []string // program and arguments
	Env     []string // added to PATH and the mark
}

// Start starts a daemon in a session of its own, with its output in its log, and returns its process ID. cluster is the state
// directory of the cluster. Start does not wait until the daemon serves.
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
	go func() { _ = cmd.Wait() }() // So that the daemon does not become a zombie while this process runs.
	return pid, os.WriteFile(filepath.Join(d.Dir, "pid", d.Name), []byte(strconv.Itoa(pid)), 0o644)
}

// Environment returns the environment of a cluster's processes. It contains only what they need of the caller's environment, so
// that they do not use the caller's proxy or KUBECONFIG.
func Environment(clusterDir, markDir string) []string {
	return []string{
		"PATH=" + filepath.Join(clusterDir, "bin") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + filepath.Join(clusterDir, "home"),
		Mark + "=" + markDir,
	}
}

// Pid returns the process ID of the daemon with this state directory and name. 0: it does not run.
func Pid(dir, name string) int {
	text, err := os.ReadFile(filepath.Join(dir, "pid", name))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return 0
	}
	const patience = 500 // On a busy host, execve takes long.
	if !belongs(environ(pid, patience), dir) {
		return 0 // Another process has this ID now.
	}
	return pid
}

// Kill ends all processes with the mark of dir or of a directory below it, except this process and its ancestors. It sends
// SIGTERM, and SIGKILL to those that still run after grace. If grace is 0, it sends only SIGKILL.
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

// processes returns the IDs of the processes with the mark of dir, without this process and its ancestors.
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

// marked reports whether a process has the mark of dir or of a directory below it.
func marked(pid int, dir string) bool { return belongs(environ(pid, 5), dir) }

func belongs(environ []byte, dir string) bool {
	for _, v := range bytes.Split(environ, []byte{0}) {
		if value, ok := strings.CutPrefix(string(v), Mark+"="); ok {
			return value == dir || strings.HasPrefix(value, dir+"/")
		}
	}
	return false
}

// environ returns the environment of a process. During execve, a process has none for a moment. environ then tries again, up to
// patience times, every 2 milliseconds.
func environ(pid, patience int) []byte {
	for range patience {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || len(text) > 0 || zombie(pid) {
			return text
		}
		if _, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
			return nil // This is a kernel thread.
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

// stat returns the state and the parent of a process.
func stat(pid int) (state string, parent int) {
	of := fields(pid)
	if len(of) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(of[1])
	return of[0], parent
}

// started returns when a process started, in clock ticks since the start of the system.
func started(pid int) int {
	of := fields(pid)
	if len(of) < 20 {
		return math.MaxInt
	}
	ticks, _ := strconv.Atoi(of[19])
	return ticks
}

// fields returns the fields of /proc/<pid>/stat from the third on (see proc(5)), or nil if the process has ended. They follow the
// name in parentheses, which may contain spaces.
func fields(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}
