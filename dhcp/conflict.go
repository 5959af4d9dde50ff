// This file decides which addresses are not offered because hosts use them without a lease.

package dhcp

import (
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"github.com/cldmnky/oooi/dhcp/recent"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

// At most one in lostShare addresses of the range may be withheld at one time because hosts without a
// lease use them.
const lostShare = 10

// conflicts holds the answers, and the clients whose probes are under way. The server's mutex guards it.
type conflicts struct {
	recent.Answers
	// asking holds the MACs whose offers wait for an answer.
	asking       map[string]bool
	vms, unknown *rate.Limiter
}

func newConflicts() conflicts {
	return conflicts{
		Answers: recent.NewAnswers(), asking: map[string]bool{},
		vms: rate.NewLimiter(asksPerSecond, asksAtOnce), unknown: rate.NewLimiter(asksPerSecondUnknown, asksAtOnceUnknown),
	}
}

// inUse returns a function for Known.InUse.
func (s *Server) inUse(n network.Network, k reply.Known, now time.Time) func(netip.Addr) (mac string, spared bool) {
	return func(a netip.Addr) (string, bool) {
		return s.conflicts.InUse(a, now, func() int { return s.spare(n, k, 0) })
	}
}

// spare returns how many more addresses of the range may be withheld because hosts without a lease use
// them. The limit is a tenth of the range, at least one, minus parameter lost. Addresses that VMs need
// are not withheld. The caller holds the lock.
func (s *Server) spare(n network.Network, k reply.Known, lost int) int {
	left := max(1, n.DHCP.Range.Size()/lostShare) - lost
	if k.PoolRemaining != nil {
		left = min(left, k.PoolRemaining())
	}
	return left
}
