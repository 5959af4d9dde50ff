// This file holds `oooi dhcp`: it joins the plan, the socket, the leases and the
// DHCP server of one edge. It decides nothing about addresses.

package main

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/agent"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/dhcp"
)

const dhcpPort = 67

func newDHCPCommand() *cobra.Command {
	var f serverFlags
	var leaseDir string
	c := &cobra.Command{
		Use:   "dhcp --plan FILE",
		Short: "Run the DHCP server of a plan on one network",
		Long: `Serves DHCP on one network of a plan, as an edge does. Without --watch it needs no cluster:
the plan is read from the file and followed, and leases are stored in --lease-dir.
It must run in a network namespace that has the service VIP on --interface.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runDHCP(c.Context(), f, leaseDir, f.log(c, string(network.ServiceDHCP)))
		},
	}
	f.add(c)
	c.Flags().StringVar(&leaseDir, "lease-dir", "", "`directory` to store leases in (default: in memory; with --watch, in Lease objects)")
	return c
}

// What MACs that no machine of the cluster has may cost: they are asked for by
// hand, a few at a time.
const (
	strangersPerSecond = 1
	strangersAtOnce    = 20
)

func runDHCP(ctx context.Context, f serverFlags, leaseDir string, log *slog.Logger) error {
	source, kube, err := f.open(log)
	if err != nil {
		return err
	}
	log = source.Log()
	registry := prometheus.NewRegistry()
	metrics, err := dhcp.NewMetrics(registry)
	if err != nil {
		return err
	}
	store, machines, remember, err := leases(ctx, f, source.Current().Network, kube, leaseDir, log)
	if err != nil {
		return err
	}
	server := &dhcp.Server{
		Network: func() network.Network { return source.Current().Network },
		Store:   store, VMs: machines, Metrics: metrics, Log: log,
		Edge: source.Current().Edge.Number,
	}
	if kube != nil {
		server.UnknownClients = rate.NewLimiter(strangersPerSecond, strangersAtOnce)
	}
	var status agent.Status
	g, ctx := errgroup.WithContext(ctx)
	on, err := f.on(ctx)
	if err != nil {
		return err
	}
	g.Go(func() error { return source.Run(ctx) })
	g.Go(func() error { remember(ctx); return nil })
	if f.runDir != "" {
		var peer agent.Peer
		server.PeerServes = peer.Serves
		g.Go(func() error { peer.Watch(ctx, f.runDir, log); return nil })
	}
	// It is ready once all leases and VMs are known. Until then it renews known leases:
	// without the API server that is all there is, and a peer must not take a restarted
	// edge for one that does not serve.
	ready := func() error { return cmp.Or(status.Err(), server.Ready()) }
	g.Go(func() error { return f.health(ctx, string(network.ServiceDHCP), ready, registry, status.Question()) })
	g.Go(func() error {
		// Answers are sent from the service address.
		admissible := func() error {
			n := source.Current().Network
			if err := on.Reaches(n, apiServer()...); err != nil {
				return err
			}
			return on.Admissible(n.DHCP.ServerID)
		}
		return agent.ServeWhile(ctx, &status, log, agent.Triggers{Interface: on.Changed, Plan: source.Changed}, admissible, func(ctx context.Context, ready func()) error {
			conn, err := edge.ListenPacket(ctx, f.device, netip.AddrPortFrom(netip.IPv4Unspecified(), dhcpPort))
			if err != nil {
				return err
			}
			ready()
			log.Info("serving", "interface", f.device)
			return server.Serve(ctx, conn)
		})
	})
	return g.Wait()
}

// leases are objects in a cluster, remembered in the run directory, else files.
// The function remembers until its context ends.
func leases(ctx context.Context, f serverFlags, n network.Network, kube *edge.Kube, dir string, log *slog.Logger) (dhcp.Store, dhcp.VMs, func(context.Context), error) {
	if kube == nil {
		files, err := dhcp.OpenFiles(dir)
		return files, dhcp.NoVMs{}, func(context.Context) {}, err
	}
	objects, machines := kube.Leases(ctx, n.Name), kube.VMs(ctx, n.CIDR)
	if f.runDir == "" {
		return objects, machines, func(context.Context) {}, nil
	}
	file := filepath.Join(f.runDir, "leases.json")
	if err := objects.LoadCache(file); err != nil {
		log.Warn("starting without cached leases", "err", err)
	}
	return objects, machines, func(ctx context.Context) { objects.KeepCache(ctx, file, log) }, nil
}
