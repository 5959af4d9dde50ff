// This file decides which leases nobody needs to be remembered by, and has them
// removed, a few at a time. It never removes what anybody may still believe in, nor
// a running machine's.

package dhcp

import (
	"context"
	"time"

	"github.com/cldmnky/oooi/network"
)

const (
	// remembered is how long a lease that is over is kept for a client that comes
	// back: a machine that was switched off over night has its address again.
	remembered = 24 * time.Hour
	// collectEvery is how often it is looked for such leases, and collectAtOnce how
	// many are removed then.
	collectEvery  = 10 * time.Minute
	collectAtOnce = 20
)

// Collectable says whether l may be forgotten at now: a day after anybody else
// could have had its address, and only where its MAC is no running machine's. That
// a machine is gone does not hasten it: one that is switched off is gone too.
func Collectable(l network.Lease, leaseTime time.Duration, m Machines, now time.Time) bool {
	if _, _, running := m.Machine(l.MAC); running {
		return false
	}
	return l.Free(now.Add(-remembered), leaseTime, false)
}

// collect removes leases that may be forgotten. Edges that do it together remove
// each once: Remove is for the lease as it was seen.
func (s *Server) collect(ctx context.Context) {
	if s.Ready() != nil {
		return
	}
	leaseTime, left := time.Duration(s.Network().DHCP.LeaseTime), collectAtOnce
	for _, l := range s.Store.All() {
		if left == 0 {
			return
		}
		s.mu.Lock()
		_, late := s.late[l.Address]
		s.mu.Unlock()
		if late || !Collectable(l, leaseTime, s.Machines, s.Now()) {
			continue
		}
		left--
		if err := s.Store.Remove(ctx, l); err != nil {
			s.Log.Warn("a lease is kept that nobody needs", "address", l.Address, "mac", l.MAC, "error", err)
			return
		}
		s.Log.Info("forgotten", "address", l.Address, "mac", l.MAC, "machine", l.Machine, "expired", l.Expires)
	}
}
