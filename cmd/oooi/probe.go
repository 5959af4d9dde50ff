// This file holds `oooi probe`, what a kubelet runs to ask one of our servers
// whether it is ready. It asks over a Unix socket and decides nothing itself.

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/edge"
)

func newProbeCommand() *cobra.Command {
	var runDir string
	c := &cobra.Command{
		Use:       "probe dhcp|dns|proxy|guard|ask",
		Short:     "Ask a server of this edge whether it is ready",
		ValidArgs: []string{"dhcp", "dns", "proxy", "guard", "ask"},
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE: func(c *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), 3*time.Second)
			defer cancel()
			if err := edge.Probe(ctx, edge.Socket(runDir, args[0])); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&runDir, "run-dir", "/run/oooi", "directory of the servers' sockets")
	return c
}
