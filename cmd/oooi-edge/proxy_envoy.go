// This file runs Envoy as a child process of `oooi-edge proxy`.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/cldmnky/oooi/edge/rundir"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/resources"
)

// stopTimeout is how long Envoy has to end after SIGTERM.
const stopTimeout = 10 * time.Second

// findEnvoy returns a function that runs Envoy until its context ends. That function returns an error if Envoy
// ends by itself.
func findEnvoy(program string, limits resources.Limits, output io.Writer) (func(ctx context.Context, dir string) error, error) {
	path, err := exec.LookPath(cmp.Or(program, os.Getenv("ENVOY"), "envoy"))
	if err != nil {
		return nil, fmt.Errorf("Envoy not found: set --envoy or $ENVOY, or add envoy to PATH: %w", err)
	}
	return func(ctx context.Context, dir string) error {
		if err := rundir.MakeDir(wire.Dir(dir, wire.Envoy)); err != nil {
			return err
		}
		// The kernel sends Pdeathsig when the thread that started the child ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		raiseFiles()
		c := exec.CommandContext(ctx, path, resources.Arguments(resources.NewDirs(wire.EnvoyDirs(dir)), "oooi", limits)...)
		c.Stdout, c.Stderr = output, output
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
		c.WaitDelay = stopTimeout
		err := c.Run()
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("Envoy ended: %w", cmp.Or(err, errors.New("without an error")))
	}, nil
}

// raiseFiles raises the limit of open files for Envoy, which needs two for each connection. It ignores errors.
func raiseFiles() {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) == nil {
		l.Cur = l.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l)
	}
}
