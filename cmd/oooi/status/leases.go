// This file makes the rows about leases for `oooi status`. It is pure.

package status

import (
	"cmp"
	"time"

	"github.com/cldmnky/oooi/network"
)

// row returns l as a row of a report at the time now.
func (l Leased) row(now time.Time) statusLease {
	return statusLease{l.Network, l.Address, l.VM, l.MAC, l.Expires.UTC(), stateOf(l.Lease, now)}
}

// stateOf returns the state of a lease at the time now.
func stateOf(l network.Lease, now time.Time) string {
	switch {
	case l.Blocked():
		return "blocked"
	case !l.Held(now):
		return "expired"
	case l.MAC == "":
		return "declined"
	}
	return "assigned"
}

// compareLeases compares by network and address.
func compareLeases(a, b Leased) int {
	return cmp.Or(cmp.Compare(a.Network, b.Network), a.Address.Compare(b.Address))
}
