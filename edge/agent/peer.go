// This file tells DHCP whether the network's other edge serves: the failover agent
// of this edge pushes it. What follows from that is decided in network/dhcp.

package agent

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/wire"
)

// A Peer is what DHCP knows of the other edge. The zero value is that of one which
// does not serve: then this edge answers every broadcast.
type Peer struct{ serves atomic.Bool }

// Serves says whether the other edge serves.
func (p *Peer) Serves() bool { return p.serves.Load() }

// Watch follows the failover agent in runDir until ctx ends. Where none answers, the
// peer does not serve: no client is left to an edge that is not seen.
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
