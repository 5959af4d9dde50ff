// This file caches counts and searches that take long.

package dhcp

import (
	"time"

	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

// countAgain is how long a count or a search is valid, so that a flood of requests does not
// repeat it for each packet.
const countAgain = time.Second

// goneVMs are the leases of VMs that are gone, as the latest search found them.
type goneVMs struct {
	leases []network.Lease
	when   time.Time
}

// at returns the leases of VMs that are gone, at most countAgain old. The caller holds the server's lock.
func (g *goneVMs) at(k reply.Known, now time.Time) []network.Lease {
	if since := now.Sub(g.when); since < 0 || since >= countAgain {
		*g = goneVMs{reply.OfGoneVMs(k.Leases, k.VMs), now}
	}
	return g.leases
}

// A count is the number of addresses left for unknown clients, and its time.
type count struct {
	room int
	at   time.Time
}

// poolRemaining returns a function for Known.PoolRemaining, with a count that is at most countAgain old.
func (s *Server) poolRemaining(n network.Network, k reply.Known, now time.Time) func() int {
	return func() int { return s.room(n, k, now) }
}

// room returns how many addresses are left for unknown clients, without those that are being
// assigned to unknown clients now. The caller holds the lock.
func (s *Server) room(n network.Network, k reply.Known, now time.Time) int {
	if since := now.Sub(s.counted.at); since < 0 || since >= countAgain {
		s.counted = count{reply.PoolRemaining(n, k, now), now}
		for _, unknown := range s.busy {
			if unknown {
				s.counted.room--
			}
		}
	}
	return s.counted.room
}
