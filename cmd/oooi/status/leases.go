// This file reports leases. It is pure.

package status

import (
	"cmp"
	"time"

	"github.com/cldmnky/oooi/network"
)

func (l Leased) row(now time.Time) statusLease {
	return statusLease{l.Network, l.Address, l.VM, l.MAC, l.Expires.UTC(), stateOf(l.Lease, now)}
}

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

func compareLeases(a, b Leased) int {
	return cmp.Or(cmp.Compare(a.Network, b.Network), a.Address.Compare(b.Address))
}
