// This file is the process that configures our Envoy and is its parent, as `oooi-edge proxy` does.

package proxybench

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/rundir"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/admin"
	"github.com/cldmnky/oooi/envoy/ads"
	"github.com/cldmnky/oooi/envoy/gate"
	"github.com/cldmnky/oooi/envoy/resources"
)

// envoyMemory is that of the container of an edge, in bytes.
const envoyMemory = 2560 << 20

// asked is how many connections an Envoy carried because its Gate said so.
func asked(t *testing.T, dir string) float64 {
	t.Helper()
	families, err := admin.NewClient(rundir.Transport(resources.NewDirs(wire.EnvoyDirs(dir)).Admin())).Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "envoy_ratelimit_gate_ok" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return 0
}

// A controlled is an Envoy to run, and what it serves where.
type controlled struct {
	Envoy, Dir, At string
	Names          int
	Own            bool
}

// control serves until the process is interrupted. Envoy has the limits of an edge, and asks a Gate.
func control(text string) error {
	var c controlled
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	clients, err := device.OpenClients(lo)
	if err != nil {
		return err
	}
	defer clients.Close()
	limits, log := resources.NewLimits(envoyMemory, 0), slog.New(slog.DiscardHandler)
	s := ads.NewServer(log)
	admission := &gate.Gate{
		Limits: limits, Each: clients.Each, Sockets: clients.Sockets, MACOf: clients.MACOf, SetAsked: s.SetAsked, Log: log,
		Denied: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "refused"}, []string{"reason", "port"}),
	}
	resetter := device.NewResetter(clients, admission.CountReset)
	admission.Reset = func(all []gate.Senders) error {
		var to []device.Senders
		for _, s := range all {
			to = append(to, device.Senders(s))
		}
		return resetter.Set(to...)
	}
	n, endpoints := plan(c.At, table{c.Names, c.Own})
	admission.Serve(n)
	dirs := resources.NewDirs(wire.EnvoyDirs(c.Dir))
	s.Serve(resources.New(n, resources.Options{Device: lo, UpstreamDevice: lo, ReachSocket: dirs.Reach(), Limits: limits}, endpoints))

	xds, err := rundir.ListenOpen(dirs.XDS())
	if err != nil {
		return err
	}
	questions, err := rundir.ListenOpen(dirs.Gate())
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Run(ctx, xds) })
	g.Go(func() error { return admission.Run(ctx, questions) })
	g.Go(func() error {
		e := exec.CommandContext(ctx, c.Envoy, resources.Arguments(dirs, "bench", limits)...)
		e.Stderr = os.Stderr
		e.Cancel = func() error { return e.Process.Signal(os.Interrupt) }
		if err := e.Run(); ctx.Err() == nil {
			return err
		}
		return nil
	})
	return g.Wait()
}
