// This file freezes threads of a program, which signals can't: they stop all of its
// threads. It does not start programs.

package programs

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// EnvoyWorker is the name of Envoy's worker thread i.
func EnvoyWorker(i int) string { return "wrk:worker_" + strconv.Itoa(i) }

// Freeze stops the threads of process pid with these names, as a debugger does, while its
// other threads run. They continue after thaw, or when the test ends. It needs root.
func Freeze(t testing.TB, pid int, threads ...string) (thaw func()) {
	t.Helper()
	var ids []int
	for _, name := range threads {
		id, err := thread(pid, name)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	frozen, release, ended := make(chan error, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		// The kernel takes requests from the thread that stopped the other one alone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var stopped []int
		var err error
		for _, id := range ids {
			if err = stop(id); err != nil {
				break
			}
			stopped = append(stopped, id)
		}
		if frozen <- err; err == nil {
			<-release
		}
		for _, id := range stopped {
			_ = unix.PtraceDetach(id) // The program may have ended.
		}
	}()
	if err := <-frozen; err != nil {
		t.Fatalf("freeze threads of process %d: %v", pid, err)
	}
	thaw = sync.OnceFunc(func() { close(release); <-ended })
	t.Cleanup(thaw)
	return thaw
}

// stop returns once the thread has stopped.
func stop(id int) error {
	if err := unix.PtraceSeize(id); err != nil {
		return err
	}
	if err := unix.PtraceInterrupt(id); err != nil {
		return err
	}
	_, err := unix.Wait4(id, nil, unix.WALL, nil)
	return err
}

// thread returns the id of the thread of a process with this name.
func thread(pid int, name string) (int, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return 0, err
	}
	for _, task := range tasks {
		b, err := os.ReadFile(filepath.Join(task, "comm"))
		if err == nil && strings.TrimSpace(string(b)) == name {
			return strconv.Atoi(filepath.Base(task))
		}
	}
	return 0, fmt.Errorf("process %d has no thread %s", pid, name)
}
