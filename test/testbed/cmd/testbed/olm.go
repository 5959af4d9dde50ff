// This file parses the arguments of `testbed olm`.

package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/e2e"
	"github.com/cldmnky/oooi/test/testbed/olm"
)

func olmCommand(name *string) *cobra.Command {
	return &cobra.Command{
		Use:   "olm VERSION [REPLACED]",
		Short: "Install the operator of this checkout with the Operator Lifecycle Manager as that version, which upgrades the replaced one",
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, versions []string) error {
			c, err := cluster.Attach(*name)
			if err != nil {
				return err
			}
			o, err := olm.Install(cmd.Context(), c, os.Stderr)
			if err != nil {
				return err
			}
			catalog, err := o.Build(cmd.Context(), versions[0], strings.Join(versions[1:], ""))
			if err != nil {
				return err
			}
			return o.Subscribe(cmd.Context(), catalog, e2e.Namespace)
		},
	}
}
