// This file holds `oooi-edge failover`: its flags, and the composition of the failover agent of one edge.

package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/edge/agent"
	"github.com/cldmnky/oooi/edge/agent/proxy"
	"github.com/cldmnky/oooi/edge/agent/scrape"
	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

func newFailoverCommand() *cobra.Command {
	f := serverFlags{program: wire.Failover}
	var clusterDevice string
	c := &cobra.Command{
		Use:   "failover --plan FILE --run-dir DIRECTORY",
		Short: "Keep the next-hop VIP of a network on an edge that serves",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.runDir == "" {
				return errors.New("failover needs --run-dir: the directory of the servers' sockets")
			}
			return runFailover(c.Context(), f, clusterDevice, f.log(c))
		},
	}
	f.add(c)
	c.Flags().StringVar(&clusterDevice, "cluster-interface", "",
		"network `interface` of the second path to the peer (default: none; in an edge pod, the pod's default network)")
	return c
}

// runFailover runs until ctx ends and the peer has taken over.
func runFailover(ctx context.Context, f serverFlags, clusterDevice string, log *slog.Logger) error {
	source, _, err := f.open(log)
	if err != nil {
		return err
	}
	log = source.Log()
	registry := prometheus.NewRegistry()
	if clusterDevice, err = f.managementDevice(clusterDevice); err != nil {
		return err
	}
	check := proxy.ReachCheck{Socket: resources.NewDirs(wire.EnvoyDirs(f.runDir)).Reach(), Log: log}
	a := &agent.Failover{
		Source: source, Servers: agent.NewServers(f.runDir), Reach: check.Run,
		RunDir: f.runDir, ClusterDevice: clusterDevice, Log: log,
	}
	var leases agent.Leases
	a.Stale = leases.Stale
	a.Metrics = agent.NewFailoverMetrics(registry, a.Ready)
	// The parts that the agent needs run until the peer has taken over.
	working, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	g, working := errgroup.WithContext(working)
	if a.Interface, err = f.on(working); err != nil {
		return err
	}
	ctx, drain := context.WithCancel(ctx)
	defer drain()
	context.AfterFunc(working, drain)
	if f.inPod() {
		report := sharedfiles.NewReportFile(wire.File(f.runDir, f.program, wire.ReportFile), log)
		a.Report = report.Set
		// A container that a VM controls can set its own fields only.
		for program, add := range map[string]func(to *reported.EdgeReport, of reported.EdgeReport){
			string(network.ServiceProxy): func(to *reported.EdgeReport, of reported.EdgeReport) {
				to.RefusedHosts, to.EnvoyRefuses, to.DarkBackends, to.Connected = of.RefusedHosts, of.EnvoyRefuses, of.DarkBackends, of.Connected
			},
			string(network.ServiceNTP): func(to *reported.EdgeReport, of reported.EdgeReport) { to.ClockUnsynchronized = of.ClockUnsynchronized },
			wire.Access: func(to *reported.EdgeReport, of reported.EdgeReport) {
				to.Balanced, to.ClosedPorts = of.Balanced, of.ClosedPorts
			},
		} {
			g.Go(func() error {
				take := func(of reported.EdgeReport) { report.Add(program, func(to *reported.EdgeReport) { add(to, of) }) }
				sharedfiles.FollowReport(working, wire.File(f.runDir, program, wire.ReportFile), take, log)
				return nil
			})
		}
	}
	// Without a device, VMs could also read the metrics.
	if clusterDevice != "" {
		all := &scrape.Scrape{RunDir: f.runDir, Own: registry, Services: func() []network.Service { return wire.Servers(source.Current().Network) }}
		m := scrape.Metrics{Interface: a.Interface, Source: source, Device: clusterDevice, Gatherer: all, Log: log.With("for", "metrics")}
		g.Go(func() error { return m.Run(working) })
	}
	g.Go(func() error { return source.Run(working) })
	g.Go(func() error {
		a.Servers.Follow(working, func() network.Network { return source.Current().Network }, source.Changed)
		return nil
	})
	g.Go(func() error {
		return f.health(working, a.Ready, registry, health.Question{Path: health.PeerPath, Why: a.PeerServes, Changed: a.PeerChanged})
	})
	g.Go(func() error { leases.Watch(working, f.runDir, log); return nil })
	g.Go(func() error { a.Watch(working); return nil })
	g.Go(func() error { defer done(); return a.Run(ctx) })
	return g.Wait()
}
