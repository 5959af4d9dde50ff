// This file holds `oooi-edge probe`, what a kubelet runs to ask one of our servers
// whether it is ready. It asks over a Unix socket and decides nothing itself.

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

func newProbeCommand() *cobra.Command {
	var runDir string
	c := &cobra.Command{
		Use:       "probe dhcp|dns|ntp|proxy|access|failover|acd",
		Short:     "Ask a server of this edge whether it is ready",
		ValidArgs: []string{string(network.ServiceDHCP), string(network.ServiceDNS), string(network.ServiceNTP), string(network.ServiceProxy), wire.Access, wire.Failover, wire.ACD},
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE: func(c *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), 3*time.Second)
			defer cancel()
			if err := edge.Probe(ctx, wire.Socket(runDir, args[0])); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&runDir, "run-dir", wire.RunDir, "directory of the servers' sockets")
	return c
}
