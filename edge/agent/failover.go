// This file connects the failover agent of one edge with the plan, the edge's servers and
// the report to the operator. Package edge/failover decides when to announce the next-hop
// VIP. File servers.go decides whether this edge serves, readiness.go when it is ready.

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// degradedInterval is how often announcements are checked: an administrator may change the
// kernel's settings.
const degradedInterval = time.Minute

// Failover keeps the next-hop VIP on an edge that serves.
type Failover struct {
	Interface serving.Interface
	Source    *inforce.Source
	Servers   *Servers
	Metrics   *FailoverMetrics
	// RunDir is the directory of the pod's sockets and files. ClusterDevice is the pod's
	// interface on the cluster network, empty outside of a pod.
	RunDir, ClusterDevice string
	// Reach reports whether the hosted API server answers through this edge's Envoy. See
	// ReachCheck.
	Reach func(ctx context.Context, report func(began time.Time))
	// Report passes the report on to the operator. Nil outside of a cluster.
	Report func(reported.EdgeReport)
	Log    *slog.Logger

	// Stale reports whether the DHCP server of this edge cannot read its leases.
	Stale func() bool

	// serving and peer hold whether this edge and its peer serve.
	serving, peer serving.Status

	mu        sync.Mutex
	readiness Readiness
	state     failover.State
	view      view
}

// An assignment has the numbers and addresses that the plan assigns to this edge and its peer.
type assignment struct {
	edge               int
	own, peer, nextHop netip.Addr
	// removed: the plan no longer has this edge.
	removed bool
}

func assignmentOf(v inforce.View, removed bool) assignment {
	a := assignment{edge: v.Edge.Number, own: v.Edge.Address, nextHop: v.Network.NextHopVIP, removed: removed}
	for _, e := range v.Network.Edges {
		if e.Number != v.Edge.Number {
			a.peer = e.Address
		}
	}
	return a
}

// Run runs the failover agent until ctx ends and the peer has taken over. It restarts the agent
// when the assignment changes. A new assignment takes effect only once the interface has the new
// addresses. Usually this pod keeps its current addresses until it is replaced.
func (f *Failover) Run(ctx context.Context) error {
	a := assignmentOf(f.Source.Current(), f.Source.Removed())
	for {
		f.mu.Lock()
		f.view.report.Edge, f.view.nextHop = a.edge, a.nextHop
		f.mu.Unlock()
		f.changed(failover.NewState(failover.Self{Edge: a.edge}, !a.peer.IsValid()))
		run, replace := context.WithCancelCause(ctx)
		next := make(chan assignment, 1)
		go func() { next <- f.differs(run, a, replace) }()
		err := failover.Run(run, failover.Options{
			Dir: wire.Dir(f.RunDir, wire.Failover), LeaseCache: wire.File(f.RunDir, string(network.ServiceDHCP), wire.LeaseCache),
			Device: f.Interface.Name, ClusterDevice: f.ClusterDevice, CIDR: f.Source.Current().Network.CIDR,
			Edge: a.edge, Address: a.own, PeerAddress: a.peer, NextHopVIP: a.nextHop, OnLink: f.onLink, Removed: a.removed,
			Serving: f.serves, ServingChanged: f.Servers.Changed, Carrier: f.carrier, Reach: f.Reach, Plan: f.plan, Stale: f.Stale,
			Log: f.Log, Changed: f.changed, Announced: f.Metrics.announced,
		})
		replaced := errors.Is(context.Cause(run), failover.ErrReplaced)
		replace(nil)
		if a = <-next; err != nil || !replaced {
			return err
		}
		f.Log.Info("failover assignment changed", "address", a.own, "peerAddress", a.peer, "nextHop", a.nextHop, "removed", a.removed)
	}
}

// differs waits until the plan's assignment differs from a. Then it calls replace and returns the
// new assignment. It returns a when ctx ends.
func (f *Failover) differs(ctx context.Context, a assignment, replace context.CancelCauseFunc) assignment {
	for {
		wait := f.triggers().Wait()
		now := assignmentOf(f.Source.Current(), f.Source.Removed())
		if now != a && f.Interface.Admissible(now.own) == nil && f.Interface.Admissible(now.nextHop) == nil {
			replace(failover.ErrReplaced)
			return now
		}
		if wait(ctx, serving.RecheckInterval); ctx.Err() != nil {
			return a
		}
	}
}

// onLink returns the addresses of this edge that clients may have on their link: the service VIP
// first, and not the next-hop VIP. VMs have routes for all of them, but static hosts and pods
// behind OVN's shared gateway send to what is in the CIDR directly. Clients do not send to a
// published address outside of the CIDR directly.
func (f *Failover) onLink() []netip.Addr {
	n := f.Source.Current().Network
	return slices.DeleteFunc(n.SharedAddresses(), func(a netip.Addr) bool { return a == n.NextHopVIP || f.Interface.Admissible(a) != nil })
}

func (f *Failover) carrier() bool {
	_, err := f.Interface.Addresses()
	return err == nil
}

// triggers returns triggers that fire when the assignment may have changed.
func (f *Failover) triggers() serving.Triggers {
	return serving.Triggers{Interface: f.Interface.Changed, Plan: f.Source.Changed}
}

// serves returns nil if this edge serves now, else why not. It records the result.
func (f *Failover) serves() error {
	err := f.Servers.Err(f.Source.Current().Network)
	changed := f.serving.Set(err)
	_ = f.updateReadiness()
	switch {
	case !changed:
	case err == nil:
		f.Log.Info("edge serves")
	default:
		f.Log.Warn("edge does not serve", "err", err)
	}
	return err
}

