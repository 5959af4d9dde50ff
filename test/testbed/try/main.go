// Command try runs the edge of a plan and a VM in network namespaces on this host, without Kubernetes. The servers are those of an
// edge, and the VM uses clients of other projects. Only the control plane is a stand-in, which answers TLS connections.
//
// This file reads the arguments, and decides the order and the exit code. File plan.go gets the plan, stage.go runs the servers in
// network namespaces, and vm.go is the VM.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/progress"
	"github.com/cldmnky/oooi/test/testbed/worker/machine"
)

// exitNoAnswer is the exit code for an error. The exit codes are those of `oooi plan` (docs/commands.md).
const exitNoAnswer = 1

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := try(ctx, "oooi-try", os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "try:", err)
	}
	os.Exit(code)
}

// try serves the plan of objects, which are files, or stories in test/scenarios. The names of everything that it creates on this host
// begin with name. It returns the exit code of `oooi plan`, or an error.
func try(ctx context.Context, name string, objects []string, out, errs io.Writer) (code int, err error) {
	in, err := read(objects)
	if err != nil {
		return exitNoAnswer, err
	}
	log := progress.New(errs)
	if err := host.EnsurePackages(ctx, errs, machine.Packages()...); err != nil {
		return exitNoAnswer, err
	}
	log.Say("compiling oooi and its edge: up to two minutes the first time")
	oooi, err := build.ProjectProgram(ctx, "oooi", "")
	if err != nil {
		return exitNoAnswer, err
	}
	p, err := in.plan(ctx, oooi, errs)
	if err != nil {
		return exitNoAnswer, err
	}
	fmt.Fprintf(out, "\n%s\n", p.headline)
	if p.Plan == nil {
		fmt.Fprintf(out, "\nNothing is served. The exit code is %d. All that the plan says, after make build:\n  %s\n", p.code, in.command())
		return p.code, nil
	}
	s := &stage{name: name, dir: "/var/tmp/" + name, plan: *p.Plan, out: out}
	if s.program, err = build.ProjectProgram(ctx, "oooi-edge", ""); err != nil {
		return exitNoAnswer, err
	}
	if s.runs(network.ServiceProxy) {
		if s.envoy, err = build.Envoy(ctx, log); err != nil {
			return exitNoAnswer, err
		}
	}
	unlock, err := host.Lock(ctx, s.dir+".lock", func() { log.Status("waiting: make try runs already") })
	if err != nil {
		return exitNoAnswer, err
	}
	defer unlock()
	log.Say("starting %v and a VM in network namespaces %s.*", s.network().Services, name)
	err = s.clear(ctx) // Remove what a killed process has left.
	if err == nil {
		err = s.start(ctx)
	}
	if err == nil {
		err = s.boot(ctx)
	}
	if left := errors.Join(s.clear(context.WithoutCancel(ctx)), os.Remove(s.dir+".lock")); left != nil {
		return exitNoAnswer, errors.Join(err, left)
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted, and all of it is removed")
	}
	if err != nil {
		return exitNoAnswer, err
	}
	fmt.Fprintf(out, "\nAll of it is removed. The exit code is %d, as that of oooi plan. Try next:\n"+next, p.code, in.command())
	return p.code, nil
}

// next is printed at the end: what to try next. Its argument is the command that prints the plan.
const next = `  make build && %s
                            all that a VM gets and reaches
  make try FILES=my.yaml    your own HostedCluster, NodePool and network
  make try FILES=two-edges  a story of test/scenarios, by its name
  make demo                 a real HyperShift, and a worker that joins it
`
