// Command demo shows what the operator is for, on one host. It starts a real Kubernetes and a real HyperShift, installs the
// operator, and creates an annotated hosted cluster. It boots a worker on an isolated VLAN, which joins the cluster. Then a
// host behind a router on that VLAN uses the cluster as well.
//
// This file reads the arguments. File steps.go decides the order of the steps.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/hypershift"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log.SetLogger(logr.Discard()) // controller-runtime needs a logger.
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	name := os.Getenv("DEMO_TESTBED")
	if name == "" {
		name = "demo"
	}
	switch {
	case len(args) == 1 && args[0] == "up":
		strategy := hypershift.Strategy(os.Getenv("DEMO_STRATEGY"))
		if strategy == "" {
			strategy = hypershift.LoadBalancerIP
		}
		if err := strategy.Validate(); err != nil {
			return fmt.Errorf("DEMO_STRATEGY: %w", err)
		}
		if path := os.Getenv("DEMO_RECORD"); path != "" {
			recorded, done, err := record(out, path, "make demo")
			if err != nil {
				return err
			}
			defer func() { _ = done() }()
			out = recorded
		}
		d := newDemo(name, strategy, out)
		var err error
		if d.installer, err = installerNamed(os.Getenv("DEMO_INSTALL")); err != nil {
			return fmt.Errorf("DEMO_INSTALL: %w", err)
		}
		return up(ctx, d)
	case len(args) == 1 && args[0] == "down":
		return cluster.Down(ctx, cluster.Options{Name: name, Log: out})
	}
	return fmt.Errorf("usage: demo up|down   (DEMO_STRATEGY is one of %v, DEMO_INSTALL one of %v)", hypershift.Strategies(), slices.Sorted(maps.Keys(installers())))
}
