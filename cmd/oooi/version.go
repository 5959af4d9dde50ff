// This file holds `oooi version`.

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/version"
)

func newVersionCommand() *cobra.Command {
	var output command.FormatFlag
	c := &cobra.Command{
		Use:   "version",
		Short: "Show the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if output.String() != command.FormatText {
				return command.WriteData(c.OutOrStdout(), output.String(), map[string]string{"version": version.Number(), "build": version.Of()})
			}
			_, err := fmt.Fprintln(c.OutOrStdout(), "oooi "+version.Of())
			return err
		},
	}
	output.Add(c)
	return c
}
