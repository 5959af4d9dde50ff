// This file holds `oooi-edge dhcp`: its flags, and the composition of the DHCP server of one edge.

package main

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/edge/agent"
	"github.com/cldmnky/oooi/edge/agent/boots"
	"github.com/cldmnky/oooi/edge/agent/servers"
	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/kube"
	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

func newDHCPCommand() *cobra.Command {
	f := serverFlags{program: string(network.ServiceDHCP)}
	c := &cobra.Command{
		Use:   "dhcp --plan FILE",
		Short: "Run the DHCP server of a plan on one network",
		Long: `Serves DHCP on one network of a plan, as an edge does. Without --watch it needs no cluster:
it reads the plan from the file, reloads it on change, and keeps leases in memory.
It must run in a network namespace that has the service VIP on --interface.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runDHCP(c.Context(), f, f.log(c))
		},
	}
	f.add(c)
	return c
}

// The rate limit for unknown clients: MACs that belong to no VM of the cluster. Few such clients ask, and rarely.
const (
	unknownClientsPerSecond = 1
	unknownClientsAtOnce    = 20
)

func runDHCP(ctx context.Context, f serverFlags, log *slog.Logger) error {
	source, kube, err := f.open(log)
	if err != nil {
		return err
	}
	log = source.Log()
	registry := prometheus.NewRegistry()
	metrics := dhcp.NewMetrics(registry)
	store, vms, cache := leaseStore(ctx, f, source, kube, log)
	server := &dhcp.Server{
		Network: func() network.Network { return source.Current().Network },
		Store:   store, VMs: vms, Metrics: metrics, Log: log,
		Edge: source.Current().Edge.Number,
	}
	if kube != nil {
		server.UnknownClients = rate.NewLimiter(unknownClientsPerSecond, unknownClientsAtOnce)
	}
	d := servers.DHCP{Source: source, Log: log, Needs: apiServer(), Serve: server.Serve}
	g, ctx := errgroup.WithContext(ctx)
	if d.Interface, err = f.on(ctx); err != nil {
		return err
	}
	asker, err := device.NewAsker(d.Interface.Name, func() netip.Addr { return source.Current().Edge.Address })
	if err != nil {
		return err
	}
	server.WhoHas, server.Knows = asker.WhoHas, asker.Knows
	g.Go(func() error { return source.Run(ctx) })
	g.Go(func() error { cache(ctx); return nil })
	var report func(reported.DHCPReport)
	if reporter := f.passOn(ctx, g, kube, source, log); reporter != nil {
		report = reporter.SetDHCP
		others := servers.NewDHCPServers(d.Interface.Name, source.Current, func(all []reported.UsedAddress) {
			metrics.OtherServers(len(all))
			reporter.SetDHCPServers(all)
		}, log)
		server.OtherServer = others.Chose
		g.Go(func() error { others.Run(ctx); return nil })
		g.Go(func() error { others.Probe(ctx); return nil })
		booting := servers.Boots{
			Steps: func() []network.BootStep { return source.Current().Network.BootSteps() },
			VMs: func() (map[string]boots.VM, bool) {
				return bootingVMs(source.Current().Network, store, vms), server.Ready() == nil
			},
			Connected: reporter.Connected, Report: reporter.SetBoots,
		}
		server.Discovered = booting.Discovered
		for _, program := range wire.BootsFrom(source.Current().Network.Services) {
			g.Go(func() error {
				set := func(all sharedfiles.Boots) { booting.Saw(all) }
				sharedfiles.FollowBoots(ctx, wire.File(f.runDir, program, wire.BootsFile), network.Service(program), set, log)
				return nil
			})
		}
		g.Go(func() error { booting.Run(ctx); return nil })
	}
	g.Go(func() error { server.Follow(ctx, report); return nil })
	if f.runDir != "" {
		var peer agent.Peer
		server.PeerServes, server.Yields = peer.Serves, peer.Yields
		g.Go(func() error { peer.Watch(ctx, f.runDir, log); return nil })
	}
	// The server is ready once all leases and VMs are known. It serves earlier, from its cache. So a restarted edge
	// serves for its peer without the API server.
	serves := d.Status.Question()
	serves.Why = func() error { return cmp.Or(d.Status.Err(), server.Alive()) }
	ready := func() error { return cmp.Or(serves.Why(), server.Ready()) }
	g.Go(func() error {
		return f.health(ctx, ready, registry, serves, health.Question{Path: health.FreshPath, Why: server.Fresh})
	})
	g.Go(func() error { return d.Run(ctx) })
	return g.Wait()
}

// bootingVMs returns the VMs of the cluster, none without a cluster.
func bootingVMs(n network.Network, store dhcp.Store, vms reply.VMs) map[string]boots.VM {
	out := map[string]boots.VM{}
	if all, ok := vms.(*kube.VMs); ok {
		all.Each(n.Attachment.String(), func(name string, macs []string, runs bool) {
			leased := slices.ContainsFunc(macs, func(mac string) bool { _, has := store.Of(mac); return has })
			out[name] = boots.VM{Runs: runs, Leased: leased}
		})
	}
	return out
}

// leaseStore returns the lease store, the VMs, and a function that keeps both up to date until its context ends. In a
// cluster, leases are Lease objects, cached in the run directory. Otherwise they are only in memory.
func leaseStore(ctx context.Context, f serverFlags, source *inforce.Source, kube *kube.Kube, log *slog.Logger) (dhcp.Store, reply.VMs, func(context.Context)) {
	if kube == nil {
		return &leases.Memory{}, reply.NoVMs{}, func(context.Context) {}
	}
	n := source.Current().Network
	objects, vms := kube.Leases(ctx, n.Name), kube.VMs(ctx, n.CIDR)
	objects.LeaseTime = func() time.Duration { return time.Duration(source.Current().Network.DHCP.LeaseTime) }
	if f.runDir == "" {
		return objects, vms, objects.KeepFresh
	}
	file := wire.File(f.runDir, f.program, wire.LeaseCache)
	if err := objects.LoadCache(file); err != nil {
		log.Warn("starting without cached leases", "err", err)
	}
	return objects, vms, func(ctx context.Context) {
		var keeping sync.WaitGroup
		defer keeping.Wait()
		keeping.Go(func() { objects.KeepFresh(ctx) })
		objects.KeepCache(ctx, file, log)
	}
}
