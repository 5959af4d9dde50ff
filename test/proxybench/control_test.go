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
	"github.com/cldmnky/oooi/envoy"
)

// envoyMemory is that of the container of an edge, in bytes.
const envoyMemory = 2560 << 20

// asked is how many connections an Envoy carried because its Gate said so.
func asked(t *testing.T, dir string) float64 {
	t.Helper()
	families, err := envoy.NewAdmin(dir).Metrics(t.Context())
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
	limits, log := envoy.NewLimits(envoyMemory, 0), slog.New(slog.DiscardHandler)
	s := envoy.NewServer(log)
	gate := &envoy.Gate{
		Limits: limits, Each: clients.Each, Sockets: clients.Sockets, MACOf: clients.MACOf, SetAsked: s.SetAsked, Log: log,
		Denied: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "refused"}, []string{"reason", "port"}),
	}
	resetter := device.NewResetter(clients, gate.CountReset)
	gate.Reset = func(all []envoy.Senders) error {
		var to []device.Senders
		for _, s := range all {
			to = append(to, device.Senders(s))
		}
		return resetter.Set(to...)
	}
	n, endpoints := plan(c.At, table{c.Names, c.Own})
	gate.Serve(n)
	s.Serve(envoy.NewResources(n, envoy.Options{Device: lo, UpstreamDevice: lo, RunDir: c.Dir, Limits: limits}, endpoints))

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Run(ctx, envoy.XDSSocket(c.Dir)) })
	g.Go(func() error { return gate.Run(ctx, envoy.GateSocket(c.Dir)) })
	g.Go(func() error {
		e := exec.CommandContext(ctx, c.Envoy, envoy.Arguments(c.Dir, "bench", limits)...)
		e.Stderr = os.Stderr
		e.Cancel = func() error { return e.Process.Signal(os.Interrupt) }
		if err := e.Run(); ctx.Err() == nil {
			return err
		}
		return nil
	})
	return g.Wait()
}
