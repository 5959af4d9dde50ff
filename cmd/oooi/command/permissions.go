// This file has the --permit flags, with which the administrator of the management cluster limits what annotations may
// request. Each has an environment variable, because an OLM Subscription cannot set flags.

package command

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// PermissionFlags are the values of the flags in settings.PermissionFlags, by the flag's name.
type PermissionFlags map[string]*string

// AddPermissionFlags adds the flags to c.
func AddPermissionFlags(c *cobra.Command) PermissionFlags {
	values := PermissionFlags{}
	for _, f := range settings.PermissionFlags() {
		values[f.Flag] = c.Flags().String(f.Flag, os.Getenv(f.Env), f.Usage+" (default: $"+f.Env+", then "+f.Default+")")
	}
	return values
}

// Parse returns the permissions that the flags set. An error names the flag.
func (values PermissionFlags) Parse() (network.Permissions, error) {
	var p network.Permissions
	for _, f := range settings.PermissionFlags() {
		if err := f.Set(&p, *values[f.Flag]); err != nil {
			return network.Permissions{}, err
		}
	}
	return p, nil
}
