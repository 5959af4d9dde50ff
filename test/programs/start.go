// This file starts programs that run until the test ends.

package programs

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// outputAfter is how long a program's output is read after its end. A daemon that left the process group keeps the pipe open.
const outputAfter = 5 * time.Second

// Start starts a program, and returns what it writes. At the end of the test the program is killed, with what it started
// in its process group. If the test failed, the test's log has the first 4,000 bytes of what it wrote.
//
// The context of the command must outlive the test (context.WithoutCancel), else the program ends before what the test
// cleans up first.
func Start(t testing.TB, c *exec.Cmd) *Output {
	t.Helper()
	out := &Output{}
	c.Stdout, c.Stderr = out, out
	c.WaitDelay = outputAfter
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Setpgid = true
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
		if t.Failed() {
			t.Logf("%s:\n%.4000s", strings.Join(c.Args, " "), out)
		}
	})
	return out
}
