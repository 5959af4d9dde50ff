// This file deletes expired leases, a few at a time. It never deletes a lease that
// a client may still use, nor one of a running VM.

package dhcp

import (
	"context"
	"time"

	"github.com/cldmnky/oooi/network"
)

const (
	// retention is how long an expired lease is kept: a VM that was off overnight gets
	// its address again.
	retention = 24 * time.Hour
	// collectEvery is the interval of the collection, collectAtOnce its limit.
	collectEvery  = 10 * time.Minute
	collectAtOnce = 20
)

// Collectable reports whether l may be deleted at now: one day after its address
// became free, and only if its MAC belongs to no running VM. A missing VM does not
// shorten this time, since a VM that is switched off is missing, too.
func Collectable(l network.Lease, leaseTime time.Duration, vms VMs, now time.Time) bool {
	if _, _, running := vms.VM(l.MAC); running {
		return false
	}
	return l.Free(now.Add(-retention), leaseTime, false)
}

// collect deletes collectable leases. Two edges delete each lease once, since Remove
// applies only to the lease as it was read.
func (s *Server) collect(ctx context.Context) {
	if s.Ready() != nil {
		return
	}
	leaseTime, left := time.Duration(s.Network().DHCP.LeaseTime), collectAtOnce
	for _, l := range s.Store.All() {
		if left == 0 {
			return
		}
		if _, late := s.late.At(l.Address); late || !Collectable(l, leaseTime, s.VMs, s.Now()) {
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
