// This file has the flags with which the administrator of the management cluster limits what
// HostedClusters may ask for. An environment variable sets each of them: an OLM Subscription can
// set no flags.

package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// permissionFlags are the values of settings.PermissionFlags by name.
type permissionFlags map[string]*string

func addPermissionFlags(c *cobra.Command) permissionFlags {
	values := permissionFlags{}
	for _, f := range settings.PermissionFlags() {
		values[f.Flag] = c.Flags().String(f.Flag, os.Getenv(f.Env), f.Usage+" (default: $"+f.Env+", then "+f.Default+")")
	}
	return values
}

func (values permissionFlags) parse() (network.Permissions, error) {
	var p network.Permissions
	for _, f := range settings.PermissionFlags() {
		if err := f.Set(&p, *values[f.Flag]); err != nil {
			return network.Permissions{}, err
		}
	}
	return p, nil
}
