// This file joins the failover agent of one edge with the plan, the edge's servers and
// what the operator is told. When the next-hop VIP is announced is decided in
// edge/failover, whether this edge serves in servers.go, when it is ready in
// readiness.go.

package agent

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

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/network"
)

// degradedInterval is how often it is checked whether announcements work: an
// administrator may change the kernel's settings.
const degradedInterval = time.Minute

// Failover keeps the next-hop VIP on an edge that serves.
type Failover struct {
	Interface Interface
	Source    *edge.Source
	Servers   *Servers
	Metrics   *FailoverMetrics
	// Reporter tells the operator. Nil outside of a cluster.
	Reporter *edge.Reporter
	Log      *slog.Logger

	// serving and peer are kept for what changes: whether this edge and the other serve.
	serving, peer Status

	mu        sync.Mutex
	readiness Readiness
	state     failover.State
	report    network.Report
}

// An assignment is what the plan says about this edge's failover.
type assignment struct {
	edge               int
	own, peer, nextHop netip.Addr
	// removed: the plan no longer has this edge.
	removed bool
}

func assignmentOf(v edge.View, removed bool) assignment {
	a := assignment{edge: v.Edge.Number, own: v.Edge.Address, nextHop: v.Network.NextHopVIP, removed: removed}
	for _, e := range v.Network.Edges {
		if e.Number != v.Edge.Number {
			a.peer = e.Address
		}
	}
	return a
}

// Run announces until ctx ends and the peer has taken over, and starts again when the
// plan assigns something else. An assignment waits until the interface has its
// addresses: this pod ends soon, and until then it keeps the ones that it has.
func (f *Failover) Run(ctx context.Context) error {
	a := assignmentOf(f.Source.Current(), f.Source.LeftOut())
	f.mu.Lock()
	f.report.Edge = a.edge
	f.mu.Unlock()
	for {
		f.changed(failover.NewState(a.edge, "", !a.peer.IsValid()))
		run, replace := context.WithCancelCause(ctx)
		next := make(chan assignment, 1)
		go func() { next <- f.differs(run, a, replace) }()
		err := failover.Run(run, failover.Options{
			Device: f.Interface.Name, Edge: a.edge, Address: a.own, PeerAddress: a.peer, NextHopVIP: a.nextHop, Removed: a.removed,
			Serving: f.serves, ServingChanged: f.Servers.Changed, Carrier: f.carrier, Plan: f.planHash, Log: f.Log, Changed: f.changed, Announced: f.Metrics.announced,
		})
		replaced := errors.Is(context.Cause(run), failover.ErrReplaced)
		replace(nil)
		if a = <-next; err != nil || !replaced {
			return err
		}
		f.Log.Info("failover assignment changed", "address", a.own, "peerAddress", a.peer, "nextHop", a.nextHop, "removed", a.removed)
	}
}

// differs waits until the plan assigns something else than a, calls replace and
// returns it, or returns a when ctx ends.
func (f *Failover) differs(ctx context.Context, a assignment, replace context.CancelCauseFunc) assignment {
	for {
		wait := f.triggers().wait()
		now := assignmentOf(f.Source.Current(), f.Source.LeftOut())
		if now != a && f.Interface.May(now.own) == nil && f.Interface.May(now.nextHop) == nil {
			replace(failover.ErrReplaced)
			return now
		}
		if wait(ctx, recheckInterval); ctx.Err() != nil {
			return a
		}
	}
}

// carrier says whether the interface has a link.
func (f *Failover) carrier() bool {
	_, err := f.Interface.Addresses()
	return err == nil
}

// triggers are what an assignment depends on.
func (f *Failover) triggers() Triggers { return Triggers{f.Interface.Changed, f.Source.Changed} }

// serves is nil where this edge serves now.
func (f *Failover) serves() error {
	err := f.Servers.Err(f.Source.Current().Network)
	changed := f.serving.Set(err)
	_ = f.ready()
	switch {
	case !changed:
	case err == nil:
		f.Log.Info("edge serves")
	default:
		f.Log.Warn("edge does not serve", "err", err)
	}
	return err
}

// planHash names the plan in force to the peer and in logs.
func (f *Failover) planHash() string {
	b, err := json.Marshal(f.Source.Current().Network)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:4])
}

func (f *Failover) changed(s failover.State) {
	f.mu.Lock()
	f.state, f.report.Peer = s, string(s.PeerState)
	f.mu.Unlock()
	_ = f.peer.Set(f.PeerServes())
	f.Metrics.changed(s)
	_ = f.ready()
	f.tell()
}

// ready says why this edge is not ready, nil where it is.
func (f *Failover) ready() error {
	serves := f.serving.Err()
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	f.readiness, err = f.readiness.Next(serves, f.state, time.Now())
	return err
}

// Ready is nil where this edge is ready. An edge without a carrier may serve, but the
// other one must not be changed meanwhile.
func (f *Failover) Ready() error {
	_, err := f.Interface.Addresses()
	return cmp.Or(f.ready(), err)
}

// PeerServes is nil where the other edge serves as far as is known. DHCP leaves to
// that edge what is its.
func (f *Failover) PeerServes() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state.PeerState == failover.PeerServing {
		return nil
	}
	return errors.New(string(cmp.Or(f.state.PeerState, failover.Unknown)))
}

// PeerChanged is closed when PeerServes may have changed since.
func (f *Failover) PeerChanged() <-chan struct{} { return f.peer.Changed() }

// tell reports, once something is known of the peer.
func (f *Failover) tell() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Reporter != nil && f.state.PeerState != "" && f.state.PeerState != failover.Unknown {
		f.Reporter.Tell(f.report)
	}
}

// CheckDegraded checks again and again whether announcements work, once there is an
// address to announce, until ctx ends.
func (f *Failover) CheckDegraded(ctx context.Context) {
	for checked := (time.Time{}); ctx.Err() == nil; {
		wait := f.triggers().wait()
		hop := f.Source.Current().Network.NextHopVIP
		if time.Since(checked) >= degradedInterval && f.Interface.May(hop) == nil {
			checked = time.Now()
			f.degraded(failover.Degraded("/", f.Interface.Name, hop))
		}
		wait(ctx, recheckInterval)
	}
}

func (f *Failover) degraded(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	f.Metrics.setDegraded(err)
	f.mu.Lock()
	was := f.report.FailoverDegraded
	f.report.FailoverDegraded = text
	f.mu.Unlock()
	if text == was {
		return
	}
	if err != nil {
		f.Log.Warn("failover degraded, VMs notice a failover late", "err", err)
	} else {
		f.Log.Info("failover announcements work")
	}
	f.tell()
}
