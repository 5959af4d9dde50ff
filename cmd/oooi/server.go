// This file holds what the servers of an edge (dhcp, dns, proxy) have in common:
// their flags, the plan they follow, and when they may serve. What they serve is
// in their own files.

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/wire"
)

// serverFlags are the flags that every server has.
type serverFlags struct {
	plan      string
	selection edge.Selection
	watch     bool
	device    string
	runDir    string
	podinfo   string
}

func (f *serverFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.plan, "plan", "", "plan `file`: a plan alone, or the output of 'oooi plan -o json'")
	c.Flags().StringVar(&f.selection.Cluster, "cluster", "", "`namespace/name` of the hosted cluster; needed if the file has several")
	c.Flags().StringVar(&f.selection.Network, "network", "", "`name` of the network; needed if the plan has several")
	c.Flags().IntVar(&f.selection.Edge, "edge", 0, "`number` of the edge; needed if the network has several")
	c.Flags().StringVar(&f.device, "interface", wire.Device, "network `interface` to serve on; other interfaces are not served")
	c.Flags().StringVar(&f.runDir, "run-dir", "", "`directory` of the health sockets (default: a temporary one)")
	c.Flags().BoolVar(&f.watch, "watch", false, "watch the plan, Leases and Services through the API server (in an edge pod only)")
	c.Flags().StringVar(&f.podinfo, "podinfo", "", "`directory` of the pod's annotations file (with --watch)")
	_ = c.MarkFlagRequired("plan")
}

// open reads the plan. Kube is nil without --watch.
func (f *serverFlags) open(log *slog.Logger) (*edge.Source, *edge.Kube, error) {
	var kube *edge.Kube
	if f.watch {
		var err error
		if kube, err = edge.InCluster(f.podinfo, log); err != nil {
			return nil, nil, err
		}
	}
	source, err := edge.NewSource(f.plan, f.selection, kube, log)
	return source, kube, err
}

// may is nil where the server may serve at address: the device has it, and in
// an edge the kernel would not forward. Outside of a cluster the host's
// forwarding is its owner's.
func (f *serverFlags) may(address netip.Addr) error {
	if f.watch {
		if err := edge.Isolates("/", f.device); err != nil {
			return err
		}
	}
	if address.IsUnspecified() {
		return nil
	}
	i, err := net.InterfaceByName(f.device)
	if err != nil {
		return fmt.Errorf("interface %s: %w", f.device, err)
	}
	all, err := i.Addrs()
	if err != nil {
		return fmt.Errorf("addresses of %s: %w", f.device, err)
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && (p.Addr() == address || p.Addr().IsLoopback() && p.Contains(address)) {
			return nil
		}
	}
	return fmt.Errorf("waiting for %s on interface %s", address, f.device)
}

// health answers `oooi edge probe`, the guard and GET /metrics until ctx ends. Serves
// is nil for who serves no machines; see edge.ServeHealth.
func (f *serverFlags) health(ctx context.Context, name string, ready, serves func() error, metrics prometheus.Gatherer, more ...edge.Question) error {
	dir := f.runDir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "oooi-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	}
	return edge.ServeHealth(ctx, wire.Socket(dir, name), ready, serves, promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}), more...)
}

// A readiness is why a server is not ready, nil where it is. The zero value is
// that of a server which is starting.
type readiness struct {
	mu    sync.Mutex
	known bool
	err   error
}

var errStarting = errors.New("starting")

// set says whether it changed.
func (r *readiness) set(err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	same := r.known && (err == nil) == (r.err == nil) && (err == nil || err.Error() == r.err.Error())
	r.known, r.err = true, err
	return !same
}

func (r *readiness) why() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known {
		return errStarting
	}
	return r.err
}

// lookAgain is how often it is asked whether a server may serve.
const lookAgain = 250 * time.Millisecond

// serveWhile runs serve for as long as may is nil, again and again until ctx
// ends. Serve calls its ready when it serves, and returns when its context ends
// or it can't go on; then it is tried again, since what failed is a device or
// an address that went away.
func serveWhile(ctx context.Context, r *readiness, log *slog.Logger, may func() error, serve func(ctx context.Context, ready func()) error) error {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for ctx.Err() == nil {
		err := may()
		if err == nil {
			err = serveOnce(ctx, r, tick.C, may, serve)
		}
		if r.set(err) && err != nil && ctx.Err() == nil {
			log.Warn("not serving", "why", err)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return nil
}

// serveOnce runs serve until it ends, or may says no, and says why.
func serveOnce(ctx context.Context, r *readiness, tick <-chan time.Time, may func() error, serve func(context.Context, func()) error) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- serve(serving, func() { r.set(nil) }) }()
	for {
		select {
		case err := <-ended:
			if err == nil {
				err = errStarting
			}
			return err
		case <-tick:
			if err := may(); err != nil {
				r.set(err)
				stop()
				return errors.Join(err, <-ended)
			}
		}
	}
}
