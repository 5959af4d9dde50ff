// This file decides how many addresses unknown clients may get. The rest of the pool is
// reserved for VMs. The count depends only on leases and KubeVirt's reports, so it is the
// same on both edges. No client loses an address to the reserve.

package reply

import (
	"time"

	"github.com/cldmnky/oooi/network"
)

// room reports whether the reserve for VMs allows this client one more address.
func (c client) room() bool {
	// Until all VMs are known, new requests get no address anyway (NotReady), and clients keep
	// their addresses.
	return c.vm != "" || c.reservation().IsValid() || c.known.PoolRemaining == nil || !c.known.Complete || c.known.PoolRemaining() > 0
}

// PoolRemaining returns how many more addresses of n's range unknown clients may get,
// negative if they have too many. A VM with an address (by lease, by KubeVirt's report or
// by reservation) needs no other one. If it is outside the range, one address too many is
// reserved.
//
// The count covers up to maxProbes addresses, and only written leases. So if one address is
// left, two edges may each assign one at the same moment.
func PoolRemaining(n network.Network, k Known, now time.Time) int {
	pool := Ranges(n)
	// The newcomer has no lease, so that no address counts as its own.
	newcomer := client{n: n, known: k, now: now, mac: "none"}
	settled := map[string]bool{}
	for mac, reported := range k.VMs.All() {
		l, ok := k.Leases.Of(mac)
		if within(pool, reported) && k.VMs.Reporter(reported) == mac || ok && within(pool, l.Address) && !newcomer.available(l.Address) {
			settled[mac] = true
		}
	}
	for _, r := range n.DHCP.Reservations {
		if _, _, ok := k.VMs.VM(r.MAC); ok {
			settled[r.MAC] = true
		}
	}
	return poolUse(newcomer, pool).Free - max(0, n.DHCP.ReservedForVMs-len(settled))
}
