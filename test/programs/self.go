// This file makes a test binary the command that it tests, so that tests run the command where and
// as often as they like without building it again.

package programs

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// asCommand in the environment makes the test binary the command.
const asCommand = "OOOI_TEST_AS_COMMAND"

// SideBySide sets how many parallel tests of a package run at the same time, unless the command line does: tests that wait more
// than they compute need more than one for each processor. TestMain calls it before it runs the tests.
func SideBySide(n int) {
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}

// Main is what TestMain of a command's package calls: it runs the tests, or the command in a
// process that Self or RunSelf started.
func Main(m *testing.M, command func()) {
	if os.Getenv(asCommand) != "" {
		command()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Self returns the path of the command, and the environment that it needs.
func Self(t testing.TB) (path string, env []string) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path, append(os.Environ(), asCommand+"=1")
}

// RunSelf runs the command as a script does.
func RunSelf(ctx context.Context, t testing.TB, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	path, env := Self(t)
	c := exec.CommandContext(ctx, path, args...)
	var out, errs bytes.Buffer
	c.Env, c.Stdin, c.Stdout, c.Stderr = env, strings.NewReader(stdin), &out, &errs
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}
