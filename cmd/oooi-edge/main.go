// Command oooi-edge runs in the containers of an edge. It has the DHCP, DNS and NTP servers and the proxy of a plan,
// which can also run alone, and programs that only edges need. This file lists the subcommands.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/ntp"
	"github.com/cldmnky/oooi/version"
)

func main() { run(clock, 0) }

// run runs the program, with a clock for the NTP server and the dialLimit of access.Options.
func run(clock ntp.Clock, dialLimit time.Duration) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRootCommand(clock, dialLimit).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, wire.Program+": "+err.Error())
		os.Exit(1)
	}
}

func newRootCommand(clock ntp.Clock, dialLimit time.Duration) *cobra.Command {
	const servers, containers = "servers", "containers"
	c := &cobra.Command{
		Use:           wire.Program,
		Short:         "DHCP, DNS, NTP and a proxy for the VMs of a hosted cluster on one network",
		Version:       version.Of() + clockNote,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.AddGroup(
		&cobra.Group{ID: servers, Title: "Servers of a plan:"},
		&cobra.Group{ID: containers, Title: "Commands that only the containers of an edge run:"},
	)
	for id, commands := range map[string][]*cobra.Command{
		servers:    {newDHCPCommand(), newDNSCommand(), newNTPCommand(clock), newProxyCommand(), newAccessCommand(dialLimit)},
		containers: {newACDCommand(), newDiagnosticsCommand(), newFailoverCommand(), newProbeCommand(), newTryCommand()},
	} {
		for _, one := range commands {
			one.GroupID = id
			c.AddCommand(one)
		}
	}
	return c
}
