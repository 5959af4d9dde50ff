// Command oooi is the operator, and what users ask of it on their own machine. What edges run is
// Command oooi-edge. This file lists the subcommands, each of which has a file of its own, and
// decides the exit code.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRootCommand().ExecuteContext(ctx)
	stop()
	os.Exit(report(err, os.Stderr))
}

// report writes to complaints why a command ended, and returns its exit code.
func report(err error, complaints io.Writer) int {
	if err == nil {
		return 0
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(complaints, "oooi: "+text)
	}
	var e exitError
	if errors.As(err, &e) {
		return e.code
	}
	return 1
}

// pluginPrefix begins the name of a program that kubectl runs as one of its commands.
const pluginPrefix = "kubectl-"

func newRootCommand() *cobra.Command {
	c := &cobra.Command{
		Use:           "oooi",
		Short:         "DHCP, DNS and control plane access for hosted clusters on isolated VLANs",
		Version:       version.Of(built),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	if strings.HasPrefix(filepath.Base(os.Args[0]), pluginPrefix) {
		c.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl oooi"}
	}
	c.AddCommand(
		newAccessCommand(),
		newAdmissionCommand(),
		newCheckCommand(),
		newLintCommand(),
		newManagerCommand(),
		newMapCommand(),
		newMustGatherCommand(),
		newPlanCommand(),
		newStatusCommand(),
	)
	return c
}

// built is the version that the linker was told (-X main.built=v1.2.3).
var built string
