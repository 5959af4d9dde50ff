// This file follows whether the DHCP server can read its leases. While it cannot, the peer answers
// all clients.

package agent

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// Leases is what the failover agent knows about the leases of its edge. The zero value: they can be
// read.
type Leases struct{ stale atomic.Bool }

// Stale reports whether the DHCP server cannot read its leases now.
func (l *Leases) Stale() bool { return l.stale.Load() }

// Watch follows the DHCP server in runDir until ctx ends. A server that does not answer is not stale.
func (l *Leases) Watch(ctx context.Context, runDir string, log *slog.Logger) {
	health.At(wire.Socket(runDir, string(network.ServiceDHCP))).Follow(ctx, health.FreshPath, func(err error, _ time.Time) {
		stale := health.Stale.Of(err)
		switch was := l.stale.Swap(stale); {
		case stale && !was:
			log.Warn("leases cannot be read, the peer answers all DHCP clients", "err", err)
		case was && !stale:
			log.Info("leases can be read again")
		}
	})
}
