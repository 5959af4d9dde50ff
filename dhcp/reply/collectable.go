// This file decides which leases may be deleted.

package reply

import (
	"time"

	"github.com/cldmnky/oooi/network"
)

// retention is how long an expired lease is kept: a VM that was off overnight gets its
// address again.
const retention = 24 * time.Hour

// Collectable reports whether l may be deleted at now: one day after the address became
// free, and only if no running VM has the MAC. A VM that is switched off is missing, too,
// so a missing VM does not shorten this time.
func Collectable(l network.Lease, leaseTime time.Duration, vms VMs, now time.Time) bool {
	if _, _, running := vms.VM(l.MAC); running {
		return false
	}
	return l.Free(now.Add(-retention), leaseTime, false)
}
