// This file tells DHCP whether the peer serves: the failover agent of this edge pushes it.
// Package network/dhcp decides what follows.

package agent

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/wire"
)

// A Peer is what DHCP knows of the peer. The zero value is a peer that does not serve:
// this edge answers every broadcast.
type Peer struct{ serves atomic.Bool }

// Serves reports whether the peer serves.
func (p *Peer) Serves() bool { return p.serves.Load() }

// Watch follows the failover agent in runDir until ctx ends. Without an answer the peer
// counts as not serving, so no client waits for an unseen edge.
func (p *Peer) Watch(ctx context.Context, runDir string, log *slog.Logger) {
	defer p.serves.Store(false)
	edge.HealthAt(wire.Socket(runDir, wire.Failover)).FollowPeer(ctx, func(err error, _ time.Time) {
		switch was := p.serves.Swap(err == nil); {
		case was && err != nil:
			log.Warn("peer does not serve, answering all broadcasts", "err", err)
		case !was && err == nil:
			log.Info("peer serves, sharing broadcasts")
		}
	})
}
