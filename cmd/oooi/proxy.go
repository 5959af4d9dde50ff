// This file holds `oooi proxy`: it joins the plan, who stands behind it and the
// Envoy of one edge. When Envoy may serve is decided in proxy_may.go, and where
// connections go in the plan.

package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/envoy"
	"github.com/cldmnky/oooi/network"
)

const (
	// firstLook is how long the start waits to see who is behind backends. Then
	// Services' own addresses are dialled, and what is recalled: the API server is
	// away.
	firstLook = 5 * time.Second
	// settled is how long changes behind backends are gathered for, since an update
	// of many slices comes in pieces.
	settled = 20 * time.Millisecond
)

func newProxyCommand() *cobra.Command {
	var f serverFlags
	var program string
	var noEnvoy bool
	c := &cobra.Command{
		Use:   "proxy --plan FILE",
		Short: "Run the proxy of a plan on one network",
		Long: `Carries TCP connections on one network of a plan, as an edge does. Without --watch it needs
no cluster: the plan is read from the file and followed. It starts Envoy and configures it.
Connections go to Services of the control plane namespace or to allowed external hosts.`,
		Args: cobra.NoArgs,
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
	c.Flags().StringVar(&program, "envoy", "", "`path` of the Envoy binary (default: $ENVOY, then envoy in PATH)")
	c.Flags().BoolVar(&noEnvoy, "no-envoy", false, "do not start Envoy: another container runs it with the same --run-dir")
	return c
}

// A proxy is what runs.
type proxy struct {
	flags    serverFlags
	source   *edge.Source
	backends *edge.Backends
	options  envoy.Options
	server   *envoy.Server
	admin    *envoy.Admin
	log      *slog.Logger
	// closed counts backends that are cut off, of which warned was said last.
	closed prometheus.Gauge
	warned string

	mu sync.Mutex
	// envoy is what Envoy answered last where it was asked whether it serves.
	envoy lastWord
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
		closed: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "oooi", Subsystem: "proxy", Name: "backends_cut_off", Help: "Backends that the pod network does not lead to from here; connections to them are closed.",
		}),
	}
	remembered := ""
	if kube != nil {
		p.options.UpstreamDevice = kube.Device()
		if f.runDir != "" {
			remembered = filepath.Join(f.runDir, "backends.json")
		}
	}
	if p.backends, err = edge.NewBackends(ctx, kube, edge.NewLookup(p.options.UpstreamDevice), remembered, log); err != nil {
		log.Warn("begins without what was known", "error", err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(p.closed, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
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
	serves := func() error { return p.serves(ctx) }
	g.Go(func() error { return f.health(ctx, "proxy", r.why, serves, prometheus.Gatherers{registry, fromEnvoy}) })
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
	p.backends.Follow(ctx, p.source.Current().Network)
	p.look(ctx)
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for ctx.Err() == nil {
		plan, behind := p.source.Changed(), p.backends.Changed()
		p.backends.Follow(ctx, p.source.Current().Network)
		n, cut, _ := p.may()
		p.warn(cut)
		p.server.Serve(envoy.NewResources(n, p.options, cut.but(envoy.EndpointsOf(n, p.backends))))
		p.wait(ctx, r, n, cut, plan, behind, tick.C)
	}
	return nil
}

// wait says how it goes until there is something to tell Envoy. It says nothing
// at first: Envoy takes what it was told in less than a tick.
func (p *proxy) wait(ctx context.Context, r *readiness, n network.Network, cut cutOff, plan, behind <-chan struct{}, tick <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-plan:
			return
		case <-behind:
			settle(ctx)
			return
		case <-tick:
		}
		now, cutNow, missing := p.may()
		if !cutNow.same(cut) || !slices.EqualFunc(now.Listeners, n.Listeners, sameAddress) {
			return
		}
		p.say(r, p.why(ctx, n, missing))
	}
}

// warn says who is cut off, at each change.
func (p *proxy) warn(cut cutOff) {
	p.closed.Set(float64(len(cut)))
	if why := cut.String(); why != p.warned {
		p.warned = why
		if why != "" {
			p.log.Warn("connections to backends that are cut off are closed", "why", why)
		}
	}
}

func sameAddress(a, b network.Listener) bool { return a.Name() == b.Name() }

// look waits until it has been seen who is behind backends, and not for ever: an
// edge starts without the API server.
func (p *proxy) look(ctx context.Context) {
	looking, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	if !p.backends.Seen(looking) && ctx.Err() == nil {
		p.log.Warn("not all backends seen yet, dialling Services and what is recalled")
	}
}

func settle(ctx context.Context) {
	select {
	case <-time.After(settled):
	case <-ctx.Done():
	}
}

// why is nil where every listener of the plan accepts connections.
func (p *proxy) why(ctx context.Context, n network.Network, missing error) error {
	if missing != nil {
		return missing
	}
	if err := p.server.Accepted(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, envoyAnswersWithin)
	defer cancel()
	return p.admin.Serves(ctx, listenerNames(n))
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
