// This file holds what hosts answered for addresses that they use without a lease, in bounded memory, and which
// addresses are not offered for it. A hostile VM can answer for any address, so few answers count.

package dhcp

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/cldmnky/oooi/network"
)

const (
	// silentFor is how long an address counts as free without being asked for again, answeredFor how long an
	// answer counts, and unprovenFor how long one from the kernel's memory does.
	silentFor, answeredFor, unprovenFor = 30 * time.Second, 5 * time.Minute, 10 * time.Second
	// shownFor is how long a conflict is shown after the last answer.
	shownFor = time.Hour
	// maxHosts and maxSilent answers are remembered, of hosts and of none.
	maxHosts, maxSilent = 256, 4096
	// answersPerMAC count. A router with proxy ARP answers for all addresses, and has none of them.
	answersPerMAC = 8
	// lostShare is the part of the range that may be lost at one time to hosts without a lease.
	lostShare = 10
)

// An answer is what is known of an address that was asked for. Empty MAC: no host answered.
type answer struct {
	mac    string
	proven bool
	at     time.Time
}

// counts reports whether the address need not be asked for again.
func (x answer) counts(now time.Time) bool {
	age, limit := now.Sub(x.at), answeredFor
	switch {
	case x.mac == "":
		limit = silentFor
	case !x.proven:
		limit = unprovenFor
	}
	return age >= 0 && age < limit
}

// conflicts holds the answers, and the questions under way. The mutex of the server guards it.
type conflicts struct {
	// hosts are the addresses for which a host answered, silent those for which none did.
	hosts, silent map[netip.Addr]answer
	// asking holds the MACs whose offers wait for an answer.
	asking       map[string]bool
	vms, unknown *rate.Limiter
}

func newConflicts() conflicts {
	return conflicts{
		hosts: map[netip.Addr]answer{}, silent: map[netip.Addr]answer{}, asking: map[string]bool{},
		vms: rate.NewLimiter(asksPerSecond, asksAtOnce), unknown: rate.NewLimiter(asksPerSecondUnknown, asksAtOnceUnknown),
	}
}

// note remembers an answer for an address, if there is room.
func (c *conflicts) note(a netip.Addr, x answer) {
	delete(c.hosts, a)
	delete(c.silent, a)
	all, limit := c.silent, maxSilent
	if x.mac != "" {
		all, limit = c.hosts, maxHosts
	}
	if len(all) >= limit {
		maps.DeleteFunc(all, func(_ netip.Addr, old answer) bool { return !old.counts(x.at) })
	}
	if len(all) < limit {
		all[a] = x
	}
}

// isKnown reports whether an address need not be asked for now.
func (c *conflicts) isKnown(a netip.Addr, now time.Time) bool {
	return c.hosts[a].mac != "" && c.hosts[a].counts(now) || c.silent[a].counts(now)
}

// inUse returns the MAC of the host that answered for an address of late, and whether the address is
// spared: of all such addresses, at most so many are.
func (c *conflicts) inUse(a netip.Addr, now time.Time, limit func() int) (mac string, spared bool) {
	x, ok := c.hosts[a]
	if !ok || !x.counts(now) {
		return "", false
	}
	count, sameMAC := 0, 0
	for _, other := range c.hosts {
		if other.counts(now) {
			count++
			if other.mac == x.mac {
				sameMAC++
			}
		}
	}
	if sameMAC > answersPerMAC {
		return "", false
	}
	return x.mac, x.proven && count <= limit()
}

// inUse reports whether another host seems to use a, so that it is not offered.
func (c client) inUse(a netip.Addr) bool {
	if c.known.InUse == nil {
		return false
	}
	mac, spared := c.known.InUse(a)
	return mac != "" && mac != c.mac && (spared || !c.scarce)
}

// offerable returns the address for a DISCOVER. What another host seems to use comes last.
func (x exchange) offerable() (netip.Addr, bool) {
	inUse, avoided := x.known.InUse, false
	if inUse == nil {
		return x.address(x.asked)
	}
	x.known.InUse = func(a netip.Addr) (string, bool) {
		mac, spared := inUse(a)
		avoided = avoided || mac != "" && !spared
		return mac, spared
	}
	a, ok := x.address(x.asked)
	if !ok && avoided {
		x.scarce = true
		a, ok = x.address(x.asked)
	}
	return a, ok
}

// inUse is Known.InUse.
func (s *Server) inUse(n network.Network, k Known, now time.Time) func(netip.Addr) (mac string, spared bool) {
	return func(a netip.Addr) (string, bool) {
		return s.conflicts.inUse(a, now, func() int { return s.spare(n, k, 0) })
	}
}

// spare returns how many more addresses of the range may be lost to hosts without a lease: a tenth of the
// range, less those that are lost already, and none that VMs need. The caller holds the lock.
func (s *Server) spare(n network.Network, k Known, lost int) int {
	left := max(1, n.DHCP.Range.Size()/lostShare) - lost
	if k.PoolRemaining != nil {
		left = min(left, k.PoolRemaining())
	}
	return left
}

// Conflicts returns the addresses of the range for which hosts without a lease answered in the last hour,
// with their MACs, sorted. A VM can make up any of them.
func (s *Server) Conflicts() []network.UsedAddress {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []network.UsedAddress
	of := map[string]int{}
	for _, x := range s.conflicts.hosts {
		of[x.mac]++
	}
	for a, x := range s.conflicts.hosts {
		l, ok := s.Store.At(a)
		if x.proven && of[x.mac] <= answersPerMAC && s.Now().Sub(x.at) < shownFor && (!ok || l.MAC != x.mac) {
			out = append(out, network.UsedAddress{Address: a, MAC: x.mac})
		}
	}
	slices.SortFunc(out, network.UsedAddress.Compare)
	return out
}
