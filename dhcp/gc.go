// This file deletes expired leases, a few at a time.

package dhcp

import (
	"context"
	"time"

	"github.com/cldmnky/oooi/dhcp/reply"
)

const (
	// collectEvery is the interval of the collection. One collection deletes at most collectAtOnce leases.
	collectEvery  = 10 * time.Minute
	collectAtOnce = 20
)

// collect deletes collectable leases. Both edges may try to delete one: Remove deletes only
// a lease that has not changed since it was read.
func (s *Server) collect(ctx context.Context) {
	if s.Ready() != nil {
		return
	}
	leaseTime, left := time.Duration(s.Network().DHCP.LeaseTime), collectAtOnce
	for _, l := range s.Store.All() {
		if left == 0 {
			return
		}
		if _, late := s.late.At(l.Address); late || !reply.Collectable(l, leaseTime, s.VMs, s.Now()) {
			continue
		}
		left--
		if err := s.Store.Remove(ctx, l); err != nil {
			s.Log.Warn("expired lease not deleted", "address", l.Address, "mac", l.MAC, "err", err)
			return
		}
		s.Log.Info("expired lease deleted", "address", l.Address, "mac", l.MAC, "vm", l.VM, "expired", l.Expires)
	}
}
