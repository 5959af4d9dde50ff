// This file serves the metrics of an edge on the pod network's device, which VMs do not reach, at
// the port of the plan. The NetworkPolicy of edges decides which pods may read.

package scrape

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cldmnky/oooi/callers"
	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/socket"
)

// metricsConnections is the limit of connections to the port of metrics.
const metricsConnections = 8

// Metrics serves Prometheus metrics while the plan has a port for them. A fault does not affect VMs
// or readiness.
type Metrics struct {
	// Interface is the edge's interface on the network. While the kernel forwards packets, nothing is served.
	Interface serving.Interface
	Source    *inforce.Source
	// Device is the pod's interface on the cluster network.
	Device   string
	Gatherer prometheus.Gatherer
	Log      *slog.Logger
	// Status is kept by Run: whether metrics are served.
	Status serving.Status
}

// Run serves until ctx ends.
func (m *Metrics) Run(ctx context.Context) error {
	planned := func() bool { return m.Source.Current().Network.MetricsPort != 0 }
	return serving.WhilePlanned(ctx, m.Source.Changed, planned, func(ctx context.Context) error {
		triggers := serving.Triggers{Interface: m.Interface.Changed, Plan: m.Source.Changed}
		return serving.While(ctx, &m.Status, m.Log, triggers, func() error { return m.Interface.Admissible(m.at().Addr()) }, m.serve)
	})
}

// at returns the address to serve at. The socket is bound to the device.
func (m *Metrics) at() netip.AddrPort {
	return netip.AddrPortFrom(netip.IPv4Unspecified(), m.Source.Current().Network.MetricsPort)
}

// serve answers GET /metrics until ctx ends or the plan changes the port.
func (m *Metrics) serve(ctx context.Context, ready func()) error {
	ctx, stop, here := serving.UntilMoved(ctx, m.Source, m.at)
	defer stop()
	l, err := socket.Listen(ctx, m.Device, here)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.Gatherer, promhttp.HandlerOpts{}))
	s, l := callers.NewServer(mux, l, metricsConnections)
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	ready()
	m.Log.Info("serving metrics", "address", here, "interface", m.Device)
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
