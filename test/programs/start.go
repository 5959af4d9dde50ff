// This file starts programs that run until the test ends.

package programs

import (
	"os/exec"
	"strings"
	"testing"
)

// Start starts a program, and returns what it writes. The program is killed at the end of the test. If the test failed,
// the test's log has the first 4,000 bytes of what it wrote.
//
// The context of the command must outlive the test (context.WithoutCancel), else the program ends before what the test
// cleans up first.
func Start(t testing.TB, c *exec.Cmd) *Output {
	t.Helper()
	out := &Output{}
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("%s:\n%.4000s", strings.Join(c.Args, " "), out)
		}
	})
	return out
}
