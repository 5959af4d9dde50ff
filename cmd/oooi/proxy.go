// This file holds `oooi proxy`: it joins the plan, the pods behind it and the
// Envoy of one edge. It decides when Envoy may serve, and nothing about where
// connections go.

package main

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/envoy"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/edge"
)

const (
	// firstLook is how long the start waits to see which pods there are. Then
	// Services' own addresses are dialled: the API server is away.
	firstLook = 5 * time.Second
	// settled is how long changes of pods are gathered for, since an update of many
	// slices comes in pieces.
	settled = 20 * time.Millisecond
)

func newProxyCommand() *cobra.Command {
	var f serverFlags
	var program string
	var noEnvoy bool
	c := &cobra.Command{
		Use:   "proxy --plan FILE",
		Short: "Carry a plan's connections on one network to the control plane",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)).With("server", "proxy")
			if noEnvoy {
				if f.runDir == "" {
					return errors.New("--no-envoy needs --run-dir: the directory that Envoy's sockets are in")
				}
				return runProxy(c.Context(), f, f.runDir, nil, log)
			}
			run, err := findEnvoy(program, c.ErrOrStderr())
			if err != nil {
				return err
			}
			// Whoever may open these sockets rules Envoy, so nobody else gets near.
			dir, err := os.MkdirTemp("", "oooi-envoy-")
			if err != nil {
				return err
			}
			defer func() { _ = os.RemoveAll(dir) }()
			return runProxy(c.Context(), f, dir, run, log)
		},
	}
	f.add(c)
	c.Flags().StringVar(&program, "envoy", "", "`path` of Envoy (default: $ENVOY, else envoy on PATH)")
	c.Flags().BoolVar(&noEnvoy, "no-envoy", false, "start no Envoy: one that shares --run-dir runs beside this")
	return c
}

// A proxy is what runs.
type proxy struct {
	flags  serverFlags
	source *edge.Source
	// pods is nil outside of a cluster.
	pods    *edge.EndpointSlices
	options envoy.Options
	server  *envoy.Server
	admin   *envoy.Admin
	log     *slog.Logger
}

// runProxy serves until ctx ends. Dir has Envoy's sockets; run runs an Envoy that
// asks there, nil where somebody else does.
func runProxy(ctx context.Context, f serverFlags, dir string, run func(ctx context.Context, dir string) error, log *slog.Logger) error {
	source, kube, err := f.open(log)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	p := proxy{
		flags: f, source: source, log: log,
		options: envoy.Options{Device: f.device},
		server:  envoy.NewServer(log), admin: envoy.NewAdmin(dir),
	}
	if kube != nil {
		p.options.UpstreamDevice = kube.Device()
		p.pods = kube.EndpointSlices(ctx)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	var r readiness
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "oooi", Subsystem: "proxy", Name: "ready", Help: "1 where every listener of the plan accepts connections.",
	}, func() float64 {
		if r.why() != nil {
			return 0
		}
		return 1
	}))
	fromEnvoy := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := p.admin.Metrics(ctx)
		if err != nil {
			// Ours are worth having without Envoy's; oooi_proxy_ready says that it is away.
			return nil, nil
		}
		return families, nil
	})
	g.Go(func() error { return source.Run(ctx) })
	g.Go(func() error { return f.health(ctx, "proxy", &r, prometheus.Gatherers{registry, fromEnvoy}) })
	g.Go(func() error { return p.server.Run(ctx, envoy.XDSSocket(dir)) })
	g.Go(func() error { return p.follow(ctx, &r) })
	if run != nil {
		g.Go(func() error { return run(ctx, dir) })
	}
	return g.Wait()
}

// follow tells Envoy what to serve, from the start and at each change, and says
// whether it does.
func (p *proxy) follow(ctx context.Context, r *readiness) error {
	p.look(ctx)
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for ctx.Err() == nil {
		plan, pods := p.source.Changed(), p.podsChanged()
		n, _ := p.may()
		p.server.Serve(envoy.NewResources(n, p.options, p.behind(n)))
		p.wait(ctx, r, n, plan, pods, tick.C)
	}
	return nil
}

// wait says how it goes until there is something to tell Envoy. It says nothing
// at first: Envoy takes what it was told in less than a tick.
func (p *proxy) wait(ctx context.Context, r *readiness, n network.Network, plan, pods <-chan struct{}, tick <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-plan:
			return
		case <-pods:
			settle(ctx)
			return
		case <-tick:
		}
		now, missing := p.may()
		if !slices.EqualFunc(now.Listeners, n.Listeners, sameAddress) {
			return
		}
		p.say(r, p.why(ctx, n, missing))
	}
}

func sameAddress(a, b network.Listener) bool { return a.Name() == b.Name() }

// may is the network with the listeners that may accept connections, and why
// others may not: the device has not their address, or the edge would forward.
// Envoy could listen without an address, but not without a device, and would
// not notice that a device was made anew.
func (p *proxy) may() (network.Network, error) {
	n := p.source.Current().Network
	var errs []error
	var listeners []network.Listener
	asked := map[netip.Addr]error{}
	for _, l := range n.Listeners {
		err, known := asked[l.Address]
		if !known {
			err = p.flags.may(l.Address)
			asked[l.Address] = err
			if err != nil {
				errs = append(errs, err)
			}
		}
		if err == nil {
			listeners = append(listeners, l)
		}
	}
	n.Listeners = listeners
	return n, errors.Join(errs...)
}

// look waits until the pods there are have been seen, and not for ever: an edge
// starts without the API server.
func (p *proxy) look(ctx context.Context) {
	if p.pods == nil {
		return
	}
	select {
	case <-p.pods.Seen():
	case <-time.After(firstLook):
		p.log.Warn("no pods seen yet, dialling Services")
	case <-ctx.Done():
	}
}

func settle(ctx context.Context) {
	select {
	case <-time.After(settled):
	case <-ctx.Done():
	}
}

// podsChanged is never closed outside of a cluster.
func (p *proxy) podsChanged() <-chan struct{} {
	if p.pods == nil {
		return nil
	}
	return p.pods.Changed()
}

// behind are the pods of each backend, nothing outside of a cluster.
func (p *proxy) behind(n network.Network) map[string][]netip.AddrPort {
	if p.pods == nil {
		return nil
	}
	return envoy.Behind(n, p.pods)
}

// why is nil where every listener of the plan accepts connections.
func (p *proxy) why(ctx context.Context, n network.Network, missing error) error {
	if missing != nil {
		return missing
	}
	if err := p.server.Accepted(); err != nil {
		return err
	}
	var names []string
	for _, l := range n.Listeners {
		names = append(names, l.Name())
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return p.admin.Serves(ctx, names)
}

func (p *proxy) say(r *readiness, err error) {
	switch changed := r.set(err); {
	case !changed:
	case err == nil:
		p.log.Info("serving", "listeners", len(p.source.Current().Network.Listeners), "interface", p.flags.device)
	default:
		p.log.Warn("not serving", "why", err)
	}
}
