// This file decides how many addresses clients may get that are not the cluster's
// machines: what they hold, and what they would get, leaves as many of the range
// as machines may ever need. It counts leases and reports alone, so every edge
// comes to the same number; it never takes back what a client holds.

package dhcp

import (
	"time"

	"github.com/cldmnky/oooi/network"
)

// room says whether this client may get one more address, as far as what is kept
// for machines goes.
func (c client) room() bool {
	// While machines are not all known, what is asked for is refused elsewhere, and
	// what is in use goes on being used.
	return c.machine != "" || c.reservation().IsValid() || c.known.Room == nil || !c.known.Complete || c.known.Room() > 0
}

// Room is how many more addresses of n's range may be given to clients that are
// not the cluster's machines, negative where they have too many already. A machine
// that has its address, by lease, by what it is reported to have or by reservation,
// needs no other. A machine whose address is outside of the range is not seen here:
// one address too many is kept for it.
//
// It looks at the whole range, up to maxProbes addresses. Edges that give out the
// last address in the same instant may each give one, since only what is written
// is counted.
func Room(n network.Network, k Known, now time.Time) int {
	size, ok := rangeSize(n.DHCP.Range)
	if !ok {
		return 0
	}
	// Somebody who is not there, so that no address counts as its own.
	nobody := client{n: n, known: k, now: now, mac: "nobody"}
	free, settled := 0, map[string]bool{}
	settle := func(mac string) {
		if _, _, ok := k.Machines.Machine(mac); ok {
			settled[mac] = true
		}
	}
	for _, r := range n.DHCP.Reservations {
		settle(r.MAC)
	}
	a := n.DHCP.Range.First
	for range min(size, maxProbes) {
		switch {
		case !nobody.permitted(a):
		case nobody.available(a):
			free++
		default:
			if l, ok := k.Leases.At(a); ok {
				settle(l.MAC)
			}
			settle(k.Machines.Reporter(a))
		}
		a = a.Next()
	}
	return free - max(0, n.DHCP.KeptForMachines-len(settled))
}

// countAgain is how long a count of the range is good, so that strangers who ask
// without end don't have it counted for every packet.
const countAgain = time.Second

// A count of what strangers may have, and when it was taken.
type count struct {
	room int
	at   time.Time
}

// room holds the lock. What is being written for strangers is not in the store
// yet, but taken.
func (s *Server) room(n network.Network, k Known, now time.Time) int {
	if since := now.Sub(s.counted.at); since < 0 || since >= countAgain {
		s.counted = count{Room(n, k, now), now}
		for _, stranger := range s.busy {
			if stranger {
				s.counted.room--
			}
		}
	}
	return s.counted.room
}
