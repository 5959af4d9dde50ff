// This file runs an Envoy as a child of `oooi proxy`. What Envoy does is told to
// it over its socket, not here.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/cldmnky/oooi/envoy"
)

// lastWords is how long Envoy has to end after it was asked to.
const lastWords = 10 * time.Second

// findEnvoy finds the program and gives what runs it until its context ends. An
// Envoy that ends by itself is an error: whoever started us starts both again.
func findEnvoy(program string, output io.Writer) (func(ctx context.Context, dir string) error, error) {
	if program == "" {
		program = os.Getenv("ENVOY")
	}
	if program == "" {
		program = "envoy"
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("no Envoy to start: say where it is by --envoy or $ENVOY, or put envoy on PATH: %w", err)
	}
	return func(ctx context.Context, dir string) error {
		// The signal below is sent when the thread ends that started the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		raiseFiles()
		c := exec.CommandContext(ctx, path, envoy.Arguments(dir, "oooi")...)
		c.Stdout, c.Stderr = output, output
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
		c.WaitDelay = lastWords
		err := c.Run()
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = errors.New("without an error")
		}
		return fmt.Errorf("Envoy ended: %w", err)
	}, nil
}

// raiseFiles lets the child open as many files as we may: two for each
// connection. A limit that can't be read stays what it is.
func raiseFiles() {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) == nil {
		l.Cur = l.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l)
	}
}
