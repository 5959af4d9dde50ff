// This file decides which leases may be deleted: never one that a client may still use, nor one of a running VM.

package reply

import (
	"time"

	"github.com/cldmnky/oooi/network"
)

// retention is how long an expired lease is kept: a VM that was off overnight gets
// its address again.
const retention = 24 * time.Hour

// Collectable reports whether l may be deleted at now: one day after its address
// became free, and only if its MAC belongs to no running VM. A missing VM does not
// shorten this time, since a VM that is switched off is missing, too.
func Collectable(l network.Lease, leaseTime time.Duration, vms VMs, now time.Time) bool {
	if _, _, running := vms.VM(l.MAC); running {
		return false
	}
	return l.Free(now.Add(-retention), leaseTime, false)
}
