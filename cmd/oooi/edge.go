// This file lists the commands that only containers of an edge's pod run. They are
// hidden from `oooi --help`; `oooi edge` lists them.

package main

import "github.com/spf13/cobra"

func newEdgeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:    "edge",
		Short:  "Commands that only the containers of an edge run",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newACDCommand(), newFailoverCommand(), newProbeCommand())
	return c
}
