// This file informs DHCP whether the peer serves, and whether this edge yields to a younger pod
// with its number. The failover agent of this edge sends the answers.

package agent

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/wire"
)

// A Peer is what DHCP knows about the peer. In the zero Peer, the peer does not serve, so this edge
// answers every broadcast.
type Peer struct{ serves, yields atomic.Bool }

// Serves reports whether the peer serves.
func (p *Peer) Serves() bool { return p.serves.Load() }

// Yields reports whether this edge yields to a younger pod with its number.
func (p *Peer) Yields() bool { return p.yields.Load() }

// Watch follows the failover agent in runDir until ctx ends. Without an answer the peer counts
// as not serving.
func (p *Peer) Watch(ctx context.Context, runDir string, log *slog.Logger) {
	defer p.serves.Store(false)
	defer p.yields.Store(false)
	health.At(wire.Socket(runDir, wire.Failover)).Follow(ctx, health.PeerPath, func(err error, _ time.Time) {
		if yields := health.Yields.Of(err); p.yields.Swap(yields) != yields {
			log.Warn("this edge yields its DHCP clients", "yields", yields, "err", err)
		}
		switch was := p.serves.Swap(err == nil); {
		case was && err != nil:
			log.Warn("peer does not serve, answering all broadcasts", "err", err)
		case !was && err == nil:
			log.Info("peer serves, sharing broadcasts")
		}
	})
}
