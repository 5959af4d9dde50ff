// Command oooi gives the VMs of a hosted cluster what they need on an
// isolated VLAN. This file lists the subcommands, each of which has a file of
// its own, and decides the exit code.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRootCommand().ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(os.Stderr, "oooi: "+text)
	}
	var e exitError
	if errors.As(err, &e) {
		os.Exit(e.code)
	}
	os.Exit(1)
}

func newRootCommand() *cobra.Command {
	c := &cobra.Command{
		Use:           "oooi",
		Short:         "DHCP, DNS and control plane access for hosted clusters on isolated VLANs",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.AddCommand(
		newAdmissionCommand(),
		newDHCPCommand(),
		newDNSCommand(),
		newEdgeCommand(),
		newLintCommand(),
		newManagerCommand(),
		newPlanCommand(),
		newProxyCommand(),
	)
	return c
}

// built is the version that the linker was told (-X main.built=v1.2.3).
var built string

// version is what the linker was told, else the module's version where it was
// built from one, else the revision it was built from.
func version() string {
	if built != "" {
		return built
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "devel"
}
