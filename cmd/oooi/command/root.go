// Package command contains what the subcommands of oooi share: flags, the connection to the cluster, exit codes, text for
// terminals, and links to the documentation. This file builds the root command.
package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/version"
)

const pluginPrefix = "kubectl-"

// Main runs the command oooi with these subcommands, and exits with the code of ExitCode. SIGINT and SIGTERM cancel the
// command's context.
func Main(subcommands ...*cobra.Command) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := New(subcommands...).ExecuteContext(ctx)
	stop()
	os.Exit(ExitCode(err, os.Stderr))
}

// New returns the command oooi with subcommands.
func New(subcommands ...*cobra.Command) *cobra.Command {
	const short = "DHCP, DNS and control plane access for hosted clusters on isolated VLANs"
	long := short + ".\n\nExit codes of all commands:\n"
	for _, e := range ExitMeanings() {
		long += fmt.Sprintf("  %d  %s\n", e.Code, e.Meaning)
	}
	c := &cobra.Command{
		Use:           "oooi",
		Short:         short,
		Long:          long,
		Version:       version.Of(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	if strings.HasPrefix(filepath.Base(os.Args[0]), pluginPrefix) {
		c.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl oooi"}
	}
	c.AddCommand(subcommands...)
	wrapHelp(c)
	return c
}
