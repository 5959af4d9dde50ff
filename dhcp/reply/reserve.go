// This file decides how many addresses unknown clients may get. The rest of the pool
// is reserved for VMs. The count depends only on leases and on what KubeVirt reports,
// so both edges get the same number. No client loses an address.

package reply

import (
	"time"

	"github.com/cldmnky/oooi/network"
)

// room reports whether the reserve for VMs allows this client one more address.
func (c client) room() bool {
	// While VMs are not all known, another rule refuses new requests, and addresses in
	// use stay in use.
	return c.vm != "" || c.reservation().IsValid() || c.known.PoolRemaining == nil || !c.known.Complete || c.known.PoolRemaining() > 0
}

// PoolRemaining returns how many more addresses of n's range unknown clients may get.
// It is negative if they already have too many. A VM with an address (by lease, by
// KubeVirt's report or by reservation) needs no other. A VM with an address outside
// the range is not counted, so one address too many is reserved for it.
//
// It counts the whole range, up to maxProbes addresses. Only written leases count. So
// two edges that assign the last address in the same instant may each assign one.
func PoolRemaining(n network.Network, k Known, now time.Time) int {
	pool := Ranges(n)
	// A client without a lease, so that no address counts as its own.
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
