// This file holds `oooi-edge ntp`: its flags, and the composition of the NTP server of one edge.

package main

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/edge/agent/servers"
	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/ntp"
	"github.com/cldmnky/oooi/reported"
)

func newNTPCommand(clock ntp.Clock) *cobra.Command {
	f := serverFlags{program: string(network.ServiceNTP)}
	var listen string
	c := &cobra.Command{
		Use:   "ntp --plan FILE",
		Short: "Run the NTP server of a plan on one network",
		Long: `Serves the time of this node to the hosts of one network of a plan, as an edge does. Without --watch
it needs no cluster: it reads the plan from the file and reloads it on change. It never sets the clock.
Another program, such as chronyd, must synchronize it. Until then, clients get an answer without a time.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			at, err := parseListen(listen)
			if err != nil {
				return err
			}
			return runNTP(c.Context(), f, at, clock, f.log(c))
		},
	}
	f.add(c)
	c.Flags().StringVar(&listen, "listen", "", "`address:port` to listen on (default: the service VIP of the network, port 123)")
	return c
}

func runNTP(ctx context.Context, f serverFlags, listen netip.AddrPort, clock ntp.Clock, log *slog.Logger) error {
	source, kube, err := f.open(log)
	if err != nil {
		return err
	}
	log = source.Log()
	if clockNote != "" {
		log.Warn("not a release" + clockNote)
	}
	registry := prometheus.NewRegistry()
	s := servers.NTP{Source: source, Server: ntp.NewServer(clock, ntp.NewMetrics(registry, clock)), Log: log, Listen: listen}
	g, ctx := errgroup.WithContext(ctx)
	if s.Interface, err = f.on(ctx); err != nil {
		return err
	}
	report := func(reported.ClockFault) {}
	if f.inPod() {
		file := sharedfiles.NewReportFile(wire.File(f.runDir, f.program, wire.ReportFile), log)
		report = func(why reported.ClockFault) { file.Set(reported.EdgeReport{ClockUnsynchronized: why}) }
	}
	g.Go(func() error { return source.Run(ctx) })
	g.Go(func() error { servers.FollowClock(ctx, clock, log, report); return nil })
	f.passOn(ctx, g, kube, source, log)
	g.Go(func() error { return f.health(ctx, s.Status.Err, registry, s.Status.Question()) })
	g.Go(func() error { return s.Run(ctx) })
	return g.Wait()
}
