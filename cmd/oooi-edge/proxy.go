// This file holds `oooi-edge proxy`: its flags, and the composition of the backends and the Envoy of one edge.

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/edge/agent/connlog"
	"github.com/cldmnky/oooi/edge/agent/proxy"
	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/backends"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/rundir"
	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/accesslog"
	"github.com/cldmnky/oooi/envoy/admin"
	"github.com/cldmnky/oooi/envoy/ads"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

func newProxyCommand() *cobra.Command {
	f := serverFlags{program: string(network.ServiceProxy)}
	var program string
	var noEnvoy bool
	var memory uint64
	c := &cobra.Command{
		Use:   "proxy --plan FILE",
		Short: "Run the proxy of a plan on one network",
		Long: `Proxies TCP connections on one network of a plan, as an edge does. Without --watch it needs
no cluster: it reads the plan from the file and reloads it on change. It starts and configures Envoy.
Connections go to Services of the control plane namespace, to allowed external hosts, or to VMs.
Without a cluster, the proxy tries every address that the plan allows for a VM.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			log, limits := f.log(c), resources.NewLimits(memory, openFiles())
			if noEnvoy {
				if f.runDir == "" {
					return errors.New("--no-envoy needs --run-dir: the directory of Envoy's sockets")
				}
				return runProxy(c.Context(), f, f.runDir, limits, nil, log)
			}
			run, err := findEnvoy(program, limits, c.ErrOrStderr())
			if err != nil {
				return err
			}
			// Access to these sockets means control over Envoy.
			dir, err := os.MkdirTemp("", "oooi-envoy-")
			if err != nil {
				return err
			}
			defer func() { _ = os.RemoveAll(dir) }()
			return runProxy(c.Context(), f, dir, limits, run, log)
		},
	}
	f.add(c)
	c.Flags().StringVar(&program, "envoy", "", "`path` of the Envoy binary (default: $ENVOY, then envoy in PATH)")
	c.Flags().BoolVar(&noEnvoy, "no-envoy", false, "do not start Envoy: another container runs it with the same --run-dir")
	c.Flags().Uint64Var(&memory, "envoy-memory", 0, "memory limit in `bytes` of the container that runs Envoy; 0 means none")
	return c
}

// runProxy serves until ctx ends. dir has the sockets for Envoy. run runs an Envoy with these limits that connects to
// the sockets. A nil run means that another container runs Envoy.
func runProxy(ctx context.Context, f serverFlags, dir string, limits resources.Limits, run func(ctx context.Context, dir string) error, log *slog.Logger) error {
	source, kube, err := f.open(log)
	if err != nil {
		return err
	}
	log = source.Log()
	g, ctx := errgroup.WithContext(ctx)
	gate, closeGate := newGate(f.device, limits, log)
	defer closeGate()
	dirs := resources.NewDirs(wire.EnvoyDirs(dir))
	p := proxy.Proxy{
		Source: source, Options: resources.Options{Device: f.device, ReachSocket: dirs.Reach(), Limits: limits},
		Server: ads.NewServer(log), Admin: admin.NewClient(rundir.Transport(dirs.Admin())), Log: log, Needs: proxyNeeds,
		AccessLog: connlog.NewAccessLog(log, func() network.AccessLog { return source.Current().Network.AccessLog }),
		Gate:      gate,
	}
	p.Gate.SetAsked = p.Server.SetAsked
	if p.Interface, err = f.on(ctx); err != nil {
		return err
	}
	remembered := ""
	if kube != nil {
		p.Options.UpstreamDevice = kube.Device()
		remembered = wire.File(f.runDir, f.program, "backends.json")
	}
	if p.Backends, err = backends.New(ctx, kube, backends.NewLookup(p.Options.UpstreamDevice), remembered, log); err != nil {
		log.Warn("starting without cached endpoints", "err", err)
	}
	metrics := p.Metrics(ctx)
	boots := f.bootsOfProxy(source, gate.MACOf, log)
	g.Go(func() error { boots.Run(ctx, log); return nil })
	g.Go(func() error { return source.Run(ctx) })
	f.passOn(ctx, g, kube, source, log)
	g.Go(func() error {
		return f.health(ctx, p.Status.Err, metrics, p.Question())
	})
	if kube != nil {
		report := sharedfiles.NewReportFile(wire.File(f.runDir, f.program, wire.ReportFile), log)
		serving.AtEach(ctx, serving.Triggers{Plan: p.Backends.Changed}, func() {
			report.Set(reported.EdgeReport{RefusedHosts: p.Backends.RefusedHosts()})
		})
		serving.AtEach(ctx, serving.Triggers{Plan: p.Server.Changed}, func() {
			what := p.Refusal()
			report.Add("refused", func(r *reported.EdgeReport) { r.EnvoyRefuses = what })
		})
		g.Go(func() error {
			p.FollowDarkBackends(ctx, func(names []string) {
				report.Add("dark", func(r *reported.EdgeReport) { r.DarkBackends = names })
			})
			return nil
		})
		g.Go(func() error {
			p.FollowConnected(ctx, func(connected string) {
				report.Add("connected", func(r *reported.EdgeReport) { r.Connected = connected })
			})
			return nil
		})
	}
	g.Go(func() error { return serveOn(dirs.XDS(), func(l net.Listener) error { return p.Server.Run(ctx, l) }) })
	g.Go(func() error {
		return serveOn(dirs.AccessLog(), func(l net.Listener) error {
			return accesslog.Serve(ctx, l, func(c accesslog.Connection) {
				if c.Began {
					boots.Saw(c.Source.Addr(), source.Current().Network.BootStepOf(c.Backend))
				} else {
					p.AccessLog.Ended(c)
				}
			})
		})
	})
	g.Go(func() error { return p.AccessLog.Run(ctx) })
	g.Go(func() error { return serveOn(dirs.Gate(), func(l net.Listener) error { return p.Gate.Run(ctx, l) }) })
	g.Go(func() error { return p.Run(ctx) })
	if run != nil {
		g.Go(func() error { return run(ctx, dir) })
	}
	return g.Wait()
}

// bootsOfProxy returns where the proxy stores the boot steps of VMs. Nil: there is no DHCP server, whose leases show the VMs'
// addresses.
func (f *serverFlags) bootsOfProxy(source *inforce.Source, macOf func(netip.Addr) string, log *slog.Logger) *sharedfiles.BootsFile {
	watcher := wire.Watcher(source.Current().Network.Services)
	if f.runDir == "" || watcher != string(network.ServiceDHCP) {
		return nil
	}
	leases := sharedfiles.NewLeaseNames(wire.File(f.runDir, watcher, wire.LeaseCache), log)
	return sharedfiles.NewBootsFile(wire.File(f.runDir, f.program, wire.BootsFile), leases, macOf)
}

// serveOn listens on a Unix socket, and calls serve.
func serveOn(socket string, serve func(net.Listener) error) error {
	l, err := rundir.ListenOpen(socket)
	if err == nil {
		err = serve(l)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(socket), err)
	}
	return nil
}

// proxyNeeds returns the API server, which lists the endpoints, and for external hosts also the resolvers.
func proxyNeeds(n network.Network) []network.ReservedDestination {
	out := apiServer()
	for _, b := range n.Backends {
		if b.Kind == network.BackendExternal {
			return append(out, resolvers()...)
		}
	}
	return out
}
