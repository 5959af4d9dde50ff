// This file runs the command that a user gives to `oooi access`, with the local proxy in its environment.

package localaccess

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/cldmnky/oooi/cmd/oooi/command"
)

const (
	// exitNotExecutable and exitNotFound are the exit codes for a command that cannot be started, as in POSIX shells.
	exitNotExecutable = 126
	exitNotFound      = 127
	// exitSignal is added to the number of the signal that ended the command. The sum is the exit code.
	exitSignal = 128
)

func proxyEnvironment(environment []string, proxy string) (out []string) {
	for _, v := range environment {
		name, _, _ := strings.Cut(v, "=")
		switch strings.ToUpper(name) {
		case "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY":
		default:
			out = append(out, v)
		}
	}
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"} {
		out = append(out, name+"="+proxy)
	}
	return out
}

// runThrough runs program with the URL proxy in its environment, and returns its exit code as an ExitError. It forwards
// signals that oooi receives to program, except Ctrl-C on a terminal, which sends it to program as well.
func runThrough(program []string, proxy string, in io.Reader, out, complaints io.Writer) error {
	c := exec.Command(program[0], program[1:]...)
	c.Env, c.Stdin, c.Stdout, c.Stderr = proxyEnvironment(os.Environ(), proxy), in, out, complaints
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := c.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return command.Exit(exitNotFound, err)
		}
		return command.Exit(exitNotExecutable, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case s := <-signals:
			if s != os.Interrupt || !atTerminal(in) {
				_ = c.Process.Signal(s)
			}
		case err := <-ended:
			return exitOf(err)
		}
	}
}

func exitOf(err error) error {
	var failed *exec.ExitError
	if !errors.As(err, &failed) {
		return err
	}
	if code := failed.ExitCode(); code >= 0 {
		return command.Exit(code, nil)
	}
	if status, ok := failed.Sys().(syscall.WaitStatus); ok && runtime.GOOS != "windows" {
		return command.Exit(exitSignal+int(status.Signal()), nil)
	}
	return command.Exit(1, err)
}

func atTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	is, err := f.Stat()
	if err != nil || is.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(is, null)
}
