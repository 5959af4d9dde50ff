// Command oooi is the operator, and what users ask of it on their own machine. What edges run is
// Command oooi-edge. This file lists the subcommands. Each has a file or a package of its own.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/cmd/oooi/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRootCommand().ExecuteContext(ctx)
	stop()
	os.Exit(command.ExitCode(err, os.Stderr))
}

func newRootCommand() *cobra.Command {
	return command.New(
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
}
