// This file decides how many addresses unknown clients may get. The rest of the pool
// is reserved for VMs. The count depends only on leases and on what KubeVirt reports,
// so both edges get the same number. No client loses an address.

package dhcp

import (
	"time"

	"github.com/cldmnky/oooi/network"
)

// room reports whether the reserve for VMs allows this client one more address.
func (c client) room() bool {
	// While VMs are not all known, new requests are refused elsewhere, and addresses in
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
	pool := poolOf(n)
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

// countAgain is how long a count of the range is valid, so that a flood of requests
// does not repeat the count for each packet.
const countAgain = time.Second

// goneVMs are the leases of VMs that are gone, and when they were searched.
type goneVMs struct {
	leases []network.Lease
	when   time.Time
}

// at returns the leases of VMs that are gone, as they were at most countAgain ago. The caller holds the
// lock of the server.
func (g *goneVMs) at(k Known, now time.Time) []network.Lease {
	if since := now.Sub(g.when); since < 0 || since >= countAgain {
		k.GoneVMs = nil
		*g = goneVMs{k.goneVMs(), now}
	}
	return g.leases
}

// A count is the number of addresses left for unknown clients, and its time.
type count struct {
	room int
	at   time.Time
}

// poolRemaining is Known.PoolRemaining, as it is counted now and then.
func (s *Server) poolRemaining(n network.Network, k Known, now time.Time) func() int {
	return func() int { return s.room(n, k, now) }
}

// room returns the current count, less the addresses that are being written for
// unknown clients. The caller holds the lock.
func (s *Server) room(n network.Network, k Known, now time.Time) int {
	if since := now.Sub(s.counted.at); since < 0 || since >= countAgain {
		s.counted = count{PoolRemaining(n, k, now), now}
		for _, unknown := range s.busy {
			if unknown {
				s.counted.room--
			}
		}
	}
	return s.counted.room
}
