// This file holds what the servers of an edge have in common: flags, logs, health, and `oooi-edge probe`, which a
// kubelet runs.

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/kube"
	"github.com/cldmnky/oooi/edge/rundir"
	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// serverFlags are the flags that every server has.
type serverFlags struct {
	// program is the server's name: a network.Service, or a name from package wire.
	program   string
	plan      string
	selection inforce.Selection
	watch     bool
	watchedBy string
	device    string
	runDir    string
	podinfo   string
	vms       string
}

func (f *serverFlags) add(c *cobra.Command) {
	f.addPlan(c)
	c.Flags().IntVar(&f.selection.Edge, "edge", 0, "`number` of the edge; required if the network has several")
	c.Flags().StringVar(&f.device, "interface", wire.Device, "the only network `interface` to serve on")
	c.Flags().StringVar(&f.runDir, "run-dir", "", "`directory` of the servers' sockets and files (default: a temporary one)")
	c.Flags().BoolVar(&f.watch, "watch", false, "watch the plan, Leases and Services through the API server (in an edge pod only)")
	c.Flags().StringVar(&f.watchedBy, "watched-by", "", "`server` of this edge that runs with --watch: read the plan from its files in --run-dir")
	c.Flags().StringVar(&f.podinfo, "podinfo", "", "`directory` of the pod's annotations file (in an edge pod only)")
	c.Flags().StringVar(&f.vms, "vm-resource", kube.VMResource, "`name` of VirtualMachineInstances in the API server (with --watch only)")
	c.MarkFlagsMutuallyExclusive("watch", "watched-by")
}

// addPlan adds the flags that name a network of a plan.
func (f *serverFlags) addPlan(c *cobra.Command) {
	c.Flags().StringVar(&f.plan, "plan", "", "plan `file`: a plan alone, or the output of 'oooi plan -o json'")
	c.Flags().StringVar(&f.selection.Cluster, "cluster", "", "`namespace/name` of the hosted cluster; required if the file has several")
	c.Flags().StringVar(&f.selection.Network, "network", "", "`name` of the network; required if the plan has several")
	_ = c.MarkFlagRequired("plan")
}

// inPod reports whether the server runs in the pod of an edge.
func (f *serverFlags) inPod() bool { return f.watch || f.watchedBy != "" }

// log returns a logger that writes lines for people, or JSON in a pod.
func (f *serverFlags) log(c *cobra.Command) *slog.Logger {
	var h slog.Handler = slog.NewTextHandler(c.ErrOrStderr(), nil)
	if f.inPod() {
		h = slog.NewJSONHandler(c.ErrOrStderr(), nil)
	}
	return slog.New(h).With("server", f.program)
}

// on returns the interface of the network, which follows changes in the kernel until ctx ends.
func (f *serverFlags) on(ctx context.Context) (serving.Interface, error) {
	w, err := device.Watch(ctx, f.device)
	return serving.Interface{Name: f.device, InPod: f.inPod(), Watcher: w}, err
}

// managementDevice returns the named device, or else the pod's device on the cluster network. Empty: outside a pod,
// any device.
func (f *serverFlags) managementDevice(named string) (string, error) {
	if named != "" || !f.inPod() {
		return named, nil
	}
	return kube.Default("/", f.podinfo)
}

// open reads the plan, and creates this server's directory. Without --watch, the returned Kube is nil.
func (f *serverFlags) open(log *slog.Logger) (*inforce.Source, *kube.Kube, error) {
	if f.runDir != "" {
		if err := rundir.MakeDir(wire.Dir(f.runDir, f.program)); err != nil {
			return nil, nil, err
		}
	}
	var api *kube.Kube
	if f.watch {
		var err error
		if api, err = kube.InCluster(f.podinfo, log); err != nil {
			return nil, nil, err
		}
		if err := api.NameVMs(f.vms); err != nil {
			return nil, nil, fmt.Errorf("--vm-resource: %w", err)
		}
	}
	source, err := inforce.New(f.plan, f.selection, api, log)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case api != nil:
		source.Publish(wire.File(f.runDir, f.program, wire.PlanCopy))
	case f.watchedBy != "":
		source.Follow(wire.File(f.runDir, f.watchedBy, wire.PlanCopy), f.watcherAway)
	}
	return source, api, nil
}

// watcherAway reports whether the server that --watched-by names has stopped.
func (f *serverFlags) watcherAway() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return health.Away(health.Probe(ctx, wire.Socket(f.runDir, f.watchedBy)))
}

// passOn adds to g the tasks of the server with the token for the others. It writes the failover agent's report to
// the API server. While the plan requires tokens from callers, it also stores the API server's keys. It returns the
// writer of the report, nil without the token.
func (f *serverFlags) passOn(ctx context.Context, g *errgroup.Group, kube *kube.Kube, source *inforce.Source, log *slog.Logger) *kube.Reporter {
	v := source.Current()
	if kube == nil || f.runDir == "" || wire.Watcher(v.Network.Services) != f.program {
		return nil
	}
	reporter := kube.Reporter(wire.EdgeReportLease(v.Network, v.Edge))
	reporter.Node = os.Getenv(wire.NodeVariable)
	g.Go(func() error { reporter.Run(ctx); return nil })
	g.Go(func() error {
		sharedfiles.FollowReport(ctx, wire.File(f.runDir, wire.Failover, wire.ReportFile), reporter.Set, log)
		return nil
	})
	wanted := func() bool { return len(source.Current().Network.Access.Accounts) > 0 }
	g.Go(func() error {
		sharedfiles.KeepTokenKeys(ctx, wire.File(f.runDir, f.program, wire.KeysFile), wanted, source.Changed, kube.TokenKeys, log)
		return nil
	})
	return reporter
}

// health answers `oooi-edge probe`, the failover agent and GET /metrics until ctx ends; see health.Serve.
func (f *serverFlags) health(ctx context.Context, ready func() error, metrics prometheus.Gatherer, more ...health.Question) error {
	dir := f.runDir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "oooi-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	}
	return health.Serve(ctx, wire.Socket(dir, f.program), ready, promhttp.HandlerFor(metrics, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}), more...)
}

// apiServer returns the API server in the pod's environment.
func apiServer() []network.ReservedDestination {
	return serving.APIServer(os.Getenv(wire.APIServerVariable))
}

// resolvers returns the resolvers in the pod's resolv.conf. It returns nil if there is no such file.
func resolvers() []network.ReservedDestination {
	text, err := os.ReadFile(wire.ResolvConf)
	if err != nil {
		return nil
	}
	return serving.Resolvers(string(text))
}

func newProbeCommand() *cobra.Command {
	var runDir string
	c := &cobra.Command{
		Use:       "probe dhcp|dns|ntp|proxy|access|failover|acd",
		Short:     "Check whether a server of this edge is ready",
		ValidArgs: []string{string(network.ServiceDHCP), string(network.ServiceDNS), string(network.ServiceNTP), string(network.ServiceProxy), wire.Access, wire.Failover, wire.ACD},
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE: func(c *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), 3*time.Second)
			defer cancel()
			if err := health.Probe(ctx, wire.Socket(runDir, args[0])); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&runDir, "run-dir", wire.RunDir, "directory of the servers' sockets")
	return c
}