// plan returns a short name of the plan in force, for the peer and for logs, and the UID of the HostedCluster. It records
// the hash of the plan.
func (f *Failover) plan() (name, owner string) {
	v := f.Source.Current()
	hash := v.Network.Hash()
	f.Metrics.Gauge(metrics.FailoverPlanHash).WithLabelValues().Set(float64(hash))
	return fmt.Sprintf("%08x", hash), v.Cluster.UID
}

func (f *Failover) changed(s failover.State) {
	f.mu.Lock()
	was := f.state
	f.state, f.view = s, f.view.next(s, time.Now())
	f.mu.Unlock()
	switch twin := s.Twins.MAC(); {
	case was.Outdone == s.Outdone && was.Twins.MAC() == twin:
	case twin == "":
		f.Log.Info("no edge of another management cluster is heard any more")
	default:
		f.Log.Warn("edges of another management cluster have the addresses of this network", "mac", twin, "yieldsTo", s.Outdone)
	}
	_ = f.peer.Set(f.PeerServes())
	f.Metrics.changed(s)
	_ = f.updateReadiness()
	f.tell()
}

// updateReadiness advances the readiness to now, and returns why this edge is not ready, nil if it is.
func (f *Failover) updateReadiness() error {
	serves := f.serving.Err()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := yieldsTo(f.state); err != nil {
		serves = err
	}
	var err error
	f.readiness, err = f.readiness.Next(serves, f.state, time.Now())
	return err
}

// Ready returns nil if this edge is ready. An edge without a carrier may serve, but is not ready,
// so that the peer is not replaced meanwhile.
func (f *Failover) Ready() error {
	_, err := f.Interface.Addresses()
	return cmp.Or(f.updateReadiness(), err)
}

// PeerServes returns nil if the peer is known to serve. DHCP then leaves the peer its share of
// clients. The error is health.Yields if DHCP leaves all clients to a younger pod.
func (f *Failover) PeerServes() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return peerServes(f.state)
}

// PeerChanged returns a channel that is closed when PeerServes may have changed.
func (f *Failover) PeerChanged() <-chan struct{} { return f.peer.Changed() }

// tell sends the report once the peer's state is known.
func (f *Failover) tell() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Report != nil && f.state.PeerState != "" && f.state.PeerState != failover.Unknown {
		f.Report(f.view.report)
	}
}

// Watch updates the report until ctx ends. Once a minute, while the interface has the next-hop VIP,
// it also checks whether announcements work.
func (f *Failover) Watch(ctx context.Context) {
	for checked := (time.Time{}); ctx.Err() == nil; {
		wait := f.triggers().Wait()
		hop := f.Source.Current().Network.NextHopVIP
		if time.Since(checked) >= degradedInterval && f.Interface.Admissible(hop) == nil {
			checked = time.Now()
			f.degraded(failover.Degraded("/", f.Interface.Name, append([]netip.Addr{hop}, f.onLink()...)...))
		}
		f.look()
		wait(ctx, serving.RecheckInterval)
	}
}

// look updates the report from the time, the servers' faults, the kernel's settings and its neighbor table.
func (f *Failover) look() {
	v := f.Source.Current()
	believes, faults, peer := f.Interface.Believes(v.Network), f.Servers.Faults(v.Network), assignmentOf(v, false).peer
	table, err := device.Neighbors(f.Interface.Name)
	now := time.Now()
	if err != nil {
		f.Log.Debug("MACs of hosts not found", "err", err)
	}
	mac := device.MACIn(table, peer)
	f.mu.Lock()
	f.view = f.view.next(f.state, now).served(faults, now)
	f.view.peerAddress = f.view.peerAddress.next(peer, f.state.PeerMAC(), mac, now).twin(peer, f.state.Twins.MAC(), now)
	changed := !slices.Equal(believes, f.view.report.Believes)
	f.view.report.Believes, f.view.report.PeerHosts = believes, f.view.peerAddress.found.List()
	known := edgesKnown(f.state)
	f.mu.Unlock()
	f.lookForVIPHosts(table, known, now)
	if changed {
		f.Log.Warn("forged packets that the kernel accepts, or its routes to client networks, changed", "interface", f.Interface.Name, "believes", believes)
	}
	f.tell()
}

func (f *Failover) degraded(err error) {
	now := degradationOf(err)
	f.Metrics.SetBool(metrics.FailoverDegraded, err != nil)
	f.mu.Lock()
	was := f.view.report.Degraded
	f.view.report.Degraded = now
	f.mu.Unlock()
	if now == was {
		return
	}
	if err != nil {
		f.Log.Warn("failover degraded, failover is slow for VMs", "err", err)
	} else {
		f.Log.Info("failover announcements work")
	}
	f.tell()
}

// degradationOf returns what the edge reports about err of failover.Degraded.
func degradationOf(err error) reported.Degradation {
	ignored := &failover.IgnoredError{}
	switch {
	case err == nil:
		return reported.Degradation{}
	case errors.As(err, &ignored):
		return reported.Degradation{Cause: problem.FailoverAnnouncementIgnored, ARPAnnounce: ignored.ARPAnnounce, Source: ignored.Source}
	case errors.Is(err, failover.ErrAnswered):
		return reported.Degradation{Cause: problem.FailoverTargetsAnswered}
	}
	return reported.Degradation{Cause: problem.FailoverCheckFailed, Error: err.Error()}
}
