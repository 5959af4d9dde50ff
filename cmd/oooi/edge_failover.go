// This file holds `oooi edge failover`: it joins the plan, the servers of one edge, its
// sibling and what the operator is told. When the next hop is claimed is decided
// in edge/failover, whether this edge serves in edge_failover_servers.go, and when it
// is ready in edge_failover_standing.go.

package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy"
	"github.com/cldmnky/oooi/network"
)

// slowAgain is how often it is asked whether claims would work: somebody may
// change the kernel's settings.
const slowAgain = time.Minute

func newFailoverCommand() *cobra.Command {
	var f serverFlags
	c := &cobra.Command{
		Use:   "failover --plan FILE --run-dir DIRECTORY",
		Short: "Keep the next-hop VIP of a network on an edge that serves",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.runDir == "" {
				return errors.New("failover needs --run-dir: the directory that the servers' sockets are in")
			}
			return runFailover(c.Context(), f, slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)).With("server", wire.Failover))
		},
	}
	f.add(c)
	return c
}

// A keeper keeps the next hop with an edge that serves.
type keeper struct {
	flags    serverFlags
	source   *edge.Source
	servers  *edgeServers
	metrics  *guardMetrics
	reporter *edge.Reporter // nil outside of a cluster
	log      *slog.Logger

	mu       sync.Mutex
	serving  readiness
	standing standing
	state    failover.State
	report   network.Report
}

// runFailover guards until ctx ends and the sibling has taken over.
func runFailover(ctx context.Context, f serverFlags, log *slog.Logger) error {
	source, kube, err := f.open(log)
	if err != nil {
		return err
	}
	view := source.Current()
	k := &keeper{
		flags: f, source: source, log: log,
		servers: newEdgeServers(f.runDir, envoy.NewAdmin(f.runDir)),
		report:  network.Report{Edge: view.Edge.Number},
	}
	registry := prometheus.NewRegistry()
	k.metrics = newGuardMetrics(registry, k.why)
	// What the guard needs goes on until it has left.
	working, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	g, working := errgroup.WithContext(working)
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	context.AfterFunc(working, leave)
	if kube != nil {
		k.reporter = kube.Reporter(wire.EdgeReport(view.Network, view.Edge))
		g.Go(func() error { k.reporter.Run(working); return nil })
	}
	g.Go(func() error { return source.Run(working) })
	g.Go(func() error {
		return f.health(working, wire.Failover, k.why, nil, registry, edge.Question{Path: edge.SiblingPath, Why: k.sibling})
	})
	g.Go(func() error { k.lookSlow(working); return nil })
	g.Go(func() error { defer done(); return k.guard(ctx) })
	return g.Wait()
}

// A post is what the guard is told of the plan.
type post struct {
	edge                  int
	own, sibling, nextHop netip.Addr
	// leftOut: the plan has this edge no more.
	leftOut bool
}

func postOf(s *edge.Source) post {
	v := s.Current()
	p := post{edge: v.Edge.Number, own: v.Edge.Address, nextHop: v.Network.NextHop, leftOut: s.LeftOut()}
	for _, e := range v.Network.Edges {
		if e.Number != v.Edge.Number {
			p.sibling = e.Address
		}
	}
	return p
}

// guard runs until ctx ends, anew where the plan says something else. Of a plan
// that moves addresses nothing is taken in that the device does not have: then
// this pod ends soon, and until then it is the guard of those that it has.
func (k *keeper) guard(ctx context.Context) error {
	at := postOf(k.source)
	for {
		k.changed(failover.NewState(at.edge, "", !at.sibling.IsValid()))
		run, replace := context.WithCancelCause(ctx)
		next := make(chan post, 1)
		go func() { next <- k.differs(run, at, replace) }()
		err := failover.Run(run, failover.Options{
			Device: k.flags.device, Edge: at.edge, Own: at.own, Sibling: at.sibling, NextHop: at.nextHop, Yields: at.leftOut,
			Serving: k.serves, Plan: k.plan, Log: k.log, Changed: k.changed, Claimed: k.metrics.claimed,
		})
		replaced := errors.Is(context.Cause(run), failover.ErrReplaced)
		replace(nil)
		if at = <-next; err != nil || !replaced {
			return err
		}
		k.log.Info("the plan changed what is guarded", "own", at.own, "sibling", at.sibling, "next hop", at.nextHop, "left out", at.leftOut)
	}
}

// differs waits until the plan says something else than at, calls replace and
// returns it, or until ctx ends.
func (k *keeper) differs(ctx context.Context, at post, replace context.CancelCauseFunc) post {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		now := postOf(k.source)
		if now != at && k.flags.may(now.own) == nil && k.flags.may(now.nextHop) == nil {
			replace(failover.ErrReplaced)
			return now
		}
		select {
		case <-ctx.Done():
			return at
		case <-tick.C:
		}
	}
}

// serves is nil where this edge serves machines now.
func (k *keeper) serves() error {
	err := k.servers.why(k.source.Current().Network)
	changed := k.serving.set(err)
	k.stand()
	switch {
	case !changed:
	case err == nil:
		k.log.Info("this edge serves")
	default:
		k.log.Warn("this edge does not serve", "why", err)
	}
	return err
}

// plan names the plan in force for its sibling and the log.
func (k *keeper) plan() string {
	b, err := json.Marshal(k.source.Current().Network)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:4])
}

func (k *keeper) changed(s failover.State) {
	k.mu.Lock()
	k.state, k.report.Sibling = s, string(s.Sight)
	k.mu.Unlock()
	k.metrics.changed(s)
	k.stand()
	k.tell()
}

// stand says why this edge is not ready, nil where it is.
func (k *keeper) stand() error {
	serves := k.serving.why()
	k.mu.Lock()
	defer k.mu.Unlock()
	var err error
	k.standing, err = k.standing.next(serves, k.state, time.Now())
	return err
}

// why is what `oooi probe guard` is told. An edge whose cable is pulled may serve,
// but the other one must not be changed meanwhile.
func (k *keeper) why() error {
	_, err := addressesOn(k.flags.device)
	return cmp.Or(k.stand(), err)
}

// sibling is what DHCP is told, which leaves to the other edge what is its: nil
// where that serves, as far as is seen.
func (k *keeper) sibling() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state.Sight == failover.Serves {
		return nil
	}
	return errors.New(string(cmp.Or(k.state.Sight, failover.Unknown)))
}

// tell reports, once there is something to be said of the sibling.
func (k *keeper) tell() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.reporter != nil && k.state.Sight != "" && k.state.Sight != failover.Unknown {
		k.reporter.Tell(k.report)
	}
}

// lookSlow asks again and again whether claims would work, once there is
// something to be claimed.
func (k *keeper) lookSlow(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for looked := (time.Time{}); ; {
		hop := k.source.Current().Network.NextHop
		if time.Since(looked) >= slowAgain && k.flags.may(hop) == nil {
			looked = time.Now()
			k.slow(failover.Slow("/", k.flags.device, hop))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (k *keeper) slow(err error) {
	why := ""
	if err != nil {
		why = err.Error()
	}
	k.metrics.slow(err)
	k.mu.Lock()
	was := k.report.SlowTakeover
	k.report.SlowTakeover = why
	k.mu.Unlock()
	if why == was {
		return
	}
	if err != nil {
		k.log.Warn("machines would notice late that this edge took over", "why", err)
	} else {
		k.log.Info("claims of the next hop work")
	}
	k.tell()
}
