// This file holds `oooi-edge acd`, the first pod of a network. It checks the future addresses of edges for conflicts.

package main

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/edge/acd"
	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

func newACDCommand() *cobra.Command {
	f := serverFlags{program: wire.ACD}
	c := &cobra.Command{
		Use:   "acd --plan FILE",
		Short: "Check a network's addresses for conflicts before the first edge runs (RFC 5227)",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runACD(c.Context(), f, f.log(c))
		},
	}
	f.add(c)
	return c
}

// runACD checks until ctx ends. It is ready while the addresses are not in use.
func runACD(ctx context.Context, f serverFlags, log *slog.Logger) error {
	// The pod is not an edge, but the selection needs one, and every network has a first edge.
	f.selection.Edge = 1
	source, kube, err := f.open(log)
	if err != nil {
		return err
	}
	log = source.Log()
	g, ctx := errgroup.WithContext(ctx)
	on, err := f.on(ctx)
	if err != nil {
		return err
	}
	report := func(reported.EdgeReport) {}
	if kube != nil {
		reporter := kube.Reporter(wire.ACDReportLease(source.Current().Network))
		report = reporter.Set
		g.Go(func() error { reporter.Run(ctx); return nil })
	}
	var status serving.Status
	status.Set(acd.ErrChecking)
	g.Go(func() error { return source.Run(ctx) })
	g.Go(func() error { return f.health(ctx, status.Err, prometheus.NewRegistry()) })
	g.Go(func() error {
		acd.Run(ctx, acd.Options{
			Device: f.device, Addresses: on.Addresses,
			Network: func() network.Network { return source.Current().Network },
			Verdict: func(v acd.Verdict) {
				if v.Probed {
					report(reported.EdgeReport{AddressesInUse: v.Answers})
				}
				switch changed := status.Set(v.Err); {
				case !changed:
				case v.Err == nil:
					log.Info("addresses are free")
				default:
					log.Warn("addresses are not free", "err", v.Err)
				}
			},
		})
		return nil
	})
	return g.Wait()
}
